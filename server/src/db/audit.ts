/**
 * Audit rows are written in the transaction of the change, unhashed, so that writers never wait for each other; the
 * sealer chains them afterwards in commit order. Nothing here updates or deletes: the table refuses both.
 */
import { mintId } from '@gpuaas/kit';
import type { Tx } from './client.ts';

export type AuditRow = Readonly<{
  organization_id: string | null;
  project_id: string | null;
  actor_kind: 'user' | 'service_account' | 'system' | 'anonymous';
  actor_id: string | null;
  actor_role: string | null;
  source_ip: string | null;
  user_agent: string | null;
  action: string;
  target_kind: string | null;
  target_id: string | null;
  result: 'success' | 'failure' | 'denied';
  error_code: string | null;
  policy: string;
  correlation_id: string;
  metadata: Readonly<Record<string, unknown>>;
}>;

export const insertAuditLog = async (tx: Tx, row: AuditRow): Promise<void> => {
  await tx.query(
    `insert into audit_logs (id, organization_id, project_id, actor_kind, actor_id, actor_role, source_ip, user_agent,
       action, target_kind, target_id, result, error_code, policy, correlation_id, metadata)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
    [
      mintId('aud'),
      row.organization_id,
      row.project_id,
      row.actor_kind,
      row.actor_id,
      row.actor_role,
      row.source_ip,
      row.user_agent,
      row.action,
      row.target_kind,
      row.target_id,
      row.result,
      row.error_code,
      row.policy,
      row.correlation_id,
      JSON.stringify(row.metadata),
    ],
  );
};
