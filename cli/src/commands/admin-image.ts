import type { Operations } from '@gpuaas/sdk';
import { command, type Group, list, required, text } from '../command.ts';
import { UsageError } from '../exit.ts';
import { keyFlags } from '../flags.ts';
import { type Io, readNamed } from '../io.ts';

type Register = Operations['adminOsImageRegister']['request']['body'];

/** Where the entry may hold more than the catalog keeps: a build writes for other readers too. */
const KEPT = [
  ...['name', 'display_name', 'os_family', 'os_version', 'digest', 'format', 'size_bytes'],
  ...['driver_strategy', 'readiness_checks', 'source', 'digest_authority'],
];

const readEntry = async (io: Io, file: string): Promise<Omit<Register, 'sku_names'>> => {
  const content = await readNamed(io, file);
  if (content === null) throw new UsageError(`There is no file ${file}.`);
  let entry: unknown;
  try {
    entry = JSON.parse(content);
  } catch {
    throw new UsageError(`${file} holds no JSON.`);
  }
  if (typeof entry !== 'object' || entry === null) throw new UsageError(`${file} holds no entry of an image.`);
  // The platform judges what is missing or wrong.
  return Object.fromEntries(Object.entries(entry).filter(([key]) => KEPT.includes(key))) as Omit<Register, 'sku_names'>;
};

export const adminImage: Group = {
  name: 'image',
  summary: 'images and their versions',
  commands: [
    command({
      name: 'register',
      summary: 'register an image or a new version of one, from the catalog.json of its build',
      args: { file: 'catalog.json of the build, or - for standard input' },
      flags: { sku: required(list('SKU it may run on; several by repeating', 'name')), ...keyFlags },
      examples: ['gpuaas admin image register catalog.json --sku h200-sxm-slice'],
      run: async (cli, { args, flags }) => {
        const body = { ...(await readEntry(cli.io, args.file)), sku_names: flags.sku };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const answer = await (await cli.client()).call('adminOsImageRegister', { body }, options);
        cli.out.done(`Launches of ${answer.data.name} get ${answer.data.digest} from now on.`, answer);
      },
    }),
    command({
      name: 'retire',
      summary: 'take a version of an image back; what runs keeps running',
      args: { image: 'name' },
      flags: {
        digest: required(text('which version', 'sha256:…')),
        reason: required(text('why; kept in the audit row')),
        ...keyFlags,
      },
      run: async (cli, { args, flags }) => {
        const params = { image_name: args.image };
        const body = { digest: flags.digest, reason: flags.reason };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const answer = await (await cli.client()).call('adminOsImageRetire', { params, body }, options);
        const { name, enabled, digest } = answer.data;
        const then = enabled ? `launches get ${digest}` : 'it is no longer offered';
        cli.out.done(`${flags.digest} of ${name} is retired; ${then}.`, answer);
      },
    }),
  ],
};
