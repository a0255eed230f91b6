/** Rows that have outlived their use, removed in batches small enough never to hold anyone up. Each says how many went. */
import type { Tx } from './client.ts';

export const OUTBOX_KEEP_DAYS = 7;

/** Unsent events are kept whatever their age. */
export const deleteOldEvents = async (tx: Tx, limit: number): Promise<number> =>
  (
    await tx.query(
      `with old as materialized (
         select id from outbox_events
         where created_at < now() - make_interval(days => $1) and sent_at is not null
         order by created_at limit $2 for update skip locked)
       delete from outbox_events e using old where e.id = old.id`,
      [OUTBOX_KEEP_DAYS, limit],
    )
  ).rowCount;

export const deleteExpiredIdempotencyKeys = async (tx: Tx, limit: number): Promise<number> =>
  (
    await tx.query(
      `with old as materialized (
         select tenant, principal_id, operation, key from idempotency_keys
         where expires_at < now() order by expires_at limit $1 for update skip locked)
       delete from idempotency_keys k using old
       where (k.tenant, k.principal_id, k.operation, k.key) = (old.tenant, old.principal_id, old.operation, old.key)`,
      [limit],
    )
  ).rowCount;

/**
 * What a tenant gave to a guest that is no more: its user data may hold secrets, which neither we nor the tasks that carried
 * it have any use for after the end.
 */
export const deleteEndedUserData = async (tx: Tx, limit: number): Promise<number> =>
  (
    await tx.query(
      `with ended as materialized (
         select u.allocation_id from allocation_user_data u join allocations a on a.id = u.allocation_id
         where a.state in ('released', 'failed') limit $1 for update of u skip locked),
       task as (
         update node_tasks t set params = t.params || '{"user_data": null}' from ended
         where t.allocation_id = ended.allocation_id and t.kind = 'slice.vm_start')
       delete from allocation_user_data u using ended where u.allocation_id = ended.allocation_id`,
      [limit],
    )
  ).rowCount;

/** A day's grace keeps a token that just ended readable in lists and audit look-ups. */
export const deleteExpiredAccessTokens = async (tx: Tx, limit: number): Promise<number> =>
  (
    await tx.query(
      `with old as materialized (
         select id from api_tokens where kind = 'access' and expires_at < now() - interval '1 day'
         order by expires_at limit $1 for update skip locked)
       delete from api_tokens t using old where t.id = old.id`,
      [limit],
    )
  ).rowCount;

/**
 * One that was left alone for too long lets nobody in and stays until its longest time is over: a session with a machine
 * that it opened tells by the row whether its browser was signed out or merely went idle.
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

/** The audit log says that they were given; nobody connected with them. */
export const deleteUnusedTickets = async (tx: Tx, limit: number): Promise<number> =>
  (
    await tx.query(
      `with old as materialized (
         select id from terminal_sessions where state = 'ticketed' and ticket_expires_at < now() - interval '1 hour'
         order by ticket_expires_at limit $1 for update skip locked)
       delete from terminal_sessions s using old where s.id = old.id`,
      [limit],
    )
  ).rowCount;

/** The audit log and the session say what became of them; a day's grace is for whoever looks for a fault. */
export const deleteOldStreamTasks = async (tx: Tx, limit: number): Promise<number> =>
  (
    await tx.query(
      `with old as materialized (
         select id from node_tasks where kind = 'stream.open' and finished_at < now() - interval '1 day'
         order by finished_at limit $1 for update skip locked)
       delete from node_tasks t using old where t.id = old.id`,
      [limit],
    )
  ).rowCount;

/** Nobody may change a part, so none is locked first: who comes second finds less to remove. */
export const deleteOldRecordings = async (tx: Tx, limit: number): Promise<number> =>
  (
    await tx.query(
      `with old as materialized (
         select session_id, part from terminal_recordings where keep_until < now() order by keep_until limit $1)
       delete from terminal_recordings r using old where (r.session_id, r.part) = (old.session_id, old.part)`,
      [limit],
    )
  ).rowCount;

export const SESSION_KEEP_DAYS = 90;

/** A session is kept as long as its recording is. */
export const deleteOldSessions = async (tx: Tx, limit: number): Promise<number> =>
  (
    await tx.query(
      `with old as materialized (
         select s.id from terminal_sessions s where s.closed_at < now() - make_interval(days => $1)
           and not exists (select from terminal_recordings r where r.session_id = s.id)
         order by s.closed_at limit $2 for update of s skip locked)
       delete from terminal_sessions s using old where s.id = old.id`,
      [SESSION_KEEP_DAYS, limit],
    )
  ).rowCount;
