/**
 * Sessions as the gateways see them. A ticket is used up by the statement that finds it, so of two who show it one gets the
 * session. A row says which replica has its client, and when that replica last said so.
 */
import type { ProjectRole, TenantRole } from '@gpuaas/contract';
import type { SessionEndReason, SessionKind } from '@gpuaas/contract/stream';
import { REASONS } from '../domain/reasons.ts';
import { ACCESS_DEFAULTS } from './access-policy.ts';
import type { AllocationState } from './allocation.ts';
import type { Reader, Tx } from './client.ts';
import type { NodeTaskState } from './node-task.ts';
import type { PowerState } from './power.ts';

export type GatewaySessionRow = Readonly<{
  id: string;
  organization_id: string;
  project_id: string;
  allocation_id: string;
  node_id: string;
  capacity_shape: 'baremetal' | 'gpu_slice';
  kind: SessionKind;
  port: number | null;
  cols: number;
  rows: number;
  is_writable: boolean;
  is_recorded: boolean;
  principal_id: string;
  principal_kind: 'user' | 'service_account';
  principal_name: string;
  source_ip: string | null;
  correlation_id: string;
  expires_at: string;
}>;

const SESSION = `s.id, s.organization_id, s.project_id, s.allocation_id, s.node_id, s.kind, s.port, s.cols, s.rows, s.is_writable,
  s.is_recorded, s.principal_id, s.principal_kind, s.principal_name, s.source_ip, s.correlation_id, s.expires_at`;

/** Undefined for a ticket that is none, was used or is too old. */
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
       returning ${SESSION}, a.capacity_shape`,
      [take.ticket_hash, take.gateway_url, take.source_ip],
    )
  ).rows[0];

export type TicketRefusal = 'replayed' | 'expired' | 'unknown';

/** Why a ticket was not taken. One that is long gone is as unknown as one that never was. */
export const findTicketRefusal = async (reader: Reader, ticketHash: Buffer): Promise<TicketRefusal> =>
  (
    await reader.query<{ refusal: TicketRefusal }>(
      `select case when used_ticket_hash = $1 then 'replayed' else 'expired' end as refusal
       from terminal_sessions where used_ticket_hash = $1 or ticket_hash = $1 limit 1`,
      [ticketHash],
    )
  ).rows[0]?.refusal ?? 'unknown';

/** The task by which the host comes to the session. */
export const putSessionTask = async (tx: Tx, sessionId: string, taskId: string): Promise<void> => {
  await tx.query('update terminal_sessions set task_id = $2 where id = $1', [sessionId, taskId]);
};

/** What no host has begun is not begun any more: nobody waits for it. */
export const cancelStreamTask = async (tx: Tx, sessionId: string): Promise<void> => {
  await tx.query(
    `update node_tasks t set state = 'cancelled', state_reason = $2, finished_at = clock_timestamp()
     from terminal_sessions s where s.id = $1 and t.id = s.task_id and t.state = 'queued'`,
    [sessionId, REASONS.session_over],
  );
};

/** Both ends have met. */
export const moveSessionOpen = async (tx: Tx, ids: readonly string[]): Promise<void> => {
  await tx.query(
    "update terminal_sessions set state = 'open', opened_at = clock_timestamp() where id = any ($1) and state = 'opening'",
    [ids],
  );
};

export type SessionEnd = Readonly<{ reason: SessionEndReason; message: string }>;

export type ClosedSessionRow = GatewaySessionRow &
  Readonly<{ bytes_in: number; bytes_out: number; opened_at: string | null; close_requested_by: string | null }>;

const CLOSED = `${SESSION}, a.capacity_shape, s.bytes_in, s.bytes_out, s.opened_at, s.close_requested_by`;

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
       from allocations a where a.id = s.allocation_id and s.id = $1 and s.state in ('opening', 'open') returning ${CLOSED}`,
      [id, end.reason, end.message, end.bytes_in, end.bytes_out],
    )
  ).rows[0];

/** What a replica left behind that has not said for so long that it has them. */
export const closeAbandonedSessions = async (
  tx: Tx,
  end: SessionEnd & Readonly<{ unseen_s: number; limit: number }>,
): Promise<ClosedSessionRow[]> =>
  (
    await tx.query<ClosedSessionRow>(
      `with left_behind as materialized (
         select id from terminal_sessions where state in ('opening', 'open')
           and gateway_seen_at < clock_timestamp() - make_interval(secs => $3)
         order by id limit $4 for update skip locked)
       update terminal_sessions s set state = 'closed', closed_at = clock_timestamp(), end_reason = $1, end_message = $2
       from left_behind l, allocations a where s.id = l.id and a.id = s.allocation_id returning ${CLOSED}`,
      [end.reason, end.message, end.unseen_s, end.limit],
    )
  ).rows;

export type SessionCount = Readonly<{ id: string; bytes_in: number; bytes_out: number }>;

/** The replica says that it has them, and what went through. */
export const noteSessions = async (tx: Tx, counts: readonly SessionCount[]): Promise<void> => {
  await tx.query(
    `update terminal_sessions s set gateway_seen_at = clock_timestamp(), bytes_in = c.bytes_in, bytes_out = c.bytes_out
     from unnest($1::text[], $2::bigint[], $3::bigint[]) as c (id, bytes_in, bytes_out)
     where s.id = c.id and s.state in ('opening', 'open')`,
    [counts.map((one) => one.id), counts.map((one) => one.bytes_in), counts.map((one) => one.bytes_out)],
  );
};

/** Everything that decides whether a session may go on. The database's clock decides what is over. */
export type SessionStandingRow = Readonly<{
  id: string;
  state: 'ticketed' | 'opening' | 'open' | 'closed';
  kind: SessionKind;
  is_writable: boolean;
  principal_id: string;
  principal_kind: 'user' | 'service_account';
  close_requested_by: string | null;
  allocation_state: AllocationState;
  power_state: PowerState | null;
  is_account_good: boolean;
  tenant_role: TenantRole | null;
  project_role: ProjectRole | null;
  is_token_good: boolean;
  /** The browser that opened it was signed out; one that merely went idle or came to its end is a sign-in that is over. */
  is_signed_out: boolean;
  /** Null for a sign-in. */
  token_scopes: readonly string[] | null;
  is_token_elsewhere: boolean;
  is_sign_in_over: boolean;
  allows_service_accounts: boolean;
  is_over: boolean;
  session_idle_s: number;
  task_state: NodeTaskState | null;
  task_reason: string | null;
  is_node_offline: boolean;
}>;

export const listSessionStandings = async (reader: Reader, ids: readonly string[]): Promise<SessionStandingRow[]> =>
  (
    await reader.query<SessionStandingRow>(
      `select s.id, s.state, s.kind, s.is_writable, s.principal_id, s.principal_kind, s.close_requested_by,
         a.state as allocation_state, a.power_state,
         pr.deleted_at is null and case s.principal_kind when 'user' then coalesce(u.state = 'active', false)
           else coalesce(v.state = 'enabled' and v.deleted_at is null and v.project_id = s.project_id, false) end as is_account_good,
         m.role as tenant_role, pm.role as project_role,
         s.credential_id is null or s.credential_id like 'wse\\_%'
           or coalesce(t.revoked_at is null and t.expires_at > clock_timestamp(), false) as is_token_good,
         coalesce(s.credential_id like 'wse\\_%', false) and w.id is null
           and coalesce(s.credential_expires_at > clock_timestamp(), true) as is_signed_out,
         t.scopes as token_scopes, coalesce(t.project_id <> s.project_id, false) as is_token_elsewhere,
         coalesce(p.ends_with_sign_in, false) and (s.credential_id is null or s.credential_id like 'wse\\_%')
           and coalesce(coalesce(w.idle_expires_at, s.credential_expires_at) <= clock_timestamp(), false) as is_sign_in_over,
         coalesce(p.allows_service_accounts, false) as allows_service_accounts,
         least(s.expires_at, s.created_at + make_interval(secs => coalesce(p.session_max_s, $2))) <= clock_timestamp() as is_over,
         coalesce(p.session_idle_s, $3) as session_idle_s,
         k.state as task_state, k.state_reason as task_reason, n.state = 'offline' as is_node_offline
       from terminal_sessions s join allocations a on a.id = s.allocation_id join nodes n on n.id = s.node_id
         join projects pr on pr.id = s.project_id
         left join users u on s.principal_kind = 'user' and u.id = s.principal_id
         left join service_accounts v on s.principal_kind = 'service_account' and v.id = s.principal_id
         left join tenant_memberships m on m.organization_id = s.organization_id and m.user_id = u.id
         left join project_memberships pm on pm.project_id = s.project_id and pm.user_id = u.id
         left join api_tokens t on t.id = s.credential_id
         left join web_sessions w on w.id = s.credential_id
         left join access_policies p on p.organization_id = s.organization_id
         left join node_tasks k on k.id = s.task_id
       where s.id = any ($1)`,
      [ids, ACCESS_DEFAULTS.session_max_s, ACCESS_DEFAULTS.session_idle_s],
    )
  ).rows;

export const insertRecordingPart = async (
  tx: Tx,
  part: Readonly<{ session_id: string; organization_id: string; part: number; content: Buffer }>,
): Promise<void> => {
  await tx.query(
    `insert into terminal_recordings (session_id, part, organization_id, content, keep_until)
     values ($1, $2, $3, $4, clock_timestamp() + make_interval(days => coalesce(
       (select recording_days from access_policies where organization_id = $3), $5)))`,
    [part.session_id, part.part, part.organization_id, part.content, ACCESS_DEFAULTS.recording_days],
  );
};
