/** Groups of the issuer that give a role in an organization or project. */
import Type from 'typebox';
import { Closed, DisplayText, Name, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { PROJECT_ROLES } from '../roles.ts';
import { operatorChanges, operatorReads } from './operator.ts';

/** No group makes an owner: the end of a group must not leave an organization without one. */
export const GROUP_ROLES = PROJECT_ROLES;
const Group = DisplayText('Group as the issuer writes it in the groups claim, e.g. `research`.', 255);
const Role = StringEnum(GROUP_ROLES, { description: 'A group never makes an owner.' });

/** A mapping as a site file states it: names instead of IDs. */
export const GroupMappingSpec = Closed({
  group: Group,
  organization: Name('Name of the organization.'),
  project: Nullable(Name('Name of the project; null for a role in the organization.')),
  role: Role,
});

export const GroupMapping = Closed({
  id: Id('group_mapping'),
  group: Type.String(),
  organization_id: Id('organization'),
  organization_name: Type.String(),
  project_id: Nullable(Id('project', 'Null for a role in the organization.')),
  project_name: Nullable(Type.String()),
  role: StringEnum(GROUP_ROLES),
  created_at: Time('When it was created.'),
});

const change = operatorChanges('Site');
const path = '/api/v1/admin/group-mappings';

export const adminGroupMappingApi = define({
  adminGroupMappingList: {
    ...operatorReads('Site'),
    path,
    summary: 'List group mappings',
    permission: 'admin.group_mapping.read',
    query: Closed({ ...PageQuery }),
    response: Page(GroupMapping),
  },
  adminGroupMappingCreate: {
    ...change,
    path,
    summary: 'Give members of a group of the issuer a role in an organization or project',
    description:
      'Applies at the next sign-in of each member, and to everyone at `adminGroupSync`. Memberships that people gave ' +
      'stay as they are. A role in a project includes `member` in its organization.',
    permission: 'admin.group_mapping.update',
    audit: 'group_mapping.create',
    freshSignIn: true,
    body: Closed({
      group: Group,
      organization_id: Id('organization'),
      project_id: Type.Optional(Id('project', 'Omit it for a role in the organization.')),
      role: Role,
    }),
    status: 201,
    response: GroupMapping,
    errors: ['already_exists'],
  },
  adminGroupMappingDelete: {
    method: 'DELETE',
    tag: 'Site',
    access: 'platform',
    idempotency: 'none',
    path: `${path}/{group_mapping_id}`,
    summary: 'Delete a group mapping',
    description: 'Members lose the role at their next sign-in, or all at once at `adminGroupSync`.',
    permission: 'admin.group_mapping.update',
    audit: 'group_mapping.delete',
    freshSignIn: true,
    params: Closed({ group_mapping_id: Id('group_mapping') }),
    status: 204,
    response: null,
  },
  adminGroupSync: {
    ...change,
    path: `${path}/sync`,
    summary: 'Compare the stored groups of all users with the mappings, and change memberships accordingly',
    description:
      'It does not contact the issuer: the groups of a user are those of the last sign-in. A group that a user has lost ' +
      'since is known at the next sign-in; to end access before that, apply an export of the issuer (`adminGroupSyncApply`).',
    permission: 'admin.group_mapping.update',
    audit: 'group_mapping.sync',
    freshSignIn: true,
    status: 200,
    response: Closed({
      users_checked: Type.Integer({ description: 'Active users with a mapped group or a membership by group.' }),
      memberships_granted: Type.Integer(),
      memberships_changed: Type.Integer({ description: 'Memberships whose role changed.' }),
      memberships_removed: Type.Integer(),
    }),
  },
});
