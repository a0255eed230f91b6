/**
 * `slice.cleanup`: everything of a slice leaves the host, with proof. It may be interrupted anywhere and is done again
 * from the start: every step is an ensure, and a wipe that was not proven was not a wipe. The lease says from the first
 * moment that it is being cleaned and ends only when every disk and every GPU of it is proven.
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
  detachNetwork,
  endedLeases,
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
    await changeLeases(ctx.state, (book: LeaseBook) => {
      refuseStale(book, slots);
      refuseHeldByOthers(book, allocationId, slots);
      const lease = findLease(book, allocationId);
      const noted = noteGenerations(book, slots);
      return lease === undefined || lease.cleaning_since !== null
        ? noted
        : putLease(noted, { ...lease, touched_at: lease.touched_at ?? now, cleaning_since: now });
    });

    const boot = bootSlot(slots);
    const network = await detachNetwork(ctx, act, {
      allocation_id: allocationId,
      mac_address: boot.mac_address,
    });
    const wiped = await wipeAll(ctx, act, slots.map(targetOf), params.wipe_minimum ?? 'clear');
    ctx.progress({ percent: 85, note: 'removing the machine' });
    const machine = await removeMachine(ctx, act, allocationId);
    const partitions = await deactivatePartitions(ctx, act, slots);
    ctx.progress({ percent: 90, note: 'resetting GPUs' });
    const gpu_resets = await resetGpus(ctx, act, slots);
    const output: CleanupOutput = {
      network_detached: network.is_detached,
      ...wiped,
      gpu_resets,
      removed: [
        ...(network.was_there ? ['OVS port, address reservation and NAT'] : []),
        ...machine,
        ...partitions.map((id) => `fabric partition ${id}`),
      ],
      isolation: await lookAfter(ctx, act, {
        gone: [{ allocation_id: allocationId, mac_address: boot.mac_address, private_ip: boot.private_ip }],
        partition_ids: partitions,
        fabric_functions: await clearFunctions(ctx, act, slots),
      }),
    };
    const proven = provenSlots(slots, output);
    if (output.network_detached && proven.size === slots.length)
      await changeLeases(ctx.state, (book) => releaseSlots(book, proven));
    return output;
  });
