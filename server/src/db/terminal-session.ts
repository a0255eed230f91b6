/**
 * Sessions, from the ticket to the closed row. A ticket is used up by the statement that finds it, so of two clients
 * that present it one gets the session. A row states which gateway replica has its client, and when that replica last
 * reported it.
 */
import type { SessionEndReason } from '@gpuaas/contract/stream';
import type { Reader, Tx } from './client.ts';
import { SESSION_LIVE } from './predicates.ts';
import { statement } from './statement.ts';
import type { TerminalSessions } from './types.gen.ts';

export type SessionRow = Readonly<
  Pick<
    TerminalSessions,
    | 'id'
    | 'allocation_id'
    | 'kind'
    | 'port'
    | 'state'
    | 'is_writable'
    | 'is_recorded'
    | 'principal_id'
    | 'principal_name'
    | 'source_ip'
    | 'bytes_in'
    | 'bytes_out'
    | 'created_at'
    | 'opened_at'
    | 'closed_at'
    | 'expires_at'
    | 'end_message'
    | 'correlation_id'
  > & {
    end_reason: SessionEndReason | null;
  }
>;

const SESSION = `s.id, s.allocation_id, s.kind, s.port, s.state, s.is_writable, s.is_recorded, s.principal_id, s.principal_name,
  s.source_ip, s.bytes_in, s.bytes_out, s.created_at, s.opened_at, s.closed_at, s.expires_at, s.end_reason, s.end_message,
  s.correlation_id`;

/** An expired unused ticket is not a session. */
export const IS_SESSION = "(s.state <> 'ticketed' or s.ticket_expires_at > clock_timestamp())";

/** The facts that open a session, and the information for its gateway. */
type SessionOpening =
  | 'id'
  | 'organization_id'
  | 'project_id'
  | 'allocation_id'
  | 'node_id'
  | 'kind'
  | 'port'
  | 'cols'
  | 'rows'
  | 'is_writable'
  | 'is_recorded'
  | 'principal_id'
  | 'principal_kind'
  | 'principal_name'
  | 'correlation_id';

export type NewSession = Readonly<
  Pick<TerminalSessions, SessionOpening | 'credential_id' | 'credential_expires_at'> & {
    ticket_hash: Buffer;
    ticket_s: number;
    session_max_s: number;
    /** Whether the session ends with its credential. */
    ends_with_credential: boolean;
  }
>;

const INSERT_SESSION = statement(
  {
    id: 'text',
    organization_id: 'text',
    project_id: 'text',
    allocation_id: 'text',
    node_id: 'text',
    kind: 'text',
    port: 'integer | null',
    cols: 'integer',
    rows: 'integer',
    is_writable: 'boolean',
    is_recorded: 'boolean',
    principal_id: 'text',
    principal_kind: 'text',
    principal_name: 'text',
    credential_id: 'text | null',
    credential_expires_at: 'timestamptz | null',
    ticket_hash: 'bytea | null',
    ticket_s: 'float8',
    session_max_s: 'float8',
    ends_with_credential: 'boolean',
    correlation_id: 'text',
  },
  `insert into terminal_sessions (id, organization_id, project_id, allocation_id, node_id, kind, port, cols, rows, is_writable,
     is_recorded, principal_id, principal_kind, principal_name, credential_id, credential_expires_at, ticket_hash,
     ticket_expires_at, expires_at, correlation_id)
   select :id, :organization_id, :project_id, :allocation_id, :node_id, :kind, :port, :cols, :rows, :is_writable, :is_recorded,
     :principal_id, :principal_kind, :principal_name, :credential_id, :credential_expires_at, :ticket_hash,
     t.at + make_interval(secs => :ticket_s),
     least(t.at + make_interval(secs => :session_max_s), case when :ends_with_credential then :credential_expires_at end), :correlation_id
   from (select clock_timestamp() as at) t returning ticket_expires_at, expires_at`,
);

/** By the database's clock, as for every reader of these times. */
export const insertSession = async (
  tx: Tx,
  row: NewSession,
): Promise<Readonly<{ ticket_expires_at: string; expires_at: string }> | undefined> =>
  (await INSERT_SESSION.query<{ ticket_expires_at: string; expires_at: string }>(tx, row)).rows[0];

/** Those of an allocation that have not ended, including valid tickets. */
export const countLiveSessions = async (reader: Reader, allocationId: string): Promise<number> =>
  (
    await reader.query<{ count: number }>(
      `select count(*) as count from terminal_sessions s where s.allocation_id = $1 and s.state <> 'closed' and ${IS_SESSION}`,
      [allocationId],
    )
  ).rows[0]?.count ?? 0;

/** Newest first. */
export const listSessions = async (
  reader: Reader,
  allocationId: string,
  page: Readonly<{ before: string | null; limit: number }>,
): Promise<SessionRow[]> =>
  (
    await reader.query<SessionRow>(
      `select ${SESSION} from terminal_sessions s where s.allocation_id = $1 and ($2::text is null or s.id < $2) and ${IS_SESSION}
       order by s.id desc limit $3`,
      [allocationId, page.before, page.limit],
    )
  ).rows;

type Named = Readonly<{ project_id: string; allocation_id: string; id: string }>;

export const findSession = async (reader: Reader, named: Named): Promise<SessionRow | undefined> =>
  (
    await reader.query<SessionRow>(
      `select ${SESSION} from terminal_sessions s where s.project_id = $1 and s.allocation_id = $2 and s.id = $3`,
      [named.project_id, named.allocation_id, named.id],
    )
  ).rows[0];

/**
 * Requests the end: the gateway that has it ends it. An unopened one ends immediately, with its ticket. False when it
 * has ended already.
 */
export const endSession = async (
  tx: Tx,
  id: string,
  end: Readonly<{ by: string; reason: SessionEndReason; message: string }>,
): Promise<boolean> =>
  (
    await tx.query(
      `update terminal_sessions s set close_requested_by = coalesce(s.close_requested_by, $2),
         ticket_hash = null, state = case when s.state = 'ticketed' then 'closed' else s.state end,
         closed_at = case when s.state = 'ticketed' then clock_timestamp() end,
         end_reason = case when s.state = 'ticketed' then $3 end, end_message = case when s.state = 'ticketed' then $4 end
       where s.id = $1 and s.state <> 'closed'`,
      [id, end.by, end.reason, end.message],
    )
  ).rowCount === 1;

export type GatewaySessionRow = Readonly<
  Pick<TerminalSessions, SessionOpening | 'source_ip' | 'expires_at'> & {
    capacity_shape: 'baremetal' | 'gpu_slice';
  }
>;

const GATEWAY_SESSION = `s.id, s.organization_id, s.project_id, s.allocation_id, s.node_id, s.kind, s.port, s.cols, s.rows, s.is_writable,
  s.is_recorded, s.principal_id, s.principal_kind, s.principal_name, s.source_ip, s.correlation_id, s.expires_at`;

/** Undefined for an unknown, used or expired ticket. */
export const takeTicket = async (
  tx: Tx,
  take: Readonly<{ ticket_hash: Buffer; gateway_url: string; source_ip: string }>,
): Promise<GatewaySessionRow | undefined> =>
  (
    await tx.query<GatewaySessionRow>(
      `update terminal_sessions s set state = 'opening', ticket_hash = null, used_ticket_hash = s.ticket_hash,
         gateway_url = $2, gateway_seen_at = clock_timestamp(), source_ip = $3
       from allocations a where a.id = s.allocation_id
         and s.ticket_hash = $1 and s.state = 'ticketed' and s.ticket_expires_at > clock_timestamp()
       returning ${GATEWAY_SESSION}, a.capacity_shape`,
      [take.ticket_hash, take.gateway_url, take.source_ip],
    )
  ).rows[0];

/** The task that calls the host to the session. */
export const putSessionTask = async (tx: Tx, sessionId: string, taskId: string): Promise<void> => {
  await tx.query('update terminal_sessions set task_id = $2 where id = $1', [sessionId, taskId]);
};

/** Both ends are connected. */
export const moveSessionOpen = async (tx: Tx, ids: readonly string[]): Promise<void> => {
  await tx.query(
    "update terminal_sessions set state = 'open', opened_at = clock_timestamp() where id = any ($1) and state = 'opening'",
    [ids],
  );
};

export type SessionEnd = Readonly<{ reason: SessionEndReason; message: string }>;

export type ClosedSessionRow = GatewaySessionRow &
  Readonly<{ bytes_in: number; bytes_out: number; opened_at: string | null; close_requested_by: string | null }>;

const CLOSED = `${GATEWAY_SESSION}, a.capacity_shape, s.bytes_in, s.bytes_out, s.opened_at, s.close_requested_by`;

/** Undefined when it was closed before. */
export const moveSessionClosed = async (
  tx: Tx,
  id: string,
  end: SessionEnd & Readonly<{ bytes_in: number; bytes_out: number }>,
): Promise<ClosedSessionRow | undefined> =>
  (
    await tx.query<ClosedSessionRow>(
      `update terminal_sessions s set state = 'closed', closed_at = clock_timestamp(), end_reason = $2, end_message = $3,
         bytes_in = $4, bytes_out = $5
       from allocations a where a.id = s.allocation_id and s.id = $1 and s.state ${SESSION_LIVE} returning ${CLOSED}`,
      [id, end.reason, end.message, end.bytes_in, end.bytes_out],
    )
  ).rows[0];

/** Sessions of a replica that has not reported them for this long. */
export const closeAbandonedSessions = async (
  tx: Tx,
  end: SessionEnd & Readonly<{ unseen_s: number; limit: number }>,
): Promise<ClosedSessionRow[]> =>
  (
    await tx.query<ClosedSessionRow>(
      `with left_behind as materialized (
         select id from terminal_sessions where state ${SESSION_LIVE}
           and gateway_seen_at < clock_timestamp() - make_interval(secs => $3)
         order by id limit $4 for update skip locked)
       update terminal_sessions s set state = 'closed', closed_at = clock_timestamp(), end_reason = $1, end_message = $2
       from left_behind l, allocations a where s.id = l.id and a.id = s.allocation_id returning ${CLOSED}`,
      [end.reason, end.message, end.unseen_s, end.limit],
    )
  ).rows;

export type SessionCount = Readonly<{ id: string; bytes_in: number; bytes_out: number }>;

/** The replica reports its sessions, and their bytes. */
export const noteSessions = async (tx: Tx, counts: readonly SessionCount[]): Promise<void> => {
  await tx.query(
    `update terminal_sessions s set gateway_seen_at = clock_timestamp(), bytes_in = c.bytes_in, bytes_out = c.bytes_out
     from unnest($1::text[], $2::bigint[], $3::bigint[]) as c (id, bytes_in, bytes_out)
     where s.id = c.id and s.state ${SESSION_LIVE}`,
    [counts.map((one) => one.id), counts.map((one) => one.bytes_in), counts.map((one) => one.bytes_out)],
  );
};

/** The audit log records that they were issued; no client connected with them. */
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
