/** Sessions as their project sees them, from the ticket to what is left of them. The gateway moves them in between. */
import type { SESSION_STATES } from '@gpuaas/contract';
import type { SessionEndReason, SessionKind } from '@gpuaas/contract/stream';
import type { Reader, Tx } from './client.ts';
import { statement } from './statement.ts';

export type SessionRow = Readonly<{
  id: string;
  allocation_id: string;
  kind: SessionKind;
  port: number | null;
  state: (typeof SESSION_STATES)[number];
  is_writable: boolean;
  is_recorded: boolean;
  principal_id: string;
  principal_name: string;
  source_ip: string | null;
  bytes_in: number;
  bytes_out: number;
  created_at: string;
  opened_at: string | null;
  closed_at: string | null;
  expires_at: string;
  end_reason: SessionEndReason | null;
  end_message: string | null;
  correlation_id: string;
}>;

const SESSION = `s.id, s.allocation_id, s.kind, s.port, s.state, s.is_writable, s.is_recorded, s.principal_id, s.principal_name,
  s.source_ip, s.bytes_in, s.bytes_out, s.created_at, s.opened_at, s.closed_at, s.expires_at, s.end_reason, s.end_message,
  s.correlation_id`;

/** A ticket that nobody used in time is no session. */
const IS_SESSION = "(s.state <> 'ticketed' or s.ticket_expires_at > clock_timestamp())";

export type NewSession = Readonly<{
  id: string;
  organization_id: string;
  project_id: string;
  allocation_id: string;
  node_id: string;
  kind: SessionKind;
  port: number | null;
  cols: number;
  rows: number;
  is_writable: boolean;
  is_recorded: boolean;
  principal_id: string;
  principal_kind: 'user' | 'service_account';
  principal_name: string;
  credential_id: string | null;
  credential_expires_at: string | null;
  ticket_hash: Buffer;
  ticket_s: number;
  session_max_s: number;
  /** Whether the session is over when its credential is. */
  ends_with_credential: boolean;
  correlation_id: string;
}>;

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

/** By the database's clock, as everybody reads these times. */
export const insertSession = async (
  tx: Tx,
  row: NewSession,
): Promise<Readonly<{ ticket_expires_at: string; expires_at: string }> | undefined> =>
  (await INSERT_SESSION.query<{ ticket_expires_at: string; expires_at: string }>(tx, row)).rows[0];

/** Those of an allocation that are not over, tickets that are still good included. */
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
 * Somebody wants it over: the gateway that has it ends it. One that nobody opened yet is over at once, and its ticket with it.
 * False when it is over already.
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

/** Parts of a recording in their order, after the one that was read last. */
export const listRecordingParts = async (
  reader: Reader,
  sessionId: string,
  page: Readonly<{ after: number; limit: number }>,
): Promise<Readonly<{ part: number; content: Buffer }>[]> =>
  (
    await reader.query<{ part: number; content: Buffer }>(
      `select r.part, r.content from terminal_recordings r where r.session_id = $1 and r.part > $2 and r.keep_until > clock_timestamp()
       order by r.part limit $3`,
      [sessionId, page.after, page.limit],
    )
  ).rows;
