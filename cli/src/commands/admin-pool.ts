import type { Pool } from '@gpuaas/sdk';
import { command, type Group, text, toggle } from '../command.ts';
import { UsageError } from '../exit.ts';
import { anyOrganizationId } from '../find.ts';
import { collect, ifMatchFlags, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { assertChange, reason, retiredFlags } from './admin-catalog.ts';

const serves = ({ organization_name, organization_id }: Pool): string =>
  organization_id === null ? 'all' : (organization_name ?? organization_id);

const sentence = (pool: Pool): string =>
  pool.organization_id === null
    ? `Pool ${pool.name} is shared by all organizations.`
    : `Pool ${pool.name} is dedicated to ${serves(pool)}.`;

export const adminPool: Group = {
  name: 'pool',
  summary: 'Create, change and retire pools of nodes',
  commands: [
    command({
      name: 'list',
      summary: 'List pools with the organization they serve',
      flags: { ...pageFlags, ...retiredFlags },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.adminPoolList({ query: { ...query, include_retired: flags.retired } }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), [
          { header: 'POOL', value: ({ name }) => name },
          { header: 'SERVES', value: serves, shrink: 'cut' },
          { header: 'NODES', value: ({ node_count }) => node_count, align: 'right' },
          { header: 'PURPOSE', value: ({ purpose }) => purpose, shrink: 'cut' },
          { header: 'RETIRED', value: ({ retired_at }) => retired_at !== null, optional: true },
        ]);
      },
    }),
    command({
      name: 'get',
      summary: 'Show a pool',
      args: { pool: 'Name' },
      run: async (cli, { args }) => {
        const params = { pool_name: args.pool };
        cli.out.item(await (await cli.client()).adminPoolGet({ params }, { signal: cli.signal }));
      },
    }),
    command({
      name: 'create',
      summary: 'Create a pool, or bring a retired one back',
      args: { pool: 'Name' },
      flags: {
        purpose: text('What the pool is for'),
        organization: text('Dedicate it to this organization (default: shared)', 'name'),
        ...keyFlags,
      },
      examples: ['gpuaas admin pool create research --organization acme --purpose "Reserved until March"'],
      run: async (cli, { args, flags }) => {
        const organization_id =
          flags.organization === undefined ? undefined : await anyOrganizationId(cli, flags.organization);
        const body = { name: args.pool, purpose: flags.purpose, organization_id };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminPoolCreate', { body }, options);
        cli.out.done(sentence(response.data), response);
      },
    }),
    command({
      name: 'update',
      summary: 'Change the purpose of a pool, or the organization of an empty one',
      args: { pool: 'Name' },
      flags: {
        purpose: text('What the pool is for'),
        organization: text('Dedicate it to this organization', 'name'),
        shared: toggle('Share it by all organizations'),
        ...ifMatchFlags,
      },
      run: async (cli, { args, flags }) => {
        assertChange(flags, ['purpose', 'organization', 'shared']);
        if (flags.shared && flags.organization !== undefined)
          throw new UsageError('--shared and --organization cannot be combined.');
        const [client, params] = [await cli.client(), { pool_name: args.pool }];
        const ifMatch = flags.ifMatch ?? (await client.adminPoolGet({ params }, { signal: cli.signal })).version;
        const named = flags.organization === undefined ? undefined : await anyOrganizationId(cli, flags.organization);
        const body = { purpose: flags.purpose, organization_id: flags.shared ? null : named };
        const response = await client.call('adminPoolUpdate', { params, body }, { ifMatch, signal: cli.signal });
        cli.out.done(sentence(response.data), response);
      },
    }),
    command({
      name: 'retire',
      summary: 'Retire a pool without nodes',
      args: { pool: 'Name' },
      flags: { reason, ...yesFlags, ...keyFlags },
      run: async (cli, { args, flags }) => {
        await cli.confirm(`Retire pool ${args.pool}?`, flags.yes);
        const request = { params: { pool_name: args.pool }, body: { reason: flags.reason } };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminPoolRetire', request, options);
        cli.out.done(`Pool ${response.data.name} is retired. Create it again to bring it back.`, response);
      },
    }),
  ],
};
