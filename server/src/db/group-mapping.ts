/** Groups of the issuer and the roles that they give. '' stands for a role in the organization. */
import type { GroupRole, MappedRole } from '../domain/group-access.ts';
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
