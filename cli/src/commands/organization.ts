import type { Organization, OrganizationMember } from '@gpuaas/sdk';
import { choice, command, type Group, required, text } from '../command.ts';
import { organizationMember } from '../find.ts';
import { collect, ifMatchFlags, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { type Column, shortTime } from '../table.ts';
import { accessPolicy } from './access-policy.ts';

export const TENANT_ROLES = [
  'owner',
  'admin',
  'member',
  'viewer',
] as const satisfies readonly OrganizationMember['role'][];

export const organizationColumns: readonly Column<Organization>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'NAME', value: ({ name }) => name, shrink: 'cut' },
  { header: 'KIND', value: ({ kind }) => kind },
  { header: 'CREATED', value: ({ created_at }) => shortTime(created_at) },
  { header: 'DISPLAY NAME', value: ({ display_name }) => display_name, shrink: 'cut', optional: true },
];

const member: Group = {
  name: 'member',
  summary: 'Manage members of an organization',
  commands: [
    command({
      name: 'list',
      summary: 'List members and their roles',
      scope: 'organization',
      flags: pageFlags,
      run: async (cli, { flags }) => {
        const [client, organization_id] = [await cli.client(), await cli.organization()];
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.organizationMemberList({ params: { organization_id }, query }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), [
          { header: 'USER', value: ({ user_id }) => user_id },
          { header: 'NAME', value: ({ name }) => name, shrink: 'cut' },
          { header: 'E-MAIL', value: ({ email }) => email, shrink: 'cut' },
          { header: 'ROLE', value: ({ role }) => role },
        ]);
      },
    }),
    command({
      name: 'update',
      summary: 'Change the role of a member',
      scope: 'organization',
      args: { user: 'E-mail address or ID' },
      flags: { role: required(choice('Role in the organization', TENANT_ROLES)), ...ifMatchFlags },
      run: async (cli, { args, flags }) => {
        const [client, organization_id] = [await cli.client(), await cli.organization()];
        const found = await organizationMember(cli, organization_id, args.user);
        const params = { organization_id, user_id: found.user_id };
        const options = { ifMatch: flags.ifMatch ?? found.version, signal: cli.signal };
        const answer = await client.call('organizationMemberUpdate', { params, body: { role: flags.role } }, options);
        cli.out.done(`${answer.data.name} (${found.user_id}) is now ${answer.data.role}.`, answer);
      },
    }),
    command({
      name: 'remove',
      summary: 'Remove a member from the organization and all its projects',
      scope: 'organization',
      args: { user: 'E-mail address or ID' },
      flags: yesFlags,
      run: async (cli, { args, flags }) => {
        const [client, organization_id] = [await cli.client(), await cli.organization()];
        const { user_id } = await organizationMember(cli, organization_id, args.user);
        await cli.confirm(`Remove ${args.user} from the organization and all its projects?`, flags.yes);
        const params = { organization_id, user_id };
        const answer = await client.call('organizationMemberRemove', { params }, { signal: cli.signal });
        cli.out.done(`Removed ${user_id}. This takes effect within 60 seconds.`, answer, { user_id, removed: true });
      },
    }),
  ],
};

export const organization: Group = {
  name: 'organization',
  summary: 'Manage organizations and their members',
  commands: [
    command({
      name: 'list',
      summary: 'List your organizations',
      flags: pageFlags,
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.organizationList({ query }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), organizationColumns);
      },
    }),
    command({
      name: 'get',
      summary: 'Show one organization',
      scope: 'organization',
      run: async (cli) => {
        const params = { organization_id: await cli.organization() };
        cli.out.item(await (await cli.client()).organizationGet({ params }, { signal: cli.signal }));
      },
    }),
    command({
      name: 'create',
      summary: 'Create an organization with a default project; you become its owner',
      args: { name: 'Lower-case name, unique on the platform' },
      flags: { 'display-name': text('Display name'), ...keyFlags },
      run: async (cli, { args, flags }) => {
        const body = { name: args.name, display_name: flags.displayName };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const answer = await (await cli.client()).call('organizationCreate', { body }, options);
        cli.out.done(`Created organization ${answer.data.name} (${answer.data.id}).`, answer);
      },
    }),
    command({
      name: 'update',
      summary: 'Change the display name',
      scope: 'organization',
      flags: { 'display-name': required(text('Display name')), ...ifMatchFlags },
      run: async (cli, { flags }) => {
        const [client, params] = [await cli.client(), { organization_id: await cli.organization() }];
        const ifMatch = flags.ifMatch ?? (await client.organizationGet({ params }, { signal: cli.signal })).version;
        const body = { display_name: flags.displayName };
        const answer = await client.call('organizationUpdate', { params, body }, { ifMatch, signal: cli.signal });
        cli.out.done(`Updated organization ${answer.data.name} (${answer.data.id}).`, answer);
      },
    }),
    member,
    accessPolicy,
  ],
};
