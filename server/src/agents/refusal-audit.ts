/** Audits refused requests to the node API, once per address and interval instead of once per request. */
import type { Log } from '@gpuaas/kit';
import { insertAuditLog } from '../db/audit.ts';
import { type Database, PLATFORM } from '../db/client.ts';

/** The sender of a request to the node API, for the audit row. */
export type Caller = Readonly<{ correlation_id: string; source_ip: string; user_agent: string }>;

export type NodeRefusal = Readonly<{
  /** The node in the path. */
  node_id: string | null;
  /** The node named by the certificate, if the certificate is valid. */
  peer_node_id: string | null;
  operation: string;
  policy: string;
}>;

export const auditNodeRefusal = async (
  deps: Readonly<{ database: Database; log: Log }>,
  caller: Caller,
  refusal: NodeRefusal,
): Promise<void> => {
  try {
    await deps.database.write(PLATFORM, (tx) =>
      insertAuditLog(tx, {
        organization_id: null,
        project_id: null,
        actor_kind: 'anonymous',
        actor_id: refusal.peer_node_id,
        actor_role: null,
        source_ip: caller.source_ip,
        user_agent: caller.user_agent,
        action: 'node.connect',
        target_kind: 'node',
        target_id: refusal.node_id,
        result: 'denied',
        error_code: 'permission_denied',
        policy: refusal.policy,
        correlation_id: caller.correlation_id,
        metadata: { operation: refusal.operation },
      }),
    );
  } catch (err) {
    deps.log.error({ err, correlation_id: caller.correlation_id }, 'failed to audit refused agent');
  }
};
