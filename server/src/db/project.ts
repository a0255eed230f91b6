import type { ProjectRole } from '@gpuaas/contract';
import type { Reader, Tx } from './client.ts';
import { ALLOCATION_ENDED, claimIsLive, RUN_LIVE, SESSION_LIVE } from './predicates.ts';
import type { ProjectMemberships, Projects, Users } from './types.gen.ts';

export type ProjectRow = Readonly<
  Pick<
    Projects,
    | 'id'
    | 'organization_id'
    | 'name'
    | 'display_name'
    | 'records_terminals'
    | 'requires_recording'
    | 'version'
    | 'created_at'
  >
>;
export type ProjectMemberRow = Readonly<
  Pick<ProjectMemberships, 'user_id' | 'role' | 'source' | 'created_at'> & Pick<Users, 'name' | 'email'>
>;

const PROJECT = 'id, organization_id, name, display_name, records_terminals, requires_recording, version, created_at';
export type ProjectChange = Readonly<
  Partial<Pick<ProjectRow, 'display_name' | 'records_terminals' | 'requires_recording'>>
>;
const MEMBER = 'm.user_id, u.name, u.email, m.role, m.source, m.created_at';

export const insertProject = (tx: Tx, row: Pick<ProjectRow, 'id' | 'organization_id' | 'name' | 'display_name'>) =>
  tx.query<ProjectRow>(
    `insert into projects (id, organization_id, name, display_name) values ($1, $2, $3, $4) returning ${PROJECT}`,
    [row.id, row.organization_id, row.name, row.display_name],
  );

export const findProject = async (reader: Reader, id: string): Promise<ProjectRow | undefined> =>
  (await reader.query<ProjectRow>(`select ${PROJECT} from projects where id = $1 and deleted_at is null`, [id]))
    .rows[0];

export type ProjectHoldingsRow = Readonly<{ id: string; service_accounts: number; allocations: string[] }>;

/**
 * Resources of project `p` that must end before the project may be deleted. Every part has a partial index: none reads
 * the history.
 */
const HOLDINGS = `
  (select count(*) from service_accounts s where s.project_id = p.id and s.deleted_at is null) as service_accounts,
  (select coalesce(jsonb_agg(held.name order by held.name), '[]') from (
     select a.id, a.name from allocations a where a.project_id = p.id and a.state not ${ALLOCATION_ENDED}
     union select a.id, a.name from allocation_resource_claims c join allocations a on a.id = c.allocation_id
     where c.project_id = p.id and ${claimIsLive('c')}
     union select a.id, a.name from workflow_runs r join allocations a on a.id = r.subject_id
     where r.project_id = p.id and r.state ${RUN_LIVE}
     union select a.id, a.name from terminal_sessions s join allocations a on a.id = s.allocation_id
     where s.project_id = p.id and s.state ${SESSION_LIVE}) held) as allocations`;

/** Exported for the benchmark that compares the API with a bare server. */
export const FIND_HELD_PROJECT = `select ${PROJECT}, ${HOLDINGS} from projects p where id = $1 and deleted_at is null`;

/** A project and its holdings in one round trip, because it is read often. */
export const findHeldProject = async (
  reader: Reader,
  id: string,
): Promise<(ProjectRow & ProjectHoldingsRow) | undefined> =>
  (await reader.query<ProjectRow & ProjectHoldingsRow>(FIND_HELD_PROJECT, [id])).rows[0];

export type ProjectFilter = Readonly<{
  after: string | null;
  limit: number;
  name: string | null;
  /** Only projects this user was added to; null for users who see the whole organization. */
  member_id: string | null;
}>;

export const listProjects = async (
  reader: Reader,
  organizationId: string,
  filter: ProjectFilter,
): Promise<ProjectRow[]> =>
  (
    await reader.query<ProjectRow>(
      `select ${PROJECT} from projects p
       where organization_id = $1 and deleted_at is null and ($2::text is null or id > $2) and ($3::text is null or name = $3)
         and ($4::text is null or exists (select from project_memberships m where m.project_id = p.id and m.user_id = $4))
       order by id limit $5`,
      [organizationId, filter.after, filter.name, filter.member_id, filter.limit],
    )
  ).rows;

/** The names behind the ids of a principal, for `whoami`. */
export const listProjectsById = async (reader: Reader, ids: readonly string[]): Promise<ProjectRow[]> =>
  (
    await reader.query<ProjectRow>(
      `select ${PROJECT} from projects where id = any($1) and deleted_at is null order by id`,
      [ids],
    )
  ).rows;

export const updateProject = async (
  tx: Tx,
  id: string,
  version: number,
  change: ProjectChange,
): Promise<ProjectRow | undefined> =>
  (
    await tx.query<ProjectRow>(
      `update projects set display_name = coalesce($3, display_name), records_terminals = coalesce($4, records_terminals),
         requires_recording = coalesce($5, requires_recording), version = version + 1
       where id = $1 and version = $2 and deleted_at is null returning ${PROJECT}`,
      [id, version, change.display_name ?? null, change.records_terminals ?? null, change.requires_recording ?? null],
    )
  ).rows[0];

/** Locks the project against anything being added to it while it is deleted; additions take a key-share lock through their foreign key. */
export const lockProject = async (tx: Tx, id: string): Promise<ProjectRow | undefined> =>
  (await tx.query<ProjectRow>(`select ${PROJECT} from projects where id = $1 and deleted_at is null for update`, [id]))
    .rows[0];

/** Blocks deletion of the project while something is added to it: a deletion waits, or this finds it deleted. */
export const holdProject = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx.query('select 1 as one from projects where id = $1 and deleted_at is null for key share', [id]))
    .rowCount === 1;

export const listProjectHoldings = async (reader: Reader, ids: readonly string[]): Promise<ProjectHoldingsRow[]> =>
  (await reader.query<ProjectHoldingsRow>(`select p.id, ${HOLDINGS} from projects p where p.id = any ($1)`, [ids]))
    .rows;

export const markProjectDeleted = (tx: Tx, id: string) =>
  tx.query('update projects set deleted_at = now(), version = version + 1 where id = $1', [id]);

export const listProjectMembers = async (
  reader: Reader,
  projectId: string,
  page: Readonly<{ after: string | null; limit: number }>,
): Promise<ProjectMemberRow[]> =>
  (
    await reader.query<ProjectMemberRow>(
      `select ${MEMBER} from project_memberships m join users u on u.id = m.user_id
       where m.project_id = $1 and ($2::text is null or m.user_id > $2) order by m.user_id limit $3`,
      [projectId, page.after, page.limit],
    )
  ).rows;

/**
 * Undefined when the user is not a member of the organization, or a group gives the membership. The lock makes a removal wait, or this find the user
 * removed.
 */
export const putProjectMember = async (
  tx: Tx,
  row: Readonly<{ project_id: string; organization_id: string; user_id: string; role: ProjectRole }>,
): Promise<ProjectMemberRow | undefined> =>
  (
    await tx.query<ProjectMemberRow>(
      `with put as (
         insert into project_memberships (project_id, organization_id, user_id, role)
         select $1, $2, t.user_id, $4 from tenant_memberships t where t.organization_id = $2 and t.user_id = $3 for key share
         on conflict (project_id, user_id) do update set role = excluded.role where project_memberships.source = 'manual'
         returning user_id, role, source, created_at)
       select ${MEMBER} from put m join users u on u.id = m.user_id`,
      [row.project_id, row.organization_id, row.user_id, row.role],
    )
  ).rows[0];

export const findProjectMember = async (
  reader: Reader,
  projectId: string,
  userId: string,
): Promise<ProjectMemberRow | undefined> =>
  (
    await reader.query<ProjectMemberRow>(
      `select ${MEMBER} from project_memberships m join users u on u.id = m.user_id where m.project_id = $1 and m.user_id = $2`,
      [projectId, userId],
    )
  ).rows[0];

/** By a group: inserts the membership, or changes the role of one that a group gave. */
export const putGroupProjectMember = (
  tx: Tx,
  row: Readonly<{ project_id: string; organization_id: string; user_id: string; role: ProjectRole }>,
) =>
  tx.query(
    `insert into project_memberships (project_id, organization_id, user_id, role, source) values ($1, $2, $3, $4, 'group')
     on conflict (project_id, user_id) do update set role = excluded.role where project_memberships.source = 'group'`,
    [row.project_id, row.organization_id, row.user_id, row.role],
  );

export const deleteProjectMember = async (tx: Tx, projectId: string, userId: string): Promise<boolean> =>
  (await tx.query('delete from project_memberships where project_id = $1 and user_id = $2', [projectId, userId]))
    .rowCount === 1;
