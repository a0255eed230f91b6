import { PLATFORM_ROLES, USER_STATES } from '@gpuaas/sdk';
import { choice, command, type Group, text } from '../command.ts';
import { UsageError } from '../exit.ts';
import { collect, ifMatchFlags, pageFlags } from '../flags.ts';
import { shortTime } from '../table.ts';
import { organizationColumns } from './organization.ts';

const ROLES = [...PLATFORM_ROLES, 'none'] as const;

export const adminOrganization: Group = {
  name: 'organization',
  summary: 'List organizations',
  commands: [
    command({
      name: 'list',
      summary: 'List all organizations',
      flags: { ...pageFlags, name: text('Only the organization with this name', 'name') },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.adminOrganizationList({ query: { ...query, name: flags.name } }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), organizationColumns);
      },
    }),
  ],
};

export const adminUser: Group = {
  name: 'user',
  summary: 'Manage users',
  commands: [
    command({
      name: 'list',
      summary: 'List all users',
      flags: { ...pageFlags, email: text('Only the user with this e-mail address', 'address') },
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.adminUserList({ query: { ...query, email: flags.email } }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), [
          { header: 'ID', value: ({ id }) => id },
          { header: 'EMAIL', value: ({ email }) => email, shrink: 'cut' },
          { header: 'ROLE', value: ({ platform_role }) => platform_role },
          { header: 'STATE', value: ({ state }) => state },
          { header: 'LAST SEEN', value: ({ last_seen_at }) => shortTime(last_seen_at), optional: true },
          { header: 'NAME', value: ({ name }) => name, shrink: 'cut', optional: true },
        ]);
      },
    }),
    command({
      name: 'get',
      summary: 'Show one user',
      args: { user: 'ID' },
      run: async (cli, { args }) => {
        cli.out.item(
          await (await cli.client()).adminUserGet({ params: { user_id: args.user } }, { signal: cli.signal }),
        );
      },
    }),
    command({
      name: 'update',
      summary: 'Disable or enable a user, or change the platform role',
      args: { user: 'ID' },
      flags: {
        state: choice('Active or disabled', USER_STATES),
        'platform-role': choice('Platform role', ROLES),
        ...ifMatchFlags,
      },
      run: async (cli, { args, flags }) => {
        if (flags.state === undefined && flags.platformRole === undefined)
          throw new UsageError('Nothing to change.', 'Add --state or --platform-role.');
        const [client, params] = [await cli.client(), { user_id: args.user }];
        const ifMatch = flags.ifMatch ?? (await client.adminUserGet({ params }, { signal: cli.signal })).version;
        const platform_role = flags.platformRole === 'none' ? null : flags.platformRole;
        const body = { state: flags.state, platform_role };
        const response = await client.call('adminUserUpdate', { params, body }, { ifMatch, signal: cli.signal });
        const { name, id, state, platform_role: role } = response.data;
        cli.out.done(`User ${name} (${id}) is ${state}, platform role ${role ?? 'none'}.`, response);
      },
    }),
  ],
};
