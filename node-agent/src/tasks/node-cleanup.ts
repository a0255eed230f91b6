/**
 * `node.cleanup`: wipes the declared data disks of a bare-metal host and the disks and GPUs of its slots, with the same
 * proof as a slice. It also wipes a slot under repair: a slot proven here is removed from any leftover lease. A disk in
 * use is reported with its users; the agent never unmounts.
 */
import { HostError } from '../host/host.ts';
import { changeLeases, noteGenerations, refuseStale, releaseSlots } from '../leases.ts';
import { diskTargets } from '../stale.ts';
import {
  type CleanupOutput,
  deactivatePartitions,
  detachLeases,
  formerVmsOf,
  provenSlots,
  refuseRunning,
  removeVm,
  resetGpus,
  targetOf,
  wipeAll,
} from './cleanup.ts';
import { checkIsolation, clearFunctions } from './isolation.ts';
import type { TaskHandler } from './task.ts';
import { slotKeys, withLocks } from './task-locks.ts';

export const nodeCleanup: TaskHandler<'node.cleanup'> = (ctx, params) => {
  const ofSlots = new Set(params.slots.map((slot) => slot.nvme_serial));
  const disks = params.disks.filter((disk) => !ofSlots.has(disk.serial));
  const keys = [...slotKeys(params.slots), ...disks.map((disk) => `disk ${disk.serial}`)];
  return withLocks(ctx, keys, async (act) => {
    const { slots } = params;
    const book = await changeLeases(ctx.state, (before) => {
      const targets = [...slots, ...diskTargets(disks)];
      refuseStale(before, targets);
      return noteGenerations(before, targets);
    });
    const serials = new Set([...ofSlots, ...disks.map((disk) => disk.serial)]);
    const left = book.leases.filter((lease) => lease.slots.some((slot) => serials.has(slot.nvme_serial)));
    const inUse = left.find((lease) => lease.cleaning_since === null && lease.allocation_id !== params.allocation_id);
    if (inUse !== undefined)
      throw new HostError(
        'conflict',
        `allocation ${inUse.allocation_id} holds slots of this cleanup; release it first`,
      );
    await refuseRunning(ctx, act, [...left.map((lease) => lease.allocation_id), params.allocation_id ?? '']);

    const network = await detachLeases(ctx, act, left);
    const wiped = await wipeAll(
      ctx,
      act,
      [
        ...slots.map(targetOf),
        ...disks.map((disk) => ({ serial: disk.serial, device: disk.device, policy: null, slot: null })),
      ],
      params.wipe_minimum ?? 'clear',
    );
    const removed: string[] = [...network.removed];
    for (const lease of left) removed.push(...(await removeVm(ctx, act, lease.allocation_id)));
    const { deactivated, partition_ids } = await deactivatePartitions(ctx, act, { slots, leases: left });
    const gpu_resets = await resetGpus(ctx, act, slots);
    const output: CleanupOutput = {
      network_detached: network.is_detached,
      ...wiped,
      gpu_resets,
      removed: [...removed, ...deactivated.map((id) => `fabric partition ${id}`)],
      isolation: await checkIsolation(ctx, act, {
        former: left.map(formerVmsOf),
        partition_ids,
        fabric_functions: await clearFunctions(ctx, act, slots),
      }),
    };
    await changeLeases(ctx.state, (before) => releaseSlots(before, provenSlots(slots, output)));
    return output;
  });
};
