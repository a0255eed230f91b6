/** Groups of the issuer and the roles that they give. '' stands for a role in the organization. */
import type { BlockedPlace, GroupRole, HeldRole, MappedRole } from '../domain/group-access.ts';
import type { Reader, Tx } from './client.ts';
import { statement } from './statement.ts';
import type { GroupMappings } from './types.gen.ts';

export type GroupMappingRow = Readonly<
  Pick<GroupMappings, 'id' | 'group_name' | 'organization_id' | 'project_id' | 'role' | 'created_at'> & {
    organization_name: string;
    project_name: string | null;
  }
>;

const SELECT_MAPPING = `select m.id, m.group_name, m.organization_id, o.name as organization_name, m.project_id,
    p.name as project_name, m.role, m.created_at
  from group_mappings m join organizations o on o.id = m.organization_id
  left join projects p on p.id = m.project_key`;

const INSERT_GROUP_MAPPING = statement(
  { id: 'text', group_name: 'text', organization_id: 'text', project_id: 'text', role: 'text' },
  `insert into group_mappings (id, group_name, organization_id, project_id, role)
   values (:id, :group_name, :organization_id, :project_id, :role)
   on conflict (group_name, organization_id, project_id) do nothing returning id`,
);

/** False when the group has a role there already. */
export const insertGroupMapping = async (
  tx: Tx,
  row: Readonly<{ id: string; group_name: string; organization_id: string; project_id: string; role: GroupRole }>,
): Promise<boolean> => (await INSERT_GROUP_MAPPING.query(tx, row)).rowCount === 1;

export const findGroupMapping = async (reader: Reader, id: string): Promise<GroupMappingRow | undefined> =>
  (await reader.query<GroupMappingRow>(`${SELECT_MAPPING} where m.id = $1`, [id])).rows[0];

export const listGroupMappings = async (
  reader: Reader,
  page: Readonly<{ after: string | null; limit: number }>,
): Promise<GroupMappingRow[]> =>
  (
    await reader.query<GroupMappingRow>(
      `${SELECT_MAPPING} where ($1::text is null or m.id > $1) order by m.id limit $2`,
      [page.after, page.limit],
    )
  ).rows;

export const deleteGroupMapping = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx.query('delete from group_mappings where id = $1', [id])).rowCount === 1;

/** Every role that these groups give; a deleted project gives none. */
export const listMappedRoles = async (reader: Reader, groups: readonly string[]): Promise<MappedRole[]> =>
  (
    await reader.query<MappedRole>(
      `select m.organization_id, m.project_key as project_id, m.role from group_mappings m
       left join projects p on p.id = m.project_key
       where m.group_name = any($1) and (m.project_key is null or p.deleted_at is null)
       order by m.organization_id, m.project_id`,
      [groups],
    )
  ).rows;

export type MappedGroup = MappedRole & Readonly<{ group_name: string }>;

/** Every mapping that gives a role. */
export const listMappedGroups = async (reader: Reader): Promise<MappedGroup[]> =>
  (
    await reader.query<MappedGroup>(
      `select m.group_name, m.organization_id, m.project_key as project_id, m.role from group_mappings m
       left join projects p on p.id = m.project_key where m.project_key is null or p.deleted_at is null
       order by m.group_name, m.organization_id, m.project_id`,
    )
  ).rows;

export type SyncUser = Readonly<{
  id: string;
  name: string;
  email: string | null;
  subject: string;
  groups: readonly string[] | null;
  is_newer: boolean;
  held: readonly HeldRole[];
  blocked: readonly BlockedPlace[];
}>;

/** Active users of the issuer who have groups, hold a membership by a group, or are among the subjects; in pages by id. */
export const listSyncUsers = async (
  reader: Reader,
  of: Readonly<{ issuer: string; subjects: readonly string[]; exported_at: string; after: string; limit: number }>,
): Promise<SyncUser[]> =>
  (
    await reader.query<SyncUser>(
      `select u.id, u.name, u.email, u.subject, u.groups, coalesce(u.groups_at >= $3, false) as is_newer,
         coalesce((select jsonb_agg(jsonb_build_object('organization_id', h.organization_id, 'project_id', h.project_id, 'role', h.role, 'source', h.source))
           from (select t.organization_id, null as project_id, t.role, t.source from tenant_memberships t where t.user_id = u.id
             union all select p.organization_id, p.project_id, p.role, p.source from project_memberships p where p.user_id = u.id) h), '[]') as held,
         coalesce((select jsonb_agg(jsonb_build_object('organization_id', b.organization_id, 'project_id', b.project_key))
           from group_access_blocks b where b.user_id = u.id), '[]') as blocked
       from users u where u.issuer = $1 and u.state = 'active' and u.id > $4
         and (u.groups is not null or u.subject = any($2)
           or exists (select from tenant_memberships t where t.user_id = u.id and t.source = 'group')
           or exists (select from project_memberships p where p.user_id = u.id and p.source = 'group'))
       order by u.id limit $5`,
      [of.issuer, of.subjects, of.exported_at, of.after, of.limit],
    )
  ).rows;

/** Names of the places, by id. */
export const readPlaceNames = async (
  reader: Reader,
  ids: Readonly<{ organizations: readonly string[]; projects: readonly string[] }>,
): Promise<ReadonlyMap<string, string>> => {
  const { rows } = await reader.query<{ id: string; name: string }>(
    'select id, name from organizations where id = any($1) union all select id, name from projects where id = any($2)',
    [ids.organizations, ids.projects],
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
};

/** Active users whose groups are mapped, or who hold a membership by a group; in pages by id. */
export const listUsersOfGroups = async (
  reader: Reader,
  page: Readonly<{ after: string; limit: number }>,
): Promise<Readonly<{ id: string; groups: readonly string[] | null }>[]> =>
  (
    await reader.query<{ id: string; groups: string[] | null }>(
      `select u.id, u.groups from users u where u.state = 'active' and u.id > $1
         and (u.groups && array(select group_name from group_mappings)
           or exists (select from tenant_memberships t where t.user_id = u.id and t.source = 'group')
           or exists (select from project_memberships p where p.user_id = u.id and p.source = 'group'))
       order by u.id limit $2`,
      [page.after, page.limit],
    )
  ).rows;
