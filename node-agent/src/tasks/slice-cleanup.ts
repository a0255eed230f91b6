/**
 * `slice.cleanup`: everything of a slice leaves the host, with proof. It may be interrupted anywhere and is done again
 * from the start: every step is an ensure, and a wipe that was not proven was not a wipe. The lease says from the first
 * moment that it is being cleaned and ends only when every disk and every GPU of it is proven. What leases of others that
 * have ended left on these slots goes with it, and is looked for like its own.
 */
import type { LeaseBook } from '../leases.ts';
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
  goneOf,
  provenSlots,
  refuseHeldByOthers,
  refuseRunning,
  removeMachine,
  resetGpus,
  targetOf,
  wipeAll,
} from './cleanup.ts';
import { exclusive, slotKeys } from './exclusive.ts';
import { clearFunctions, lookAfter } from './isolation.ts';
import { bootSlot } from './names.ts';
import type { TaskHandler } from './task.ts';

export const sliceCleanup: TaskHandler<'slice.cleanup'> = (ctx, params) =>
  exclusive(ctx, slotKeys(params.slots), async (act) => {
    const { allocation_id: allocationId, slots } = params;
    const now = ctx.now().toISOString();
    const ended = endedLeases(await readLeases(ctx.state), allocationId, slots);
    await refuseRunning(ctx, act, [allocationId, ...ended.map((lease) => lease.allocation_id)]);
    const book = await changeLeases(ctx.state, (before: LeaseBook) => {
      refuseStale(before, slots);
      refuseHeldByOthers(before, allocationId, slots);
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
      machines.push(...(await removeMachine(ctx, act, id)));
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
      isolation: await lookAfter(ctx, act, {
        gone: [
          { allocation_id: allocationId, mac_address: boot.mac_address, private_ip: boot.private_ip },
          ...ended.map(goneOf),
        ],
        partition_ids,
        fabric_functions: await clearFunctions(ctx, act, slots),
      }),
    };
    const proven = provenSlots(slots, output);
    if (proven.size === slots.length) await changeLeases(ctx.state, (before) => releaseSlots(before, proven));
    return output;
  });
