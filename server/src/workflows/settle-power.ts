/**
 * The transaction in which a change of power comes to rest, with the end of the run that made it: the state, its event and an
 * audit row. A change that is no longer the run's own, because a release has ended it, is left alone.
 */
import { invariant } from '@gpuaas/kit';
import { type AllocationRow, lockAllocation } from '../db/allocation.ts';
import { insertSystemAudit } from '../db/audit.ts';
import type { Tx } from '../db/client.ts';
import { cancelRunTasks, findRunTask, type NodeTaskRow } from '../db/node-task.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { movePower } from '../db/power.ts';
import { type PowerState, powerSourcesOf } from '../domain/power.ts';
import { grantsCameWithStart, sendKeysLeft } from './access-grant.ts';
import type { SettlePower } from './allocation-steps.ts';
import { dropInstall } from './install.ts';

type Told = Readonly<{ correlation_id: string; to: PowerState; reason: string | null }>;

/** The event of a change, in the transaction that makes it. */
export const emitPower = (tx: Tx, row: AllocationRow, { correlation_id, to, reason }: Told): void =>
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

const NO_ANSWER = 'The agent did not respond in time, so the power state is unknown. Start or stop the VM.';

const NOT_COPIED = 'The image could not be copied.';
const BAD_USER_DATA = 'The user data was refused: cloud-init cannot read it, or it sets what the control plane sets.';
const MAYBE_EMPTY =
  'The agent did not report how the image copy ended. The boot disk may hold no system. Reinstall the VM, or release the allocation.';

/** What became of the boot disk, where a reinstallation ended at its clone; null where there is nothing to say beyond the refusal. */
const cloneReason = (clone: NodeTaskRow | undefined): string | null => {
  if (clone?.state === 'expired' || clone?.state === 'running') return MAYBE_EMPTY;
  if (clone?.state !== 'failed') return null;
  const isWritten = clone.output?.['is_disk_written'];
  if (isWritten === true)
    return `${NOT_COPIED} The VM is off and its boot disk holds no system. Reinstall it again, or release the allocation.`;
  if (isWritten !== false) return null;
  const why = clone.output?.['is_user_data_refused'] === true ? BAD_USER_DATA : NOT_COPIED;
  return `${why} The VM is off and nothing was wiped. Start it unchanged, or reinstall it again.`;
};

/** A new system has the keys that its start was told. One that was there before is told what was granted or revoked meanwhile. */
const revokeGrants = async (tx: Tx, row: AllocationRow, settle: SettlePower, wake?: () => void): Promise<void> => {
  const now = { ...row, power_state: 'on' as const };
  if (row.power_state === 'reinstalling') await grantsCameWithStart(tx, now, wake);
  else await sendKeysLeft(tx, now, settle.correlation_id, wake);
};

export const settlePower = async (tx: Tx, id: string, settle: SettlePower, wake?: () => void): Promise<void> => {
  const row = await lockAllocation(tx, id);
  if (row?.state !== 'active' || row.power_run_id !== settle.run_id) return;
  const refused = settle.kind === null ? undefined : await findRunTask(tx, settle.run_id, settle.kind);
  const isKnown = settle.kind === null || refused?.state === 'failed';
  const to = isKnown ? settle.to : 'unknown';
  // What no host has begun must not be begun after the tenant was told how it ended.
  if (to === 'unknown') await cancelRunTasks(tx, settle.run_id, 'The power change was abandoned.');
  const isReinstall = row.power_state === 'reinstalling';
  const clone = isReinstall ? await findRunTask(tx, settle.run_id, 'slice.image_clone') : undefined;
  const reason = cloneReason(clone) ?? (isKnown ? settle.reason : NO_ANSWER);
  if (isReinstall) await dropInstall(tx, { allocation_id: id, run_id: settle.run_id, clone });
  const moved = await movePower(tx, { id, from: powerSourcesOf(to), to, reason, run_id: null, grace_s: null });
  invariant(moved, `the power of allocation ${id} goes from ${row.power_state} to ${to}`);
  emitPower(tx, row, { correlation_id: settle.correlation_id, to, reason });
  if (to === 'on') await revokeGrants(tx, row, settle, wake);
  tx.defer(
    insertSystemAudit(tx, {
      organization_id: row.organization_id,
      project_id: row.project_id,
      action: `allocation.power_${to}`,
      target_kind: 'allocation',
      target_id: id,
      policy: 'workflow',
      correlation_id: settle.correlation_id,
      metadata: { from: row.power_state, reason },
    }),
  );
};
