/**
 * Handles a VM that should run but was found down. `afterDown` decides: the VM is restarted by the same run that a
 * tenant would start, so readiness and timeline are the usual ones, or it is marked as off with the reason. Each
 * allocation has its own transaction and is checked again under its lock, because a report is always slightly out of
 * date.
 */
import { randomUUID } from 'node:crypto';
import type { Log } from '@gpuaas/kit';
import { type AllocationRow, lockAllocation, movePower } from '../db/allocation.ts';
import { insertSystemAudit } from '../db/audit.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { countRecentStarts, FOUND_DOWN, shouldRun } from '../db/inventory.ts';
import { afterDown, type VmDown } from '../domain/inventory.ts';
import { powerRefusal } from '../domain/power.ts';
import { conflict } from '../errors.ts';
import { emitPower } from './finish-power-change.ts';
import { startSlice } from './power-slice.ts';
import { startPowerChange } from './start-power-change.ts';

export type VmDownDeps = Readonly<{ database: Database; log: Log }>;

const audit = (
  tx: Tx,
  row: AllocationRow,
  given: Readonly<{ action: string; correlation_id: string; cause: VmDown['cause']; reason: string }>,
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

/** Also if the last start failed: then it stays off until its tenant starts it. */
const leaveOff = async (tx: Tx, row: AllocationRow, reason: string, correlation_id: string): Promise<boolean> => {
  const { id } = row;
  if (!(await movePower(tx, { id, from: ['on', 'off'], to: 'off', reason, run_id: null, grace_s: null }))) return false;
  emitPower(tx, row, { correlation_id, to: 'off', reason });
  return true;
};

const handleVmDown = (deps: VmDownDeps, { allocation_id, cause }: VmDown): Promise<void> =>
  deps.database.write(PLATFORM, async (tx) => {
    const row = await lockAllocation(tx, allocation_id);
    if (row === undefined || !(await shouldRun(tx, allocation_id))) return;
    const recentStarts = await countRecentStarts(tx, allocation_id, startSlice.name);
    const { act, reason } = afterDown({ cause }, recentStarts);
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
    await startPowerChange(tx, { allocation_id, change: 'start', grace_s: null, correlation_id, reason, check });
    audit(tx, row, { action: 'allocation.start', correlation_id, cause, reason });
  });

/** A failure is retried with the next report, which finds the VM still down. */
export const handleVmsDown = async (deps: VmDownDeps, down: readonly VmDown[]): Promise<void> => {
  for (const one of down)
    await handleVmDown(deps, one).catch((err: unknown) =>
      deps.log.error({ err, ...one }, 'failed to handle a VM that was found down'),
    );
};
