/** Finding work: due runs of the workflows this process knows, and overdue runs that no process knows. */
import { type Database, PLATFORM } from '../../db/client.ts';
import { type ClaimedRun, claimRuns, insertStep } from '../../db/workflow.ts';
import { abandonUnknownRuns } from '../../db/workflow-run.ts';
import type { Registry } from './registry.ts';
import { tellRunChanged } from './run.ts';

/** A run that is found `running` was left by a worker that stopped reporting: that attempt gets its line as an error. */
export const claim = (
  database: Database,
  registry: Registry,
  claimant: Readonly<{ limit: number; owner: string; lease_ms: number }>,
): Promise<ClaimedRun[]> =>
  database.write(PLATFORM, async (tx) => {
    const runs = await claimRuns(tx, { keys: registry.keys, ...claimant });
    for (const run of runs) {
      if (run.from_state !== 'running') continue;
      const place = { id: run.id, organization_id: run.organization_id, sequence: run.step_count };
      tx.defer(
        insertStep(
          tx,
          { ...place, started_at: run.from_started_at },
          {
            step: run.step,
            attempt: run.attempt - 1,
            outcome: 'error',
            detail: 'The worker stopped reporting.',
            internal_detail: `worker ${run.from_owner ?? 'unknown'} stopped reporting`,
          },
        ),
      );
    }
    return runs;
  });

/** How many runs were ended as stuck because their version runs nowhere any more. */
export const sweepUnknownRuns = (database: Database, registry: Registry, graceMs: number): Promise<number> =>
  database.write(PLATFORM, async (tx) => {
    const known = registry.keys.map(({ workflow, version }) => ({ workflow, version }));
    const runs = await abandonUnknownRuns(tx, known, graceMs);
    for (const run of runs) {
      const place = { id: run.id, organization_id: run.organization_id, sequence: run.step_count, started_at: null };
      const entry = { step: run.step, attempt: run.attempt, detail: run.state_reason, internal_detail: null };
      tx.defer(insertStep(tx, place, { ...entry, outcome: 'stuck' }));
      tellRunChanged(tx, run);
    }
    return runs.length;
  });
