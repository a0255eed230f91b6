/**
 * A machine that is to run was found down on its host. What follows is `afterDown`'s to say: it is started again by the same
 * run that a tenant would start, so readiness is seen and the timeline tells of it, or it counts as off with the reason. Each
 * allocation has a transaction of its own, and everything is looked at again under its lock: a report is always a little old.
 */
import { randomUUID } from 'node:crypto';
import type { Log } from '@gpuaas/kit';
import { type AllocationRow, lockAllocation } from '../db/allocation.ts';
import { insertSystemAudit } from '../db/audit.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { countStartsLately, FOUND_DOWN, isToRun } from '../db/inventory.ts';
import { movePower } from '../db/power.ts';
import { afterDown, type Down } from '../domain/inventory.ts';
import { powerRefusal } from '../domain/power.ts';
import { conflict } from '../errors.ts';
import { beginPower } from './begin-power.ts';
import { startSlice } from './power-slice.ts';
import { emitPower } from './settle-power.ts';

export type FollowDeps = Readonly<{ database: Database; log: Log; wake: () => void }>;

const audit = (
  tx: Tx,
  row: AllocationRow,
  given: Readonly<{ action: string; correlation_id: string; cause: Down['cause']; reason: string }>,
): void =>
  tx.defer(
    insertSystemAudit(tx, {
      organization_id: row.organization_id,
      project_id: row.project_id,
      action: given.action,
      target_kind: 'allocation',
      target_id: row.id,
      policy: 'the VM was found down on its host',
      correlation_id: given.correlation_id,
      metadata: { cause: given.cause, reason: given.reason },
    }),
  );

/** Also where it is off because the last start failed: from then on it is off for good, until its tenant starts it. */
const leaveOff = async (tx: Tx, row: AllocationRow, reason: string, correlation_id: string): Promise<boolean> => {
  const { id } = row;
  if (!(await movePower(tx, { id, from: ['on', 'off'], to: 'off', reason, run_id: null, grace_s: null }))) return false;
  emitPower(tx, row, { correlation_id, to: 'off', reason });
  return true;
};

const followOne = (deps: FollowDeps, { allocation_id, cause }: Down): Promise<void> =>
  deps.database.write(PLATFORM, async (tx) => {
    const row = await lockAllocation(tx, allocation_id);
    if (row === undefined || !(await isToRun(tx, allocation_id))) return;
    const lately = await countStartsLately(tx, allocation_id, startSlice.name);
    const { act, reason } = afterDown({ cause }, lately);
    const correlation_id = `${FOUND_DOWN}${randomUUID()}`;
    if (act === 'leave_off') {
      if (await leaveOff(tx, row, reason, correlation_id))
        audit(tx, row, { action: 'allocation.power_off', correlation_id, cause, reason });
      return;
    }
    const check = (locked: AllocationRow): void => {
      const refusal = powerRefusal(locked, 'start');
      if (refusal !== null) throw conflict(refusal);
    };
    await beginPower(tx, { allocation_id, change: 'start', grace_s: null, correlation_id, reason, check }, deps.wake);
    audit(tx, row, { action: 'allocation.start', correlation_id, cause, reason });
  });

/** One that cannot be followed is tried again with the next report, which finds it still down. */
export const followDown = async (deps: FollowDeps, down: readonly Down[]): Promise<void> => {
  for (const one of down)
    await followOne(deps, one).catch((err: unknown) =>
      deps.log.error({ err, ...one }, 'failed to handle a VM that was found down'),
    );
};
