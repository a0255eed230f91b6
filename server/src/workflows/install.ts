/**
 * What an allocation has installed, and what a reinstall would change. The two are kept apart until the agent reports
 * that the image is on the boot disk. That result applies the requested install, whatever happened to the run
 * meanwhile. So a reinstall that is refused or fails earlier changes neither number, image, keys nor user data, and the
 * next start boots the old system instead of running the new user data.
 */
import { listAuthorizedKeys } from '../db/access-grant.ts';
import { type AllocationRow, applyInstall, lockAllocation } from '../db/allocation.ts';
import type { Tx } from '../db/client.ts';
import { findGuestImage, type GuestImage } from '../db/guest.ts';
import { findRequestedInstall, type Image, putRequestedInstall, removeRequestedInstall } from '../db/install.ts';
import type { NodeTaskRow } from '../db/node-task.ts';
import { removeUserData } from '../db/statements/remove-user-data.ts';
import { findUserData, putUserData } from '../db/user-data.ts';
import type { AllocationTaskRequest } from './allocation-steps.ts';

const CLONE = 'slice.image_clone';

export type InstallRequest = Readonly<{
  run_id: string;
  image?: Image;
  ssh_key_ids?: readonly string[];
  /** Null removes it. */
  sealed_user_data?: Buffer | null;
}>;

/** Records the requested install of a locked allocation; omitted fields keep their value. */
export const requestInstall = async (tx: Tx, row: AllocationRow, request: InstallRequest): Promise<void> => {
  const { id: allocation_id, organization_id, project_id } = row;
  await putRequestedInstall(tx, {
    ...{ allocation_id, organization_id, project_id, run_id: request.run_id },
    install_number: row.install_number + 1,
    image_name: request.image?.name ?? row.image_name,
    image_digest: request.image?.digest ?? row.image_digest,
    ssh_key_ids: [...(request.ssh_key_ids ?? row.ssh_key_ids)],
    sealed_user_data:
      request.sealed_user_data === undefined ? await findUserData(tx, allocation_id) : request.sealed_user_data,
  });
};

type InstallInputs = Readonly<{
  allocation: AllocationRow;
  image: GuestImage | undefined;
  ssh_public_keys: readonly string[];
  sealed_user_data: Buffer | null;
}>;

/**
 * The inputs of a task: those of the requested install for the image copy of a reinstall, otherwise those of the
 * current install.
 */
export const findInstallInputs = async (
  tx: Tx,
  row: AllocationRow,
  request: AllocationTaskRequest,
): Promise<InstallInputs> => {
  const requested = request.kind === CLONE ? await findRequestedInstall(tx, row.id, request.run_id) : undefined;
  const allocation = { ...row, ...requested };
  const [sealed_user_data, image, ssh_public_keys] = await Promise.all([
    requested === undefined ? findUserData(tx, row.id) : requested.sealed_user_data,
    findGuestImage(tx, allocation),
    listAuthorizedKeys(tx, allocation),
  ]);
  return { allocation, image, ssh_public_keys, sealed_user_data };
};

const applyRequestedInstall = async (tx: Tx, row: AllocationRow, runId: string): Promise<void> => {
  const { id: allocation_id, organization_id, project_id } = row;
  const requested = await findRequestedInstall(tx, allocation_id, runId);
  if (requested === undefined) return;
  await applyInstall(tx, allocation_id, requested);
  const { sealed_user_data } = requested;
  if (sealed_user_data === null) await removeUserData(tx, allocation_id);
  else await putUserData(tx, { allocation_id, organization_id, project_id, sealed_user_data });
  await removeRequestedInstall(tx, allocation_id, runId);
};

/** Runs in the transaction that accepts the result. An earlier release has already removed the requested install. */
export const endClone = async (tx: Tx, task: NodeTaskRow): Promise<void> => {
  const { kind, allocation_id, workflow_run_id, params, state } = task;
  const isReinstall = kind === CLONE && Number(params['install'] ?? 0) > 0;
  if (!isReinstall || allocation_id === null || workflow_run_id === null) return;
  const row = await lockAllocation(tx, allocation_id);
  if (row === undefined) return;
  if (state === 'completed') await applyRequestedInstall(tx, row, workflow_run_id);
  // The run ended first and left this to the host's result.
  else if (row.power_run_id !== workflow_run_id) await removeRequestedInstall(tx, allocation_id, workflow_run_id);
};

/** The run ends. A copy that still runs may yet apply the requested install. */
export const dropInstall = async (
  tx: Tx,
  given: Readonly<{ allocation_id: string; run_id: string; clone: NodeTaskRow | undefined }>,
): Promise<void> => {
  if (given.clone?.state !== 'running') await removeRequestedInstall(tx, given.allocation_id, given.run_id);
};
