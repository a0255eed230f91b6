import type { Reader, Tx } from './client.ts';
import type { Users } from './types.gen.ts';

export type UserRow = Readonly<Users>;

type NewUser = Pick<UserRow, 'id' | 'issuer' | 'subject' | 'name' | 'email' | 'email_verified' | 'platform_role'>;

export const insertUser = (tx: Tx, user: NewUser) =>
  tx.query(
    'insert into users (id, issuer, subject, name, email, email_verified, platform_role) values ($1, $2, $3, $4, $5, $6, $7)',
    [user.id, user.issuer, user.subject, user.name, user.email, user.email_verified, user.platform_role],
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

export const makeSuperadmin = (tx: Tx, userId: string) =>
  tx.query("update users set platform_role = 'superadmin', version = version + 1 where id = $1", [userId]);
