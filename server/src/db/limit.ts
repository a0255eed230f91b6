/**
 * Counts towards the limits of the contract. A limit is locked for the rest of the transaction before it is counted, so
 * that two simultaneous requests cannot both add the last row.
 */
import type { CountedLimit } from '@gpuaas/contract';
import type { Reader, Tx } from './client.ts';
import { IS_SESSION } from './terminal-session.ts';

/** Rows of the organization or the user `$1`. */
const COUNTED: Readonly<Record<CountedLimit, string>> = {
  sessions: `terminal_sessions s where s.organization_id = $1 and s.closed_at is null and ${IS_SESSION}`,
  recordings: `terminal_sessions s where s.organization_id = $1 and s.is_recorded and (s.closed_at is null and ${IS_SESSION}
    or exists (select from terminal_recordings r where r.session_id = s.id and r.part = 0 and r.keep_until > clock_timestamp()))`,
  projects: 'projects where organization_id = $1 and deleted_at is null',
  service_accounts: 'service_accounts where organization_id = $1 and deleted_at is null',
  service_account_tokens:
    'api_tokens where organization_id = $1 and revoked_at is null and expires_at > clock_timestamp()',
  members: 'tenant_memberships where organization_id = $1',
  invitations: "invitations where organization_id = $1 and state = 'pending' and expires_at > clock_timestamp()",
  quota_requests: `quota_requests where organization_id = $1
    and (state = 'open' or created_at > clock_timestamp() - interval '24 hours')`,
  organizations: "organizations where created_by = $1 and kind = 'enterprise'",
  personal_tokens: 'api_tokens where user_id = $1 and revoked_at is null and expires_at > clock_timestamp()',
  ssh_keys: 'ssh_keys where user_id = $1',
};

export const countTowards = async (reader: Reader, limit: CountedLimit, id: string): Promise<number> =>
  (await reader.query<{ count: number }>(`select count(*) as count from ${COUNTED[limit]}`, [id])).rows[0]?.count ?? 0;

/** Waits for the transactions that hold the same limit of the same organization or user. */
export const holdLimit = async (tx: Tx, limit: CountedLimit, id: string): Promise<void> => {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`limit ${limit} ${id}`]);
};
