/** Finds work: due runs of workflows that this process has, and overdue runs of versions that no process has. */
import { type Database, PLATFORM } from '../../db/client.ts';
import { type ClaimedRun, claimRuns } from '../../db/statements/claim-runs.ts';
import { abandonUnknownRuns } from '../../db/workflow-run.ts';
import { insertStep } from '../../db/workflow-step.ts';
import type { Registry } from './registry.ts';
import { emitRunChanged } from './run.ts';

export const claim = (
  database: Database,
  registry: Registry,
  claimant: Readonly<{ limit: number; is_idle: boolean; owner: string; lease_ms: number }>,
): Promise<ClaimedRun[]> => database.writeAtOnce(PLATFORM, (tx) => claimRuns(tx, { keys: registry.keys, ...claimant }));

/** Returns the number of runs ended as stuck because no process has their version. */
export const sweepUnknownRuns = (database: Database, registry: Registry, graceMs: number): Promise<number> =>
  database.write(PLATFORM, async (tx) => {
    const runs = await abandonUnknownRuns(tx, registry.keys, graceMs);
    for (const run of runs) {
      const place = { id: run.id, organization_id: run.organization_id, sequence: run.step_count, started_at: null };
      const entry = { step: run.step, attempt: run.attempt, detail: run.state_reason, internal_detail: null };
      tx.defer(insertStep(tx, place, { ...entry, outcome: 'stuck' }));
      emitRunChanged(tx, run);
    }
    return runs.length;
  });
