import { PROJECT_ROLES, type Project } from '@gpuaas/sdk';
import { choice, command, type Group, required, text } from '../command.ts';
import { type ConfigFile, type Profile, readConfig, updateConfig, withProfile } from '../config.ts';
import { UsageError } from '../exit.ts';
import { projectUserId } from '../find.ts';
import { collect, ifMatchFlags, keyFlags, pageFlags, yesFlags } from '../flags.ts';
import { profileUrl } from '../settings.ts';
import { type Column, shortTime } from '../table.ts';
import { type Members, memberArgs, memberList, memberRemove } from './members.ts';

const columns: readonly Column<Project>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'NAME', value: ({ name }) => name, shrink: 'cut' },
  { header: 'DISPLAY NAME', value: ({ display_name }) => display_name, shrink: 'cut' },
  { header: 'CREATED', value: ({ created_at }) => shortTime(created_at) },
];

const YES_NO = ['yes', 'no'] as const;
const isYes = (given: (typeof YES_NO)[number] | undefined): boolean | undefined =>
  given === undefined ? undefined : given === 'yes';

const named = { 'project?': 'Name or ID (default: the default project)' } as const;

const members: Members = {
  scope: 'project',
  from: 'the project',
  id: (cli) => cli.project(),
  read: async (cli, project_id, query) =>
    (await cli.client()).projectMemberList({ params: { project_id }, query }, { signal: cli.signal }),
  userId: projectUserId,
  remove: async (cli, project_id, user_id) =>
    (await cli.client()).call('projectMemberRemove', { params: { project_id, user_id } }, { signal: cli.signal }),
};

const member: Group = {
  name: 'member',
  summary: 'Manage members of a project',
  commands: [
    memberList(members),
    command({
      name: 'put',
      summary: 'Add a member of the organization, or change the role',
      scope: 'project',
      args: memberArgs,
      flags: { role: required(choice('Role in the project', PROJECT_ROLES)) },
      run: async (cli, { args, flags }) => {
        const [client, project_id] = [await cli.client(), await cli.project()];
        const user_id = await projectUserId(cli, project_id, args.user);
        const body = { role: flags.role };
        const response = await client.call(
          'projectMemberPut',
          { params: { project_id, user_id }, body },
          { signal: cli.signal },
        );
        cli.out.done(`${response.data.name} (${user_id}) now has the role ${response.data.role}.`, response);
      },
    }),
    memberRemove(members),
  ],
};

export const project: Group = {
  name: 'project',
  summary: 'Manage projects and their members',
  commands: [
    command({
      name: 'list',
      summary: 'List projects of the organization',
      scope: 'organization',
      flags: pageFlags,
      run: async (cli, { flags }) => {
        const [client, organization_id] = [await cli.client(), await cli.organization()];
        const read = (query: { limit: number; cursor: string | undefined }) =>
          client.projectList({ params: { organization_id }, query }, { signal: cli.signal });
        cli.out.list(await collect(flags, read), columns);
      },
    }),
    command({
      name: 'get',
      summary: 'Show one project',
      scope: 'organization',
      args: named,
      run: async (cli, { args }) => {
        const project_id = await cli.project(args.project);
        cli.out.item(await (await cli.client()).projectGet({ params: { project_id } }, { signal: cli.signal }));
      },
    }),
    command({
      name: 'create',
      summary: 'Create a project',
      scope: 'organization',
      args: { name: 'Lower-case name, unique in the organization' },
      flags: { 'display-name': text('Display name'), ...keyFlags },
      examples: ['gpuaas project create research --display-name "Research group"'],
      run: async (cli, { args, flags }) => {
        const params = { organization_id: await cli.organization() };
        const body = { name: args.name, display_name: flags.displayName };
        const options = { idempotencyKey: flags.idempotencyKey, signal: cli.signal };
        const response = await (await cli.client()).call('projectCreate', { params, body }, options);
        cli.out.done(`Created project ${response.data.name} (${response.data.id}).`, response);
      },
    }),
    command({
      name: 'update',
      summary: 'Change the display name or the recording of sessions',
      scope: 'organization',
      args: named,
      flags: {
        'display-name': text('Display name'),
        'record-terminals': choice('Record the output of terminals', YES_NO),
        'require-recording': choice('Refuse and end every session that is not recorded', YES_NO),
        ...ifMatchFlags,
      },
      run: async (cli, { args, flags }) => {
        const { displayName: display_name, recordTerminals, requireRecording } = flags;
        const [records_terminals, requires_recording] = [isYes(recordTerminals), isYes(requireRecording)];
        const body = { display_name, records_terminals, requires_recording };
        if (Object.values(body).every((value) => value === undefined))
          throw new UsageError('Nothing to change.', 'Add --display-name, --record-terminals or --require-recording.');
        const [client, params] = [await cli.client(), { project_id: await cli.project(args.project) }];
        const ifMatch = flags.ifMatch ?? (await client.projectGet({ params }, { signal: cli.signal })).version;
        const response = await client.call('projectUpdate', { params, body }, { ifMatch, signal: cli.signal });
        cli.out.done(`Updated project ${response.data.name} (${response.data.id}).`, response);
      },
    }),
    command({
      name: 'delete',
      summary: 'Delete an empty project',
      scope: 'organization',
      args: { project: 'Name or ID' },
      flags: yesFlags,
      run: async (cli, { args, flags }) => {
        const [client, project_id] = [await cli.client(), await cli.project(args.project)];
        await cli.confirm(`Delete project ${args.project}?`, flags.yes);
        const response = await client.call('projectDelete', { params: { project_id } }, { signal: cli.signal });
        cli.out.done(`Deleted project ${project_id}.`, response, { id: project_id, deleted: true });
      },
    }),
    command({
      name: 'use',
      summary: 'Set the default project of the profile',
      scope: 'organization',
      args: { project: 'Name or ID' },
      run: async (cli, { args }) => {
        const { config_file, profile_name, url } = await cli.settings();
        /** The profile as stored in the file. A profile of another address stays unchanged, with its credential. */
        const ownProfile = (config: ConfigFile): Profile => {
          const profile = config.profiles[profile_name];
          if (profile === undefined) return { url };
          const own = profileUrl(profile, profile_name);
          if (own !== url)
            throw new UsageError(
              `Profile ${profile_name} is for ${own}, not ${url}.`,
              'Name another profile with --profile.',
            );
          return { url, ...profile };
        };
        ownProfile(await readConfig(config_file));
        const project_id = await cli.project(args.project);
        const found = await (await cli.client()).projectGet({ params: { project_id } }, { signal: cli.signal });
        await updateConfig(config_file, (config) => {
          const next = { ...ownProfile(config), organization: found.organization_id, project: found.id };
          return withProfile(config, profile_name, next);
        });
        if (cli.out.json)
          cli.out.item({ profile: profile_name, organization_id: found.organization_id, project_id: found.id });
        else cli.out.say(`The default project of profile ${profile_name} is now ${found.name} (${found.id}).`);
      },
    }),
    member,
  ],
};
