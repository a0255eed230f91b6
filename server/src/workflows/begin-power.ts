/**
 * A change of power is asked for: the state that says so, its event and the run that makes it, in one transaction. One change
 * at a time: the allocation is locked, and only a state of rest can be left. A change has a run of its own: one that is live
 * already, because an operator took it up again, is about to find that the power is not its own, and would leave this undone.
 */
import { type AllocationRow, lockAllocation } from '../db/allocation.ts';
import type { Tx } from '../db/client.ts';
import { movePower } from '../db/power.ts';
import { POWER_DURING, type PowerChange, powerSourcesOf } from '../domain/power.ts';
import { conflict, notFound } from '../errors.ts';
import { startNewRun } from './engine/run.ts';
import { POWER_WORKFLOWS } from './power-slice.ts';
import { emitPower } from './settle-power.ts';

export type BeginPower = Readonly<{
  allocation_id: string;
  change: PowerChange;
  grace_s: number | null;
  /** Why, where it was not asked for by whoever reads it. */
  reason?: string;
  correlation_id: string;
  /** Throws when it must not be changed. Asked of the locked row. */
  check(row: AllocationRow): void;
  /** Done to the locked row, with the run that makes the change. */
  prepare?(row: AllocationRow, runId: string): Promise<void>;
}>;

export const beginPower = async (tx: Tx, begin: BeginPower, wake?: () => void): Promise<void> => {
  const row = await lockAllocation(tx, begin.allocation_id);
  if (row === undefined) throw notFound('allocation');
  begin.check(row);
  const to = POWER_DURING[begin.change];
  const { organization_id, project_id } = row;
  const run = await startNewRun(
    tx,
    {
      workflow: POWER_WORKFLOWS[begin.change],
      subject_id: row.id,
      organization_id,
      project_id,
      correlation_id: begin.correlation_id,
    },
    wake,
  );
  if (run === undefined) throw conflict('An earlier power change is ending. Retry shortly.');
  await begin.prepare?.(row, run.id);
  const from = powerSourcesOf(to);
  if (
    !(await movePower(tx, {
      id: row.id,
      from,
      to,
      reason: begin.reason ?? null,
      run_id: run.id,
      grace_s: begin.grace_s,
    }))
  )
    throw conflict(`The VM is ${row.power_state}.`);
  emitPower(tx, row, { correlation_id: begin.correlation_id, to, reason: begin.reason ?? null });
};
