import { type Operations, PLATFORM_KEY_KINDS } from '@gpuaas/sdk';
import { choice, command, type Group, required, text } from '../command.ts';
import { collect, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { type Column, shortTime } from '../table.ts';

type Key = Operations['adminPlatformKeyRotate']['response'];

const columns: readonly Column<Key>[] = [
  { header: 'KEY', value: ({ kind }) => kind },
  { header: 'VERSION', value: ({ version }) => String(version) },
  { header: 'STATE', value: ({ state }) => state },
  { header: 'SINCE', value: ({ state_since }) => shortTime(state_since), optional: true },
  { header: 'SEALED VALUES', value: ({ sealed_values }) => String(sealed_values) },
  { header: 'PROCESSES', value: ({ process_count }) => String(process_count) },
  { header: 'WITHOUT IT', value: ({ processes_without_key }) => String(processes_without_key) },
];

export const adminPlatformKey: Group = {
  name: 'platform-key',
  summary: 'Rotate the keys that seal secrets in the database',
  commands: [
    command({
      name: 'list',
      summary: 'List versions, what they seal and which processes hold them',
      flags: { kind: choice('Only this key', PLATFORM_KEY_KINDS), ...pageFlags },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (page: { limit: number; cursor: string | undefined }) =>
          client.adminPlatformKeyList({ query: { ...page, kind: flags.kind } }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), columns);
      },
    }),
    command({
      name: 'rotate',
      summary: 'Seal with the newest version that every process holds, and seal earlier values again',
      flags: {
        kind: choice('Which key (default platform)', PLATFORM_KEY_KINDS),
        reason: required(text('Reason, recorded in the audit log')),
        ...yesFlags,
        ...keyFlags,
      },
      run: async (cli, { flags }) => {
        const { kind = 'platform', reason } = flags;
        const client = await cli.client();
        await cli.confirm(`Rotate the ${kind} key? Keep the earlier version until it is retired.`, flags.yes);
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await client.call('adminPlatformKeyRotate', { body: { kind, reason } }, options);
        const { version } = response.data;
        cli.out.done(
          `New values are now sealed with version ${version} of the ${kind} key. Keep the earlier version until it is retired: gpuaas admin platform-key list`,
          response,
        );
      },
    }),
  ],
};
