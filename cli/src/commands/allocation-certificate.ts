/**
 * The wipe certificate of an allocation: shown, written to a file, and verified with the published keys. With --file and
 * --keys no request is sent, so everyone with a copy can verify it, also years later.
 */
import { writeFile } from 'node:fs/promises';
import {
  certificateText,
  isSignedCertificate,
  type SignedWipeCertificate,
  verifyWipeCertificate,
  type WipeCertificateKey,
} from '@gpuaas/sdk';
import { commandLine } from '../clean.ts';
import { command, text, toggle } from '../command.ts';
import type { Cli } from '../context.ts';
import { CliError, UsageError } from '../exit.ts';
import { allocationId } from '../find.ts';
import { type Io, pathOf, readNamed } from '../io.ts';
import { shortTime } from '../table.ts';
import { gpus } from './allocation-view.ts';

type Certificate = SignedWipeCertificate['certificate'];
type Disk = Certificate['disks'][number];
type Fields = Readonly<Record<string, unknown>>;

const amount = (bytes: number): string => {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  const value = bytes / 1024 ** power;
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[power]}`;
};

/** To the second: a wipe may take less than a minute. */
const at = (time: string): string => `${time.slice(0, 19).replace('T', ' ')}Z`;

const diskFields = (disk: Disk): Fields => ({
  disk: `${disk.disk}${disk.size_bytes === null ? '' : `, ${amount(disk.size_bytes)}`}`,
  outcome: certificateText.outcome(disk),
  before: certificateText.before(disk),
  method: certificateText.method(disk),
  'read back': `${amount(disk.bytes_read_back)} in ${disk.samples.length} samples, ${
    disk.bytes_not_erased === 0 ? 'no data left' : `${amount(disk.bytes_not_erased)} not wiped`
  }`,
  expected: certificateText.rule(disk),
  wiped: `${disk.started_at === null ? '' : `${at(disk.started_at)} to `}${at(disk.finished_at)}`,
  attempt: disk.attempt,
  'exit status': disk.command_status,
  gpu: certificateText.gpu(disk),
  fabric: certificateText.fabric(disk),
  proof: disk.wipe_proof_id,
  hash: disk.proof_hash,
});

const show = (cli: Cli, { certificate, signature }: SignedWipeCertificate): void => {
  const { allocation: of, disks, isolation } = certificate;
  const unwiped = certificateText.unwiped(certificate);
  cli.out.print('Wipe certificate\n');
  cli.out.item(certificate, {
    allocation: `${of.name} (${of.id})`,
    capacity: `${gpus(of.gpu_count)} of ${of.sku_name} in ${of.region_name}`,
    'in use': `${shortTime(of.activated_at ?? of.release_requested_at)} to ${shortTime(of.release_requested_at)}`,
    'wipe verified': shortTime(of.released_at ?? disks[0]?.proven_at ?? null),
    'minimum level': certificate.wipe_minimum,
    ...(unwiped === null ? {} : { 'not wiped': unwiped }),
  });
  for (const [index, disk] of disks.entries()) {
    cli.out.print(`\nDisk ${index + 1} of ${disks.length}`);
    cli.out.item(disk, diskFields(disk));
  }
  if (isolation !== null) {
    cli.out.print('\nAlso removed');
    cli.out.item(isolation, certificateText.isolation(isolation));
  }
  cli.out.print(`\nIssued by ${certificate.issuer}, signed with ${signature.key_id}.`);
};

const parsed = async (io: Io, file: string): Promise<unknown> => {
  const content = await readNamed(io, file);
  if (content === null) throw new UsageError(`The file "${file}" cannot be read.`);
  try {
    return JSON.parse(content);
  } catch {
    throw new UsageError(`The file "${file}" is not JSON.`);
  }
};

const readCertificate = async (cli: Cli, named: string, file: string | undefined): Promise<SignedWipeCertificate> => {
  if (file === undefined) {
    const project_id = await cli.project();
    const params = { project_id, allocation_id: await allocationId(cli, project_id, named) };
    return (await cli.client()).allocationWipeCertificateGet({ params }, { signal: cli.signal });
  }
  const found = await parsed(cli.io, file);
  if (!isSignedCertificate(found)) throw new CliError('failure', `The file "${file}" is not a wipe certificate.`);
  const { id, name } = found.certificate.allocation;
  if (named !== id && named !== name)
    throw new CliError('failure', `The certificate is for ${name} (${id}), not for ${named}.`);
  return { certificate: found.certificate, signature: found.signature };
};

const readKeys = async (cli: Cli, file: string | undefined): Promise<readonly WipeCertificateKey[]> => {
  if (file !== undefined) {
    const found = (await parsed(cli.io, file)) as
      | { items?: readonly WipeCertificateKey[] }
      | readonly WipeCertificateKey[];
    return 'items' in found ? (found.items ?? []) : (found as readonly WipeCertificateKey[]);
  }
  const keys: WipeCertificateKey[] = [];
  for await (const key of (await cli.client()).pages.wipeCertificateKeyList({}, { signal: cli.signal })) keys.push(key);
  return keys;
};

export const wipeCertificate = command({
  name: 'wipe-certificate',
  summary: 'Show, save or verify the signed wipe certificate',
  scope: 'project',
  args: { allocation: 'Name or ID' },
  flags: {
    verify: toggle('Verify the signature; exit code 1 if it is invalid'),
    output: { ...text('Write the certificate to a new file', 'file'), short: 'o' },
    file: text('Read the certificate from this file instead of the API', 'file'),
    keys: text('With --verify: read public keys from this file instead of the API', 'file'),
  },
  examples: [
    'gpuaas allocation wipe-certificate a --output a.json',
    'gpuaas allocation wipe-certificate a --file a.json --verify',
  ],
  run: async (cli, { args, flags }) => {
    if (flags.keys !== undefined && !flags.verify) throw new UsageError('--keys requires --verify.');
    const signed = await readCertificate(cli, args.allocation, flags.file);
    const verdict = flags.verify ? await verifyWipeCertificate(signed, await readKeys(cli, flags.keys)) : null;
    if (verdict?.is_valid === false)
      throw new CliError(
        'failure',
        `The certificate is invalid. ${verdict.reason}`,
        `Download it again: ${commandLine(['gpuaas', 'allocation', 'wipe-certificate', args.allocation, ...cli.scope_words])}`,
      );
    if (flags.output !== undefined)
      await writeFile(pathOf(cli.io, flags.output), `${JSON.stringify(signed, null, 2)}\n`, { flag: 'wx' }).catch(
        (err) => {
          throw new UsageError(`The file "${flags.output}" cannot be written: ${err.code ?? err.message}.`);
        },
      );
    if (cli.out.json) {
      const key_id = signed.signature.key_id;
      return cli.out.item({ ...signed, ...(verdict === null ? {} : { verification: { is_valid: true, key_id } }) });
    }
    if (flags.output === undefined) show(cli, signed);
    else cli.out.print(`Wrote the certificate of ${signed.certificate.allocation.name} to ${flags.output}.`);
    if (verdict !== null) cli.out.print(`The signature is valid: made with ${verdict.key.key_id}.`);
  },
});
