import { type Organization, type OrganizationLimit, TENANT_ROLES } from '@gpuaas/sdk';
import { choice, command, type Group, required, text } from '../command.ts';
import { organizationMember } from '../find.ts';
import { collect, ifMatchFlags, keyFlags, pageFlags } from '../flags.ts';
import { type Column, shortTime } from '../table.ts';
import { accessPolicy } from './access-policy.ts';
import { type Members, memberArgs, memberList, memberRemove } from './members.ts';

export const organizationColumns: readonly Column<Organization>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'NAME', value: ({ name }) => name, shrink: 'cut' },
  { header: 'KIND', value: ({ kind }) => kind },
  { header: 'CREATED', value: ({ created_at }) => shortTime(created_at) },
  { header: 'DISPLAY NAME', value: ({ display_name }) => display_name, shrink: 'cut', optional: true },
];

const members: Members = {
  scope: 'organization',
  from: 'the organization and all its projects',
  id: (cli) => cli.organization(),
  read: async (cli, organization_id, query) =>
    (await cli.client()).organizationMemberList({ params: { organization_id }, query }, { signal: cli.signal }),
  userId: async (cli, organization_id, named) => (await organizationMember(cli, organization_id, named)).user_id,
  remove: async (cli, organization_id, user_id) =>
    (await cli.client()).call(
      'organizationMemberRemove',
      { params: { organization_id, user_id } },
      { signal: cli.signal },
    ),
};

const member: Group = {
  name: 'member',
  summary: 'Manage members of an organization',
  commands: [
    memberList(members),
    command({
      name: 'update',
      summary: 'Change the role of a member',
      scope: 'organization',
      args: memberArgs,
      flags: { role: required(choice('Role in the organization', TENANT_ROLES)), ...ifMatchFlags },
      run: async (cli, { args, flags }) => {
        const [client, organization_id] = [await cli.client(), await cli.organization()];
        const found = await organizationMember(cli, organization_id, args.user);
        const params = { organization_id, user_id: found.user_id };
        const options = { ifMatch: flags.ifMatch ?? found.version, signal: cli.signal };
        const response = await client.call('organizationMemberUpdate', { params, body: { role: flags.role } }, options);
        cli.out.done(`${response.data.name} (${found.user_id}) now has the role ${response.data.role}.`, response);
      },
    }),
    memberRemove(members),
  ],
};

const limitColumns: readonly Column<OrganizationLimit>[] = [
  { header: 'NAME', value: ({ name }) => name },
  { header: 'PER', value: ({ per }) => per },
  { header: 'USED', value: ({ used }) => (used === null ? '-' : String(used)), align: 'right' },
  { header: 'MAX', value: ({ max }) => String(max), align: 'right' },
  { header: 'COUNTS', value: ({ counts }) => counts, shrink: 'cut', optional: true },
];

const limit: Group = {
  name: 'limit',
  summary: 'Show limits of an organization',
  commands: [
    command({
      name: 'list',
      summary: 'List limits of the organization and of yourself, and their usage',
      scope: 'organization',
      run: async (cli) => {
        const params = { organization_id: await cli.organization() };
        const { items } = await (await cli.client()).organizationLimitList({ params }, { signal: cli.signal });
        cli.out.list({ items, next_cursor: null }, limitColumns);
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
        const response = await (await cli.client()).call('organizationCreate', { body }, options);
        cli.out.done(`Created organization ${response.data.name} (${response.data.id}).`, response);
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
        const response = await client.call('organizationUpdate', { params, body }, { ifMatch, signal: cli.signal });
        cli.out.done(`Updated organization ${response.data.name} (${response.data.id}).`, response);
      },
    }),
    member,
    accessPolicy,
    limit,
  ],
};
