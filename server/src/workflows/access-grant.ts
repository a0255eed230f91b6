/**
 * Granting and revoking keys on a locked allocation. The change is written, and a run is started that installs the keys
 * if the VM can take them. Before the first boot the keys come with it; a VM that is off gets them when it starts.
 */
import { findPendingCause, finishGrants, type GrantRow, hasPendingGrants, revokeGrant } from '../db/access-grant.ts';
import { type AllocationRow, lockAllocation } from '../db/allocation.ts';
import { insertSystemAudit } from '../db/audit.ts';
import type { Tx } from '../db/client.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { type LaunchKey, revokeLaunchKey } from '../db/statements/launch-key.ts';
import { startRun } from './engine/run.ts';
import { canInstallKeys, emitGrants, installKeys } from './install-keys.ts';

/** The run that installs them; a run in progress also installs the newest set. Null if the VM cannot take keys now. */
export const sendKeys = async (tx: Tx, row: AllocationRow, correlation_id: string): Promise<string | null> => {
  if (!canInstallKeys(row)) return null;
  const { id: subject_id, organization_id, project_id } = row;
  const start = { workflow: installKeys, subject_id, organization_id, project_id, correlation_id };
  return (await startRun(tx, start)).id;
};

export const emitGrant = (tx: Tx, row: AllocationRow, grant: GrantRow, correlation_id: string): void =>
  tx.defer(
    insertOutboxEvent(tx, {
      event_type: 'allocation.access_grant.changed',
      organization_id: row.organization_id,
      project_id: row.project_id,
      subject: grant.id,
      correlation_id,
      data: { access_grant_id: grant.id, allocation_id: row.id, user_id: grant.user_id, state: grant.state },
    }),
  );

/** The VM booted for the first time, with the keys given to its start. */
export const grantsInstalledAtStart = async (tx: Tx, row: AllocationRow): Promise<void> => {
  // Sent together; pending grants are counted after those installed at the start were marked.
  const [settled, cause] = await Promise.all([finishGrants(tx, row.id, null), findPendingCause(tx, row.id)]);
  emitGrants(tx, settled);
  if (cause !== undefined) await sendKeys(tx, row, cause);
};

/** Installs grants and revocations that were made while the VM could not take them. */
export const sendKeysIfPending = async (tx: Tx, row: AllocationRow, correlation_id: string): Promise<void> => {
  if (await hasPendingGrants(tx, row.id)) await sendKeys(tx, row, correlation_id);
};

export type LostGrant = Readonly<{ id: string; allocation_id: string; reason: string; correlation_id: string }>;

/** Not revoked by name: a member left, an account was disabled, or a key was deleted. */
export const revokeLostGrant = (tx: Tx, lost: LostGrant): Promise<void> =>
  revokeLost(tx, lost, () => revokeGrant(tx, lost.id, lost));

/** The same of a key that was given at launch. */
export const revokeLostLaunchKey = (tx: Tx, lost: LaunchKey & Readonly<{ correlation_id: string }>): Promise<void> =>
  revokeLost(tx, lost, () => revokeLaunchKey(tx, lost));

const revokeLost = async (
  tx: Tx,
  lost: Pick<LostGrant, 'allocation_id' | 'reason' | 'correlation_id'>,
  revoke: () => Promise<GrantRow | undefined>,
): Promise<void> => {
  const { correlation_id, reason } = lost;
  const row = await lockAllocation(tx, lost.allocation_id);
  if (row === undefined) return;
  const grant = await revoke();
  if (grant === undefined) return;
  emitGrant(tx, row, grant, correlation_id);
  const { user_id, fingerprint } = grant;
  const workflow_run_id = await sendKeys(tx, row, correlation_id);
  tx.defer(
    insertSystemAudit(tx, {
      organization_id: row.organization_id,
      project_id: row.project_id,
      action: 'allocation.access_grant.revoke',
      target_kind: 'access_grant',
      target_id: grant.id,
      policy: 'users without a project role lose access',
      correlation_id,
      metadata: { allocation_id: row.id, user_id, fingerprint, reason, workflow_run_id },
    }),
  );
};

/** For grants still pending, under the ID of their change: a run ended at the same moment as a change, or failed. */
export const sendPendingKeys = async (tx: Tx, allocationId: string): Promise<void> => {
  const row = await lockAllocation(tx, allocationId);
  const cause = await findPendingCause(tx, allocationId);
  if (row !== undefined && cause !== undefined) await sendKeys(tx, row, cause);
};
