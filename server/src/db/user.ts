import type { HeldRole } from '../domain/group-access.ts';
import type { Reader, Tx } from './client.ts';
import { CLOCK_TRUSTED } from './predicates.ts';
import type { Users } from './types.gen.ts';

export type UserRow = Readonly<Users>;

type NewUser = Pick<
  UserRow,
  'id' | 'issuer' | 'subject' | 'name' | 'email' | 'email_verified' | 'platform_role' | 'state'
>;

export const insertUser = (tx: Tx, user: NewUser) =>
  tx.query(
    'insert into users (id, issuer, subject, name, email, email_verified, platform_role, state) values ($1, $2, $3, $4, $5, $6, $7, $8)',
    [user.id, user.issuer, user.subject, user.name, user.email, user.email_verified, user.platform_role, user.state],
  );

export const findUser = async (reader: Reader, id: string): Promise<UserRow | undefined> =>
  (await reader.query<UserRow>('select * from users where id = $1', [id])).rows[0];

export const listUsers = async (
  reader: Reader,
  page: Readonly<{ after: string | null; limit: number; email: string | null }>,
): Promise<UserRow[]> =>
  (
    await reader.query<UserRow>(
      `select * from users where ($1::text is null or id > $1) and ($2::text is null or lower(email) = lower($2)) order by id limit $3`,
      [page.after, page.email, page.limit],
    )
  ).rows;

/** Undefined when the version has changed. */
export const updateUser = async (
  tx: Tx,
  id: string,
  version: number,
  change: Readonly<{ state: string; platform_role: string | null }>,
): Promise<UserRow | undefined> =>
  (
    await tx.query<UserRow>(
      'update users set state = $3, platform_role = $4, version = version + 1 where id = $1 and version = $2 returning *',
      [id, version, change.state, change.platform_role],
    )
  ).rows[0];

/** Locks every active superadmin, so that two demotions at once cannot leave none. */
export const lockSuperadmins = async (tx: Tx): Promise<string[]> =>
  (
    await tx.query<{ id: string }>(
      "select id from users where platform_role = 'superadmin' and state = 'active' order by id for update",
    )
  ).rows.map((row) => row.id);

/** To the minute: one write per caller and minute at the most. */
export const touchUser = (tx: Tx, userId: string) =>
  tx.query(
    "update users set last_seen_at = now() where id = $1 and (last_seen_at is null or last_seen_at < now() - interval '1 minute')",
    [userId],
  );

/** The issuer's current state of the address; false when the row already has it. */
export const updateAddress = async (
  tx: Tx,
  userId: string,
  address: Readonly<{ email: string; email_verified: boolean }>,
): Promise<boolean> =>
  (
    await tx.query(
      `update users set email = $2, email_verified = $3, version = version + 1
       where id = $1 and (email, email_verified) is distinct from ($2, $3)`,
      [userId, address.email, address.email_verified],
    )
  ).rowCount === 1;

/** Locks the user, so that two sign-ins at once do not change the memberships twice. False unless the user is active. */
export const lockActiveUser = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx.query("select 1 as one from users where id = $1 and state = 'active' for update", [id])).rowCount === 1;

/** Null for a user without groups. False where this token or a newer one was followed. */
export const updateGroups = async (
  tx: Tx,
  id: string,
  { groups, issued_at }: Readonly<{ groups: readonly string[] | null; issued_at: string }>,
): Promise<boolean> =>
  (
    await tx.query(
      `update users set groups = $2, groups_at = $3
       where id = $1 and (groups_at is null or groups_at < $3 or (groups_at = $3 and groups is distinct from $2))`,
      [id, groups, issued_at],
    )
  ).rowCount === 1;

/** Groups that no token stated for so many days. A clock that went wrong must not end memberships. */
const GROUPS_ARE_OLD = (days: string) =>
  `groups is not null and groups_at < clock_timestamp() - make_interval(days => ${days}) and ${CLOCK_TRUSTED}`;

export const listUsersOfOldGroups = async (
  reader: Reader,
  days: number,
  page: Readonly<{ after: string; limit: number }>,
): Promise<string[]> =>
  (
    await reader.query<{ id: string }>(
      `select id from users where id > $2 and state = 'active' and ${GROUPS_ARE_OLD('$1')} order by id limit $3`,
      [days, page.after, page.limit],
    )
  ).rows.map(({ id }) => id);

/** Locks the user. The time of the token stays: an older one must not bring the groups back. False if a sign-in came first. */
export const forgetGroups = async (tx: Tx, id: string, days: number): Promise<boolean> =>
  (await tx.query(`update users set groups = null where id = $1 and ${GROUPS_ARE_OLD('$2')}`, [id, days])).rowCount ===
  1;

/** The user's roles with their source, in organizations and projects. */
export const listHeldRoles = async (reader: Reader, userId: string): Promise<HeldRole[]> =>
  (
    await reader.query<HeldRole>(
      `select organization_id, null as project_id, role, source from tenant_memberships where user_id = $1
       union all select organization_id, project_id, role, source from project_memberships where user_id = $1`,
      [userId],
    )
  ).rows;

export const approveUser = async (tx: Tx, id: string): Promise<UserRow | undefined> =>
  (
    await tx.query<UserRow>(
      "update users set state = 'active', version = version + 1 where id = $1 and state = 'pending' returning *",
      [id],
    )
  ).rows[0];

export const makeSuperadmin = (tx: Tx, userId: string) =>
  tx.query("update users set platform_role = 'superadmin', version = version + 1 where id = $1", [userId]);
