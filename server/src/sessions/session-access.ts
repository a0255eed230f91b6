/**
 * Whether a session may continue. The rules are those of its ticket: the allocation is active, the account and the
 * token are valid, and a role still has the permission. Whatever would refuse a new ticket therefore also ends open
 * sessions.
 */
import { type Permission, type RoleName, roleHolds, scopeAllows } from '@gpuaas/contract';
import type { SessionAccessRow } from '../db/gateway-session.ts';
import type { SessionEnd } from '../db/terminal-session.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { unrecordedRefusal } from '../domain/session.ts';

/** Facts known only to the replica that carries the bytes. */
export type SessionActivity = Readonly<{
  id: string;
  /** Since the last data in either direction. */
  idle_ms: number;
  /** For how long its client has waited for the host to connect; null once it has. */
  waiting_ms: number | null;
  /** Since the host connected, while it has not reported the target as connected; null otherwise. */
  connecting_ms: number | null;
}>;

export const CONNECT_WITHIN_MS = 20_000;
const READY_WITHIN_MS = 40_000;

const rolesOf = (row: SessionAccessRow): RoleName[] => {
  if (row.principal_kind === 'service_account') return ['service_account'];
  if (row.tenant_role === null) return [];
  return [`tenant:${row.tenant_role}`, ...(row.project_role === null ? [] : [`project:${row.project_role}` as const])];
};

/** The required permission: a viewer has a read-only console. */
export const permissionOf = (row: Pick<SessionAccessRow, 'is_writable'>): Permission =>
  row.is_writable ? 'allocation.connect' : 'allocation.session.create';

export const roleOfSession = (row: SessionAccessRow): RoleName | undefined =>
  rolesOf(row).find((role) => roleHolds(role, permissionOf(row)));

const revoked = (message: string): SessionEnd => ({ reason: 'revoked', message });
const released = (message: string): SessionEnd => ({ reason: 'released', message });

const endOfAllocation = ({ kind, allocation_state, power_state }: SessionAccessRow): SessionEnd | null => {
  const isConnecting = allocation_state === 'requested' || allocation_state === 'provisioning';
  if (isConnecting && kind === 'console') return null;
  if (isConnecting) return released('The allocation is not active yet. Its console is available.');
  if (allocation_state !== 'active') return released('The allocation is being released.');
  if (power_state === 'off') return released('The VM is off. Start it and connect again.');
  if (power_state === 'reinstalling' && kind !== 'console')
    return released('The VM is being reinstalled. Connect again when it runs.');
  return null;
};

const endOfAccess = (row: SessionAccessRow): SessionEnd | null => {
  if (!row.is_account_good) return revoked('The account that opened the session is disabled or deleted.');
  if (!row.is_token_good) return revoked('The token that opened the session has expired or was revoked.');
  if (row.is_signed_out) return revoked('The browser that opened the session signed out.');
  if (row.is_sign_in_over)
    return revoked('The sign-in that opened the session has expired, and the organization requires a new one.');
  if (row.principal_kind === 'service_account' && !row.allows_service_accounts)
    return revoked('The organization does not allow service accounts to connect.');
  const required = { organization: row.requires_recording, project: row.project_requires_recording };
  const unrecorded = row.is_recorded ? null : unrecordedRefusal(required);
  if (unrecorded !== null) return revoked(unrecorded);
  const isReached = row.token_scopes === null || scopeAllows(row.token_scopes, permissionOf(row));
  if (roleOfSession(row) === undefined || row.is_token_elsewhere || !isReached)
    return revoked('The role that allowed the session was removed.');
  return null;
};

const unreachable = (row: SessionAccessRow, otherwise: string): SessionEnd => ({
  reason: 'unreachable',
  message: row.is_node_offline ? 'The host of this allocation is offline. Retry when it is back.' : otherwise,
});

const endOfWaiting = (row: SessionAccessRow, look: SessionActivity): SessionEnd | null => {
  if (look.waiting_ms !== null) {
    if (row.task_state === 'failed') return unreachable(row, 'The agent could not open the connection. Retry.');
    if (['expired', 'unknown', 'cancelled'].includes(row.task_state ?? '') || look.waiting_ms >= CONNECT_WITHIN_MS)
      return unreachable(row, 'The agent did not respond in time. Retry shortly.');
  }
  if (look.connecting_ms !== null && look.connecting_ms >= READY_WITHIN_MS)
    return unreachable(row, 'The VM did not respond in time. Its console may show the cause.');
  return null;
};

/** Its row is gone. */
export const LOST: SessionEnd = {
  reason: 'gateway_stopped',
  message: 'The gateway lost the session. Open a new one.',
};

export const endOf = (row: SessionAccessRow, look: SessionActivity | null): SessionEnd | null => {
  // By another replica, which considered it abandoned, or by the start of a restore.
  if (row.state === 'closed')
    return row.end_reason === null ? LOST : { reason: row.end_reason, message: row.end_message ?? LOST.message };
  if (row.close_requested_by !== null) {
    const isOwn = row.close_requested_by === row.principal_id;
    return {
      reason: 'ended',
      message: isOwn ? REFUSALS.session_ended_elsewhere : REFUSALS.session_ended_by_admin,
    };
  }
  const end = endOfAllocation(row) ?? endOfAccess(row);
  if (end !== null) return end;
  if (row.is_over)
    return { reason: 'expired', message: 'The session reached its maximum duration. Open a new one to continue.' };
  if (look === null) return null;
  if (look.idle_ms >= row.session_idle_s * 1000) {
    const minutes = Math.round(row.session_idle_s / 60);
    const time = minutes === 1 ? '1 minute' : `${minutes} minutes`;
    return { reason: 'idle', message: `The session was idle for ${time}. Open a new one to continue.` };
  }
  return endOfWaiting(row, look);
};

/** Why its VM is gone, even where the session could have continued until then. */
export const disconnectReason = (row: SessionAccessRow, look: SessionActivity): SessionEnd | null => {
  const end = endOf(row, look);
  if (end !== null) return end;
  if (row.power_state === 'stopping') return released('The VM is being stopped.');
  if (row.power_state === 'rebooting')
    return { reason: 'ended', message: 'The VM is rebooting. Connect again when it is up.' };
  return null;
};
