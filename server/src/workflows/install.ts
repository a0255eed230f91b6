/**
 * What an allocation is made of, and what a reinstallation makes of it. The two are kept apart until the host has said that
 * the image is on the boot disk: the answer that records this makes the wanted install the one that runs, whatever has become
 * of the run meanwhile. So a reinstallation that is refused or fails before leaves number, image, keys and user data as they
 * were, and the next start is a start of the old system and not a first boot with the new user data.
 */
import { listWantedKeys } from '../db/access-grant.ts';
import { type AllocationRow, lockAllocation } from '../db/allocation.ts';
import type { Tx } from '../db/client.ts';
import { findGuestImage, type GuestImage } from '../db/guest.ts';
import { applyInstall, findWantedInstall, putWantedInstall, removeWantedInstall } from '../db/install.ts';
import type { NodeTaskRow } from '../db/node-task.ts';
import type { Image } from '../db/power.ts';
import { findUserData, putUserData, removeUserData } from '../db/user-data.ts';
import type { TaskAsk } from './allocation-steps.ts';

const CLONE = 'slice.image_clone';

export type InstallAsk = Readonly<{
  run_id: string;
  image?: Image;
  ssh_key_ids?: readonly string[];
  /** Null takes it away. */
  user_data?: string | null;
}>;

/** Notes what is wanted of a locked allocation; what is not named stays as it is. */
export const wantInstall = async (tx: Tx, row: AllocationRow, ask: InstallAsk): Promise<void> => {
  const { id: allocation_id, organization_id, project_id } = row;
  await putWantedInstall(tx, {
    ...{ allocation_id, organization_id, project_id, run_id: ask.run_id },
    install_number: row.install_number + 1,
    image_name: ask.image?.name ?? row.image_name,
    image_digest: ask.image?.digest ?? row.image_digest,
    ssh_key_ids: [...(ask.ssh_key_ids ?? row.ssh_key_ids)],
    user_data: ask.user_data === undefined ? await findUserData(tx, allocation_id) : ask.user_data,
  });
};

type Made = Readonly<{
  allocation: AllocationRow;
  image: GuestImage | undefined;
  ssh_public_keys: readonly string[];
  user_data: string | null;
}>;

/** What a task of this run is about: the clone of a reinstallation makes what is wanted, everything else is of what runs. */
export const findMade = async (tx: Tx, row: AllocationRow, ask: TaskAsk): Promise<Made> => {
  const wanted = ask.kind === CLONE ? await findWantedInstall(tx, row.id, ask.run_id) : undefined;
  const user_data = wanted === undefined ? await findUserData(tx, row.id) : wanted.user_data;
  const allocation = { ...row, ...wanted };
  const [image, ssh_public_keys] = await Promise.all([findGuestImage(tx, allocation), listWantedKeys(tx, allocation)]);
  return { allocation, image, ssh_public_keys, user_data };
};

const takeEffect = async (tx: Tx, row: AllocationRow, runId: string): Promise<void> => {
  const { id: allocation_id, organization_id, project_id } = row;
  const wanted = await findWantedInstall(tx, allocation_id, runId);
  if (wanted === undefined) return;
  await applyInstall(tx, allocation_id, wanted);
  const { user_data } = wanted;
  if (user_data === null) await removeUserData(tx, allocation_id);
  else await putUserData(tx, { allocation_id, organization_id, project_id, user_data });
  await removeWantedInstall(tx, allocation_id, runId);
};

/** In the transaction that takes the host's answer. Of a release that came first nothing is wanted any more. */
export const endClone = async (tx: Tx, task: NodeTaskRow): Promise<void> => {
  const { kind, allocation_id, workflow_run_id, params, state } = task;
  const isAgain = kind === CLONE && Number(params['install'] ?? 0) > 0;
  if (!isAgain || allocation_id === null || workflow_run_id === null) return;
  const row = await lockAllocation(tx, allocation_id);
  if (row === undefined) return;
  if (state === 'completed') await takeEffect(tx, row, workflow_run_id);
  // The run has come to rest before, and waited with this for the host.
  else if (row.power_run_id !== workflow_run_id) await removeWantedInstall(tx, allocation_id, workflow_run_id);
};

/** The run comes to rest. A host that is still writing may yet bring about what is wanted. */
export const dropInstall = async (
  tx: Tx,
  given: Readonly<{ allocation_id: string; run_id: string; clone: NodeTaskRow | undefined }>,
): Promise<void> => {
  if (given.clone?.state !== 'running') await removeWantedInstall(tx, given.allocation_id, given.run_id);
};
