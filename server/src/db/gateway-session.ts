/** What decides whether a ticket opens a session and whether a session may continue. */
import { ACCESS_DEFAULTS } from './access-policy.ts';
import type { Reader } from './client.ts';
import type { SessionEnd } from './terminal-session.ts';
import type {
  Allocations,
  ApiTokens,
  NodeTasks,
  ProjectMemberships,
  TenantMemberships,
  TerminalSessions,
} from './types.gen.ts';

export type TicketRefusal = 'replayed' | 'expired' | 'unknown';

/** Why a ticket was refused. A long-expired ticket is as unknown as an invented one. */
export const findTicketRefusal = async (reader: Reader, ticketHash: Buffer): Promise<TicketRefusal> =>
  (
    await reader.query<{ refusal: TicketRefusal }>(
      `select case when used_ticket_hash = $1 then 'replayed' else 'expired' end as refusal
       from terminal_sessions where used_ticket_hash = $1 or ticket_hash = $1 limit 1`,
      [ticketHash],
    )
  ).rows[0]?.refusal ?? 'unknown';

/** Everything that decides whether a session may continue. The database's clock decides expiry. */
export type SessionAccessRow = Readonly<
  Pick<
    TerminalSessions,
    | 'id'
    | 'state'
    | 'end_message'
    | 'kind'
    | 'is_writable'
    | 'is_recorded'
    | 'principal_id'
    | 'principal_kind'
    | 'close_requested_by'
  > & {
    /** Of a closed one. */
    end_reason: SessionEnd['reason'] | null;
    allocation_state: Allocations['state'];
    power_state: Allocations['power_state'];
    is_account_good: boolean;
    tenant_role: TenantMemberships['role'] | null;
    project_role: ProjectMemberships['role'] | null;
    is_token_good: boolean;
    /** The web session that opened it was signed out; an idle or expired one is a sign-in that ended. */
    is_signed_out: boolean;
    /** Null for a sign-in. */
    token_scopes: ApiTokens['scopes'] | null;
    is_token_elsewhere: boolean;
    is_sign_in_over: boolean;
    allows_service_accounts: boolean;
    requires_recording: boolean;
    project_requires_recording: boolean;
    is_over: boolean;
    session_idle_s: number;
    task_state: NodeTasks['state'] | null;
    task_reason: NodeTasks['state_reason'];
    is_node_offline: boolean;
  }
>;

export const listSessionAccess = async (reader: Reader, ids: readonly string[]): Promise<SessionAccessRow[]> =>
  (
    await reader.query<SessionAccessRow>(
      `select s.id, s.state, s.end_reason, s.end_message, s.kind, s.is_writable, s.is_recorded, s.principal_id, s.principal_kind, s.close_requested_by,
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
         coalesce(p.requires_recording, false) as requires_recording, pr.requires_recording as project_requires_recording,
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
