import { PLATFORM_ROLES, USER_STATES_TO_SET } from '@gpuaas/sdk';
import { choice, command, type Group, integer, text, toggle } from '../command.ts';
import { UsageError } from '../exit.ts';
import { collect, ifMatchFlags, keyFlags, pageFlags } from '../flags.ts';
import { shortTime } from '../table.ts';
import { organizationColumns } from './organization.ts';

const ROLES = [...PLATFORM_ROLES, 'none'] as const;

export const adminOrganization: Group = {
  name: 'organization',
  summary: 'List organizations, and create them for others',
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
    command({
      name: 'create',
      summary: 'Create an organization for another owner: a user, or a person who is invited',
      args: { name: 'Lower-case name, unique on the platform' },
      flags: {
        'display-name': text('Display name'),
        'owner-user': text('The owner, who has signed in before', 'id'),
        'owner-email': text('Invite the owner by email address; the token is shown once', 'address'),
        gpus: integer('GPU limit (default: that of the site policy)'),
        unlimited: toggle('No GPU limit'),
        ...keyFlags,
      },
      examples: ['gpuaas admin organization create acme --owner-email ada@example.com --gpus 16'],
      run: async (cli, { args, flags }) => {
        if ((flags.ownerUser === undefined) === (flags.ownerEmail === undefined))
          throw new UsageError('Name one owner.', 'Add --owner-user or --owner-email.');
        if (flags.unlimited && flags.gpus !== undefined)
          throw new UsageError('--gpus and --unlimited cannot be combined.');
        const body = {
          name: args.name,
          display_name: flags.displayName,
          owner_user_id: flags.ownerUser,
          owner_email: flags.ownerEmail,
          gpu_limit: flags.unlimited ? null : flags.gpus,
        };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminOrganizationCreate', { body }, options);
        const { organization, token } = response.data;
        cli.out.done(`Created organization ${organization.name} (${organization.id}).`, response);
        if (cli.out.json || token === null) return;
        cli.out.print(token);
        cli.out.say(`The token is shown once. The owner signs in and runs: gpuaas invitation accept ${token}`);
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
      flags: { ...pageFlags, email: text('Only the user with this email address', 'address') },
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
        state: choice('Active or disabled', USER_STATES_TO_SET),
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
