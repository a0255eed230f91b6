import type { Operations } from '@gpuaas/sdk';
import { command, type Group, list, required, text } from '../command.ts';
import { UsageError } from '../exit.ts';
import { keyFlags } from '../flags.ts';
import { type Io, readNamed } from '../io.ts';

type Register = Operations['adminOsImageRegister']['request']['body'];

/** The entry may contain more fields than the catalog keeps, because a build also writes for other readers. */
const KEPT = [
  ...['name', 'display_name', 'os_family', 'os_version', 'digest', 'format', 'size_bytes'],
  ...['driver_strategy', 'readiness_checks', 'source', 'digest_authority'],
];

const readEntry = async (io: Io, file: string): Promise<Omit<Register, 'sku_names'>> => {
  const content = await readNamed(io, file);
  if (content === null) throw new UsageError(`The file ${file} cannot be read.`);
  let entry: unknown;
  try {
    entry = JSON.parse(content);
  } catch {
    throw new UsageError(`${file} is not JSON.`);
  }
  if (typeof entry !== 'object' || entry === null) throw new UsageError(`${file} contains no image entry.`);
  // The server validates missing and wrong fields.
  return Object.fromEntries(Object.entries(entry).filter(([key]) => KEPT.includes(key))) as Omit<Register, 'sku_names'>;
};

export const adminImage: Group = {
  name: 'image',
  summary: 'Manage images and their versions',
  commands: [
    command({
      name: 'register',
      summary: 'Register an image or a new version, from the catalog.json of its build',
      args: { file: 'Catalog.json of the build, or - for standard input' },
      flags: { sku: required(list('SKU it can run on; repeatable', 'name')), ...keyFlags },
      examples: ['gpuaas admin image register catalog.json --sku h200-sxm-slice'],
      run: async (cli, { args, flags }) => {
        const body = { ...(await readEntry(cli.io, args.file)), sku_names: flags.sku };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminOsImageRegister', { body }, options);
        cli.out.done(`New launches of ${response.data.name} use ${response.data.digest}.`, response);
      },
    }),
    command({
      name: 'retire',
      summary: 'Retire a version of an image; running allocations keep it',
      args: { image: 'Name' },
      flags: {
        digest: required(text('Version to retire', 'sha256:…')),
        reason: required(text('Reason, recorded in the audit log')),
        ...keyFlags,
      },
      run: async (cli, { args, flags }) => {
        const params = { image_name: args.image };
        const body = { digest: flags.digest, reason: flags.reason };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminOsImageRetire', { params, body }, options);
        const { name, enabled, digest } = response.data;
        const then = enabled ? `new launches use ${digest}` : 'the image is disabled';
        cli.out.done(`${flags.digest} of ${name} is retired; ${then}.`, response);
      },
    }),
  ],
};
