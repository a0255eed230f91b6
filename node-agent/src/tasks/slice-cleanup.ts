/**
 * `slice.cleanup`: removes everything of a slice from the host, with proof. It may be interrupted anywhere and starts
 * over: every step is an ensure, and an unproven wipe does not count. The lease is marked as cleaning from the start
 * and ends only when all its disks and GPUs are proven. Leftovers of ended leases on these slots are removed and
 * checked in the same way.
 */
import type { LeaseFile } from '../leases.ts';
import {
  changeLeases,
  findLease,
  noteGenerations,
  putLease,
  readLeases,
  refuseStale,
  releaseSlots,
} from '../leases.ts';
import {
  type CleanupOutput,
  deactivatePartitions,
  detachLeases,
  detachNetwork,
  endedLeases,
  formerVmsOf,
  provenSlots,
  refuseOtherLeases,
  refuseRunning,
  removeVm,
  resetGpus,
  targetOf,
  wipeAll,
} from './cleanup.ts';
import { checkIsolation, clearFunctions } from './isolation.ts';
import { bootSlot } from './names.ts';
import type { TaskHandler } from './task.ts';
import { slotKeys, withLocks } from './task-locks.ts';

export const sliceCleanup: TaskHandler<'slice.cleanup'> = (ctx, params) =>
  withLocks(ctx, slotKeys(params.slots), async (act) => {
    const { allocation_id: allocationId, slots } = params;
    const now = ctx.now().toISOString();
    const ended = endedLeases(await readLeases(ctx.state), allocationId, slots);
    await refuseRunning(ctx, act, [allocationId, ...ended.map((lease) => lease.allocation_id)]);
    const book = await changeLeases(ctx.state, (before: LeaseFile) => {
      refuseStale(before, slots);
      refuseOtherLeases(before, allocationId, slots);
      const lease = findLease(before, allocationId);
      const noted = noteGenerations(before, slots);
      return lease === undefined || lease.cleaning_since !== null
        ? noted
        : putLease(noted, { ...lease, touched_at: lease.touched_at ?? now, cleaning_since: now });
    });

    const boot = bootSlot(slots);
    const network = await detachNetwork(ctx, act, {
      allocation_id: allocationId,
      mac_address: boot.mac_address,
    });
    const others = await detachLeases(ctx, act, ended);
    const wiped = await wipeAll(ctx, act, slots.map(targetOf), params.wipe_minimum ?? 'clear');
    ctx.progress({ percent: 85, note: 'removing the VM' });
    const machines: string[] = [];
    for (const id of [allocationId, ...ended.map((lease) => lease.allocation_id)])
      machines.push(...(await removeVm(ctx, act, id)));
    const leases = [findLease(book, allocationId) ?? [], ended].flat();
    const { deactivated, partition_ids } = await deactivatePartitions(ctx, act, { slots, leases });
    ctx.progress({ percent: 90, note: 'resetting GPUs' });
    const gpu_resets = await resetGpus(ctx, act, slots);
    const output: CleanupOutput = {
      network_detached: network.is_detached && others.is_detached,
      ...wiped,
      gpu_resets,
      removed: [
        ...(network.was_there ? ['OVS port, address reservation and NAT'] : []),
        ...others.removed,
        ...machines,
        ...deactivated.map((id) => `fabric partition ${id}`),
      ],
      isolation: await checkIsolation(ctx, act, {
        former: [
          { allocation_id: allocationId, mac_address: boot.mac_address, private_ip: boot.private_ip },
          ...ended.map(formerVmsOf),
        ],
        partition_ids,
        fabric_functions: await clearFunctions(ctx, act, slots),
      }),
    };
    const proven = provenSlots(slots, output);
    if (proven.size === slots.length) await changeLeases(ctx.state, (before) => releaseSlots(before, proven));
    return output;
  });
