/**
 * Releases allocations whose maximum duration is over. Each in a transaction of its own, with an audit row in the
 * tenant's chain: nobody asked, so the system is the actor. What is protected stays until its protection is taken off.
 */

import { findAllocation } from '../db/allocation.ts';
import { insertAuditLog } from '../db/audit.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { listDueAllocations } from '../db/lifecycle.ts';

const BATCH_ROWS = 100;
export const DUE_REASON = 'Its maximum duration is over.';

export type ReleaseDueDeps = Readonly<{
  database: Database;
  /** Accepts a release within the transaction. */
  release(tx: Tx, allocationId: string, reason: string): Promise<void>;
}>;

/** How many were released. */
export const releaseDue = async (deps: ReleaseDueDeps, signal?: AbortSignal): Promise<number> => {
  const ids = await deps.database.read(PLATFORM, (reader) => listDueAllocations(reader, BATCH_ROWS));
  let released = 0;
  for (const id of ids) {
    if (signal?.aborted) break;
    await deps.database.write(PLATFORM, async (tx) => {
      const row = await findAllocation(tx, id);
      // Released by its owner, prolonged or protected since it was read.
      const isDue = row?.state === 'active' && !row.is_protected && row.release_at !== null;
      if (row === undefined || !isDue) return;
      await deps.release(tx, id, DUE_REASON);
      tx.defer(
        insertAuditLog(tx, {
          organization_id: row.organization_id,
          project_id: row.project_id,
          actor_kind: 'system',
          actor_id: null,
          actor_role: null,
          source_ip: null,
          user_agent: null,
          action: 'allocation.release',
          target_kind: 'allocation',
          target_id: id,
          result: 'success',
          error_code: null,
          policy: 'maximum duration',
          correlation_id: row.correlation_id,
          metadata: { release_at: row.release_at },
        }),
      );
      released += 1;
    });
  }
  return released;
};
