/**
 * Releases allocations whose maximum duration has passed. Each release is its own transaction, with an audit row in the
 * tenant's chain and the system as the actor. Protected allocations stay. Each allocation is checked again once it is
 * locked; a failed release does not block the others.
 */
import { invariant } from '@gpuaas/kit';
import { findAllocation } from '../db/allocation.ts';
import { insertSystemAudit } from '../db/audit.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { type DueAllocation, listDueAllocations, lockDueAllocation } from '../db/lifecycle.ts';
import { REASONS } from '../domain/reasons.ts';
import { startRelease } from '../workflows/start-cleanup.ts';
import { eachRow } from './each-row.ts';

const BATCH_ROWS = 100;
export const DUE_REASON = REASONS.duration_passed;

export type ReleaseDueDeps = Readonly<{
  database: Database;
  /** Accepts a release within the transaction. Tests let it fail. */
  release?(tx: Tx, allocationId: string, reason: string): Promise<unknown>;
}>;

/** False when it is no longer due. */
const releaseOne = (deps: ReleaseDueDeps, id: string): Promise<boolean> =>
  deps.database.write(PLATFORM, async (tx) => {
    if (!(await lockDueAllocation(tx, id))) return false;
    const row = await findAllocation(tx, id);
    invariant(row !== undefined, `allocation ${id} is locked`);
    const release = deps.release ?? ((own, allocation_id, reason) => startRelease(own, { allocation_id, reason }));
    await release(tx, id, DUE_REASON);
    tx.defer(
      insertSystemAudit(tx, {
        organization_id: row.organization_id,
        project_id: row.project_id,
        action: 'allocation.release',
        target_kind: 'allocation',
        target_id: id,
        policy: 'maximum duration',
        correlation_id: row.correlation_id,
        metadata: { release_at: row.release_at },
      }),
    );
    return true;
  });

/** Returns how many were released. Throws after the last one if any could not be released. */
export const releaseDue = (deps: ReleaseDueDeps, signal?: AbortSignal): Promise<number> =>
  eachRow({
    list: (after: DueAllocation | undefined) =>
      deps.database.read(PLATFORM, (reader) => listDueAllocations(reader, after, BATCH_ROWS)),
    handle: ({ id }) => releaseOne(deps, id),
    failed: 'could not be released',
    signal,
  });
