/** Web sessions. A row is deleted when its user signs out, or after its maximum duration. */
import type { Reader, Tx } from './client.ts';
import { PERSONAL_ORGANIZATION } from './principal.ts';
import { statement } from './statement.ts';
import type { WebSessions } from './types.gen.ts';

export type WebSessionRow = Readonly<
  Pick<WebSessions, 'id' | 'user_agent' | 'source_ip' | 'created_at' | 'last_seen_at' | 'expires_at'>
>;

export type HeldWebSession = Readonly<
  Pick<WebSessions, 'id' | 'user_id' | 'id_token_sealed'> & {
    personal_organization_id: string | null;
  }
>;

export type NewWebSession = Readonly<
  Pick<WebSessions, 'id' | 'user_id' | 'token_hash' | 'id_token_sealed' | 'auth_time'> & {
    user_agent: string;
    source_ip: string;
    idle_s: number;
    max_s: number;
  }
>;

/** Includes idle-expired ones: the holder of the cookie may still end it or sign in over it. */
export const findWebSession = async (reader: Reader, tokenHash: Buffer): Promise<HeldWebSession | undefined> =>
  (
    await reader.query<HeldWebSession>(
      `select w.id, w.user_id, w.id_token_sealed, ${PERSONAL_ORGANIZATION}
       from web_sessions w join users u on u.id = w.user_id where w.token_hash = $1`,
      [tokenHash],
    )
  ).rows[0];

const PUT_WEB_SESSION = statement(
  {
    id: 'text',
    user_id: 'text',
    token_hash: 'bytea',
    id_token_sealed: 'bytea | null',
    auth_time: 'timestamptz | null',
    user_agent: 'text | null',
    source_ip: 'text | null',
    idle_s: 'float8',
    max_s: 'float8',
  },
  `insert into web_sessions as w (id, user_id, token_hash, id_token_sealed, auth_time, user_agent, source_ip, last_seen_at, idle_expires_at, expires_at)
   select :id, :user_id, :token_hash, :id_token_sealed, :auth_time, :user_agent, :source_ip, t.at,
     t.at + make_interval(secs => least(:idle_s, :max_s)), t.at + make_interval(secs => :max_s)
   from (select clock_timestamp() as at) t
   on conflict (id) do update set token_hash = excluded.token_hash, id_token_sealed = excluded.id_token_sealed,
     auth_time = excluded.auth_time, user_agent = excluded.user_agent, source_ip = excluded.source_ip, last_seen_at = excluded.last_seen_at,
     idle_expires_at = excluded.idle_expires_at, expires_at = excluded.expires_at
   where w.user_id = excluded.user_id`,
);

/** A sign-in over this id: its previous cookie becomes invalid, and its open streams continue. */
export const putWebSession = async (tx: Tx, row: NewWebSession): Promise<void> => {
  await PUT_WEB_SESSION.query(tx, row);
};

/** Newest first; only valid ones. */
export const listWebSessions = async (
  reader: Reader,
  userId: string,
  page: Readonly<{ after: string | null; limit: number }>,
): Promise<WebSessionRow[]> =>
  (
    await reader.query<WebSessionRow>(
      `select id, user_agent, source_ip, created_at, last_seen_at, expires_at from web_sessions
       where user_id = $1 and idle_expires_at > clock_timestamp() and ($2::text is null or id < $2) order by id desc limit $3`,
      [userId, page.after, page.limit],
    )
  ).rows;

export const deleteWebSession = async (tx: Tx, userId: string, id: string): Promise<boolean> =>
  (await tx.query('delete from web_sessions where user_id = $1 and id = $2', [userId, id])).rowCount === 1;

/** Deletes all but the user's most recently used ones; returns the deleted. */
export const deleteOldestWebSessions = async (tx: Tx, userId: string, keep: number): Promise<string[]> =>
  (
    await tx.query<{ id: string }>(
      `delete from web_sessions where id in (
         select id from web_sessions where user_id = $1 order by last_seen_at desc, id desc offset $2)
       returning id`,
      [userId, keep],
    )
  ).rows.map(({ id }) => id);

/** To the minute, as other last uses: at most one write per session and minute. */
export const touchWebSession = (tx: Tx, id: string, idleS: number) =>
  tx.query(
    `update web_sessions set last_seen_at = clock_timestamp(),
       idle_expires_at = least(expires_at, clock_timestamp() + make_interval(secs => $2))
     where id = $1 and last_seen_at < clock_timestamp() - interval '1 minute'`,
    [id, idleS],
  );

/**
 * An idle-expired session is invalid but stays until its maximum duration: a VM session that it opened reads from the
 * row whether the browser was signed out or only idle.
 */
export const deleteOverWebSessions = async (tx: Tx, limit: number): Promise<number> =>
  (
    await tx.query(
      `with old as materialized (
         select id from web_sessions where idle_expires_at < now() and expires_at < now()
         order by idle_expires_at limit $1 for update skip locked)
       delete from web_sessions w using old where w.id = old.id`,
      [limit],
    )
  ).rowCount;
