import { type AdminOsImage, BOOT_KINDS, IMAGE_CHANNELS, IMAGE_TRUST, type Operations } from '@gpuaas/sdk';
import { choice, command, type Group, list, required, text } from '../command.ts';
import { UsageError } from '../exit.ts';
import { collect, ifMatchFlags, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { type Io, readNamed } from '../io.ts';
import { assertChange, reason, retiredFlags } from './admin-catalog.ts';

type Register = Operations['adminOsImageRegister']['request']['body'];

/** The entry may contain more fields than the catalog keeps, because a build also writes for other readers. */
const KEPT = [
  ...['name', 'display_name', 'os_family', 'os_version', 'digest', 'format', 'size_bytes'],
  ...['boot_kind', 'driver_strategy', 'readiness_checks', 'source', 'digest_authority'],
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

const useFlags = {
  channel: choice('Launches that name no image get a stable one', IMAGE_CHANNELS),
  trust: choice('Launches that name no image get a verified one', IMAGE_TRUST),
} as const;

/** `all`, or the number of hosts that can start it; `-` before a discovery reported any. */
const hosts = ({ hosts_checked, hosts_unable }: AdminOsImage): string => {
  if (hosts_checked === 0) return '-';
  return hosts_unable === 0 ? 'all' : `${hosts_checked - hosts_unable}/${hosts_checked}`;
};

const hostLines = ({ unable }: AdminOsImage): string[] =>
  unable.map(({ node_name, reason }) => `${node_name}: ${reason}`);

export const adminImage: Group = {
  name: 'image',
  summary: 'Manage images and their versions',
  commands: [
    command({
      name: 'list',
      summary: 'List images',
      flags: { ...pageFlags, ...retiredFlags },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.adminOsImageList({ query: { ...query, include_retired: flags.retired } }, { signal: cli.signal });
        const found = await collect(flags, read);
        cli.out.list(found, [
          { header: 'IMAGE', value: ({ name }) => name, shrink: 'cut' },
          { header: 'CHANNEL', value: ({ channel }) => channel },
          { header: 'TRUST', value: ({ trust }) => trust },
          { header: 'VERSIONS', value: ({ versions }) => versions.length, align: 'right' },
          {
            header: 'ENABLED',
            value: ({ enabled, retired_at }) => (retired_at === null ? enabled : 'retired'),
          },
          { header: 'DEFAULT IN', value: ({ default_regions }) => default_regions.join(', '), shrink: 'wrap' },
          { header: 'HOSTS', value: hosts, align: 'right', optional: true },
          { header: 'BOOT', value: ({ boot_kind }) => boot_kind, optional: true },
          { header: 'DIGEST', value: ({ digest }) => digest.slice(0, 19), optional: true },
        ]);
        if (cli.out.json) return;
        const blocked = found.items.filter((one) => one.retired_at === null && one.default_blockers.length > 0);
        if (blocked.length === 0) return;
        cli.out.print('');
        cli.out.table(blocked, [
          { header: 'IMAGE', value: ({ name }) => name, shrink: 'cut' },
          { header: 'CANNOT BE THE DEFAULT', value: (one) => one.default_blockers.join(' '), shrink: 'wrap' },
        ]);
      },
    }),
    command({
      name: 'get',
      summary: 'Show an image with its versions and the hosts that cannot start it',
      args: { image: 'Name' },
      run: async (cli, { args }) => {
        const params = { image_name: args.image };
        const found = await (await cli.client()).adminOsImageGet({ params }, { signal: cli.signal });
        const versions = found.versions.map(
          ({ digest, retired_at }) => `${digest}${retired_at === null ? '' : ' (retired)'}`,
        );
        cli.out.item(found, { ...found, versions, unable: hostLines(found) });
      },
    }),
    command({
      name: 'register',
      summary: 'Register an image or a new version, from the catalog.json of its build',
      args: { file: 'Catalog.json of the build, or - for standard input' },
      flags: {
        sku: required(list('SKU it can run on; repeatable', 'name')),
        'boot-kind': choice('How a VM starts it (default: that of the file, or uefi)', BOOT_KINDS),
        ...useFlags,
        ...keyFlags,
      },
      examples: ['gpuaas admin image register catalog.json --sku h200-sxm-slice'],
      run: async (cli, { args, flags }) => {
        const body = {
          ...(await readEntry(cli.io, args.file)),
          ...(flags.bootKind === undefined ? {} : { boot_kind: flags.bootKind }),
          sku_names: flags.sku,
          channel: flags.channel,
          trust: flags.trust,
        };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminOsImageRegister', { body }, options);
        const { name, digest, default_blockers, hosts_checked, hosts_unable } = response.data;
        cli.out.done(
          [
            `Launches that name ${name} use ${digest}.`,
            ...default_blockers.map((sentence) => `${name} cannot be the default: ${sentence}`),
          ].join('\n'),
          response,
        );
        if (cli.out.json || hosts_unable === 0) return;
        cli.out.points(`${hosts_unable} of ${hosts_checked} hosts cannot start it:`, hostLines(response.data));
      },
    }),
    command({
      name: 'update',
      summary: 'Change the channel, trust, name or SKUs of an image',
      args: { image: 'Name' },
      flags: {
        ...useFlags,
        'display-name': text('Display name'),
        sku: list('SKU it can run on; repeatable, replaces all', 'name'),
        ...ifMatchFlags,
      },
      run: async (cli, { args, flags }) => {
        assertChange(flags, ['channel', 'trust', 'display-name', 'sku']);
        const [client, params] = [await cli.client(), { image_name: args.image }];
        const ifMatch = flags.ifMatch ?? (await client.adminOsImageGet({ params }, { signal: cli.signal })).version;
        const body = {
          channel: flags.channel,
          trust: flags.trust,
          display_name: flags.displayName,
          sku_names: flags.sku,
        };
        const response = await client.call('adminOsImageUpdate', { params, body }, { ifMatch, signal: cli.signal });
        const { name, channel, trust } = response.data;
        cli.out.done(`Image ${name}: channel ${channel}, trust ${trust}.`, response);
      },
    }),
    command({
      name: 'retire',
      summary: 'Retire an image, or one version of it; running allocations keep it',
      args: { image: 'Name' },
      flags: {
        digest: text('Version to retire (default: the whole image)', 'sha256:…'),
        reason,
        ...yesFlags,
        ...keyFlags,
      },
      run: async (cli, { args, flags }) => {
        const what = flags.digest === undefined ? `image ${args.image}` : `${flags.digest} of image ${args.image}`;
        await cli.confirm(`Retire ${what}? New launches cannot use it.`, flags.yes);
        const params = { image_name: args.image };
        const body = { digest: flags.digest, reason: flags.reason };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminOsImageRetire', { params, body }, options);
        const { name, enabled, digest, retired_at } = response.data;
        if (flags.digest === undefined && retired_at !== null) {
          cli.out.done(`Image ${name} is retired. Register it again to bring it back.`, response);
          return;
        }
        const then = enabled ? `new launches use ${digest}` : 'the image is disabled';
        cli.out.done(`${flags.digest} of ${name} is retired; ${then}.`, response);
      },
    }),
  ],
};
