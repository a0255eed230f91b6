import { GROUP_ROLES } from '@gpuaas/sdk';
import { choice, command, type Group, required, text, toggle } from '../command.ts';
import { UsageError } from '../exit.ts';
import { anyOrganizationId, groupMappingId } from '../find.ts';
import { collect, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { syncByFile } from '../group-members.ts';
import { counted } from '../table.ts';

export const adminGroupMapping: Group = {
  name: 'group-mapping',
  summary: 'Give groups of the issuer roles in organizations and projects',
  commands: [
    command({
      name: 'list',
      summary: 'List mappings',
      flags: pageFlags,
      run: async (cli, { flags }) => {
        const client = await cli.client();
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.adminGroupMappingList({ query }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), [
          { header: 'ID', value: ({ id }) => id },
          { header: 'GROUP', value: ({ group }) => group, shrink: 'cut' },
          { header: 'ORGANIZATION', value: ({ organization_name }) => organization_name, shrink: 'cut' },
          { header: 'PROJECT', value: ({ project_name }) => project_name ?? '-', shrink: 'cut' },
          { header: 'ROLE', value: ({ role }) => role },
        ]);
      },
    }),
    command({
      name: 'create',
      summary: 'Give members of a group a role from their next sign-in',
      args: { group: 'The group, as the issuer writes it in the groups claim' },
      flags: {
        'in-organization': required(text('The organization, by name or ID', 'name')),
        'in-project': text('A role in this project only', 'id'),
        role: required(choice('Role', GROUP_ROLES)),
        ...keyFlags,
      },
      examples: ['gpuaas admin group-mapping create research --in-organization acme --role member'],
      run: async (cli, { args, flags }) => {
        const organization_id = await anyOrganizationId(cli, flags.inOrganization);
        const body = { group: args.group, organization_id, project_id: flags.inProject, role: flags.role };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminGroupMappingCreate', { body }, options);
        const { id, organization_name, project_name, role } = response.data;
        const place = project_name === null ? organization_name : `${organization_name}/${project_name}`;
        cli.out.done(
          `Members of ${args.group} have the role ${role} in ${place} from their next sign-in (${id}).`,
          response,
        );
        if (cli.out.json) return;
        if (args.group.startsWith('/'))
          cli.out.say(
            'It matches only where the groups claim holds full paths; Keycloak writes them only with full path.',
          );
        cli.out.say('Apply it now to signed-in users: gpuaas admin group sync');
      },
    }),
    command({
      name: 'delete',
      summary: 'Delete a mapping; members lose the role at their next sign-in',
      args: { mapping: 'ID, or the group where it has one mapping' },
      flags: yesFlags,
      run: async (cli, { args, flags }) => {
        const id = await groupMappingId(cli, args.mapping);
        await cli.confirm(`Delete group mapping ${args.mapping}?`, flags.yes);
        const params = { group_mapping_id: id };
        const response = await (await cli.client()).call('adminGroupMappingDelete', { params }, { signal: cli.signal });
        cli.out.done(`Deleted ${args.mapping}.`, response, { id, deleted: true });
        if (!cli.out.json) cli.out.say('To end the access of its members now: gpuaas admin group sync');
      },
    }),
  ],
};

export const adminGroup: Group = {
  name: 'group',
  summary: 'Apply groups of the issuer',
  commands: [
    command({
      name: 'sync',
      summary: 'Apply the mappings: to an export of the issuer, or to the groups of each user’s last sign-in',
      flags: {
        file: {
          ...text('Export of the issuer: all members of the mapped groups now; - for standard input', 'file'),
          short: 'f',
        },
        plan: toggle('With --file: show the changes and the hash to apply them with'),
        hash: text('With --file: hash of the reviewed plan', 'hash'),
        'accept-warnings': toggle('With --file: apply it although it may be incomplete'),
        ...yesFlags,
        ...keyFlags,
      },
      examples: [
        'gpuaas admin group sync --file members.json --plan',
        'gpuaas admin group sync --file members.json --hash 5f0c9a1be2d47763',
      ],
      run: async (cli, { flags }) => {
        const { file, hash, acceptWarnings, yes, idempotencyKey, plan } = flags;
        if (file !== undefined) {
          const wanted = {
            hash,
            yes,
            idempotencyKey,
            isPlanOnly: plan === true,
            accept_warnings: acceptWarnings === true,
          };
          return syncByFile(cli, { file, ...wanted });
        }
        if (plan || hash !== undefined || acceptWarnings)
          throw new UsageError('--plan, --hash and --accept-warnings need --file.');
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('adminGroupSync', {}, options);
        const { users_checked, memberships_granted, memberships_changed, memberships_removed } = response.data;
        cli.out.done(
          `Checked ${counted(users_checked, 'user')}: ${memberships_granted} memberships granted, ${memberships_changed} changed, ${memberships_removed} removed.`,
          response,
        );
      },
    }),
  ],
};
