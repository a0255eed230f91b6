/**
 * Granting and taking back, on a locked allocation: what is wanted is written, and a run is started that tells the machine,
 * where there is one to tell. Before the first boot the keys come with it, and a machine that is off is told when it is on.
 */
import { type GrantRow, hasPendingGrants, revokeGrant, settleGrants } from '../db/access-grant.ts';
import { type AllocationRow, lockAllocation } from '../db/allocation.ts';
import { insertSystemAudit } from '../db/audit.ts';
import type { Tx } from '../db/client.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { startRun } from './engine/run.ts';
import { emitGrants, installKeys, takesKeys } from './install-keys.ts';

type Wake = () => void;

/** A run that is at it already tells the newest set too. */
export const sendKeys = async (tx: Tx, row: AllocationRow, correlation_id: string, wake?: Wake): Promise<void> => {
  if (!takesKeys(row)) return;
  const { id: subject_id, organization_id, project_id } = row;
  await startRun(tx, { workflow: installKeys, subject_id, organization_id, project_id, correlation_id }, wake);
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

/** The system of a locked allocation runs for the first time, and has what its start was told. */
export const grantsCameWithStart = async (tx: Tx, row: AllocationRow, wake?: Wake): Promise<void> => {
  // Sent together: what is left is looked for after what came was settled.
  const [settled, isLeft] = await Promise.all([settleGrants(tx, row.id, null), hasPendingGrants(tx, row.id)]);
  emitGrants(tx, settled);
  if (isLeft) await sendKeys(tx, row, row.correlation_id, wake);
};

/** Whatever was granted or revoked while nobody could be told. */
export const sendKeysLeft = async (tx: Tx, row: AllocationRow, correlation_id: string, wake?: Wake): Promise<void> => {
  if (await hasPendingGrants(tx, row.id)) await sendKeys(tx, row, correlation_id, wake);
};

export type TakeBack = Readonly<{ id: string; allocation_id: string; reason: string; correlation_id: string }>;

/** Nobody asked: a member left, an account was disabled, a key was deleted. */
export const revokeLostGrant = async (tx: Tx, lost: TakeBack, wake?: Wake): Promise<void> => {
  const { correlation_id, reason } = lost;
  const row = await lockAllocation(tx, lost.allocation_id);
  if (row === undefined) return;
  const grant = await revokeGrant(tx, lost.id, { reason, correlation_id });
  if (grant === undefined) return;
  emitGrant(tx, row, grant, correlation_id);
  const { user_id, fingerprint } = grant;
  tx.defer(
    insertSystemAudit(tx, {
      organization_id: row.organization_id,
      project_id: row.project_id,
      action: 'allocation.access_grant.revoke',
      target_kind: 'access_grant',
      target_id: grant.id,
      policy: 'users without a project role lose access',
      correlation_id,
      metadata: { allocation_id: row.id, user_id, fingerprint, reason },
    }),
  );
  await sendKeys(tx, row, correlation_id, wake);
};

/** What was left untold: a run ended beside a change, or could not tell it. */
export const sendPendingKeys = async (tx: Tx, allocationId: string, wake?: Wake): Promise<void> => {
  const row = await lockAllocation(tx, allocationId);
  if (row !== undefined) await sendKeysLeft(tx, row, row.correlation_id, wake);
};
