/**
 * The transaction that ends a power change together with its run: the state, its event and an audit row. If the change
 * no longer belongs to the run, because a release ended it, nothing is written.
 */
import { invariant } from '@gpuaas/kit';
import { type AllocationRow, lockAllocation, movePower } from '../db/allocation.ts';
import { insertSystemAudit } from '../db/audit.ts';
import type { Tx } from '../db/client.ts';
import { cancelRunTasks, type NodeTaskRow } from '../db/node-task.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { findRunTask } from '../db/run-task.ts';
import { type PowerState, powerSourcesOf } from '../domain/power.ts';
import { REINSTALL_SLICE } from '../domain/workflow-steps.ts';
import { grantsInstalledAtStart, sendKeysIfPending } from './access-grant.ts';
import type { PowerChangeEnd } from './allocation-steps.ts';
import { dropInstall } from './install.ts';

type PowerEvent = Readonly<{ correlation_id: string; to: PowerState; reason: string | null }>;

/** The event of a power change, in the transaction that makes it. */
export const emitPower = (tx: Tx, row: AllocationRow, { correlation_id, to, reason }: PowerEvent): void =>
  tx.defer(
    insertOutboxEvent(tx, {
      event_type: 'allocation.power_changed',
      organization_id: row.organization_id,
      project_id: row.project_id,
      subject: row.id,
      correlation_id,
      data: { allocation_id: row.id, name: row.name, power_state: to, power_reason: reason },
    }),
  );

const NO_RESPONSE = 'The agent did not respond in time, so the power state is unknown. Start or stop the VM.';

const NOT_COPIED = REINSTALL_SLICE.steps.cloneImage.failed;
const BAD_USER_DATA =
  'The user data was refused: cloud-init cannot parse it, or it sets something that the control plane manages.';
const MAYBE_EMPTY =
  'The agent did not report how the image copy ended. The boot disk may not boot. Reinstall the VM, or release the allocation.';

/** The state of the boot disk when a reinstall ended during the image copy; null when the refusal says enough. */
const cloneReason = (clone: NodeTaskRow | undefined): string | null => {
  if (clone?.state === 'unknown' || clone?.state === 'running') return MAYBE_EMPTY;
  if (clone?.state !== 'failed') return null;
  const isWritten = clone.output?.['is_disk_written'];
  if (isWritten === true)
    return `${NOT_COPIED} The VM is off and its boot disk holds no system. Reinstall it again, or release the allocation.`;
  if (isWritten !== false) return null;
  const why = clone.output?.['is_user_data_refused'] === true ? BAD_USER_DATA : NOT_COPIED;
  return `${why} The VM is off and nothing was wiped. Start it unchanged, or reinstall it again.`;
};

/** A reinstalled system has the keys given to its start. Another one gets what was granted or revoked meanwhile. */
const revokeGrants = async (tx: Tx, row: AllocationRow, end: PowerChangeEnd): Promise<void> => {
  const now = { ...row, power_state: 'on' as const };
  if (row.power_state === 'reinstalling') await grantsInstalledAtStart(tx, now);
  else await sendKeysIfPending(tx, now, end.correlation_id);
};

export const finishPowerChange = async (tx: Tx, id: string, end: PowerChangeEnd): Promise<void> => {
  const row = await lockAllocation(tx, id);
  if (row?.state !== 'active' || row.power_run_id !== end.run_id) return;
  const of = { run_id: end.run_id, node_id: row.node_id ?? '' };
  const refused = end.kind === null ? undefined : await findRunTask(tx, { ...of, kind: end.kind });
  const isKnown = end.kind === null || refused?.state === 'failed';
  const to = isKnown ? end.to : 'unknown';
  // A task that has not started must not start after the tenant saw the end of the change.
  if (to === 'unknown') await cancelRunTasks(tx, end.run_id, 'The power change was abandoned.');
  const isReinstall = row.power_state === 'reinstalling';
  const clone = isReinstall ? await findRunTask(tx, { ...of, kind: 'slice.image_clone' }) : undefined;
  const reason = cloneReason(clone) ?? (isKnown ? end.reason : NO_RESPONSE);
  if (isReinstall) await dropInstall(tx, { allocation_id: id, run_id: end.run_id, clone });
  const moved = await movePower(tx, { id, from: powerSourcesOf(to), to, reason, run_id: null, grace_s: null });
  invariant(moved, `the power of allocation ${id} goes from ${row.power_state} to ${to}`);
  emitPower(tx, row, { correlation_id: end.correlation_id, to, reason });
  if (to === 'on') await revokeGrants(tx, row, end);
  tx.defer(
    insertSystemAudit(tx, {
      organization_id: row.organization_id,
      project_id: row.project_id,
      action: `allocation.power_${to}`,
      target_kind: 'allocation',
      target_id: id,
      policy: 'workflow',
      correlation_id: end.correlation_id,
      metadata: { from: row.power_state, reason },
    }),
  );
};
