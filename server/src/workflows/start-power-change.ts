/**
 * Starts a power change in one transaction: the new state, its event and the run. The allocation is locked and only a
 * final state can be left, so there is one change at a time. A change always gets a new run: a live run that an
 * operator retried is about to find that the power no longer belongs to it, and would leave this change undone.
 */
import { type AllocationRow, lockAllocation, movePower } from '../db/allocation.ts';
import type { Tx } from '../db/client.ts';
import { POWER_DURING, type PowerChange, powerSourcesOf } from '../domain/power.ts';
import { conflict, notFound } from '../errors.ts';
import { startNewRun } from './engine/run.ts';
import { emitPower } from './finish-power-change.ts';
import { POWER_WORKFLOWS } from './power-slice.ts';

export type StartPowerChange = Readonly<{
  allocation_id: string;
  change: PowerChange;
  grace_s: number | null;
  /** The reason, if the change was not requested by the tenant. */
  reason?: string;
  correlation_id: string;
  /** Throws when it must not be changed. Called with the locked row. */
  check(row: AllocationRow): void;
  /** Called with the locked row and the new run. */
  prepare?(row: AllocationRow, runId: string): Promise<void>;
}>;

export const startPowerChange = async (tx: Tx, start: StartPowerChange): Promise<void> => {
  const row = await lockAllocation(tx, start.allocation_id);
  if (row === undefined) throw notFound('allocation');
  start.check(row);
  const to = POWER_DURING[start.change];
  const { organization_id, project_id } = row;
  const run = await startNewRun(tx, {
    workflow: POWER_WORKFLOWS[start.change],
    subject_id: row.id,
    organization_id,
    project_id,
    correlation_id: start.correlation_id,
  });
  if (run === undefined) throw conflict('An earlier power change is ending. Retry shortly.');
  await start.prepare?.(row, run.id);
  const from = powerSourcesOf(to);
  if (
    !(await movePower(tx, {
      id: row.id,
      from,
      to,
      reason: start.reason ?? null,
      run_id: run.id,
      grace_s: start.grace_s,
    }))
  )
    throw conflict(`The VM is ${row.power_state}.`);
  emitPower(tx, row, { correlation_id: start.correlation_id, to, reason: start.reason ?? null });
};
