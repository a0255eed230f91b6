/**
 * What both cleanups share. The order ensures isolation: the network first, so that nothing being cleaned is reachable;
 * then the disks; then definition, seed, addresses, port and partition; then the GPUs. A failed step does not stop the
 * others, but nothing is released until everything is proven.
 */
import type { TaskOutput, TaskSlot, WipeLevel } from '@gpuaas/contract/node';
import { dropKeys } from '../authorized-keys.ts';
import { HostError } from '../host/host.ts';
import type { Lease, LeaseFile } from '../leases.ts';
import { resetGpu } from './gpu-reset.ts';
import type { FormerVm } from './isolation.ts';
import { domainName, portName } from './names.ts';
import type { TaskContext } from './task.ts';
import type { Act } from './task-locks.ts';
import { type WipeTarget, wipeDisk } from './wipe.ts';

export type CleanupOutput = TaskOutput<'slice.cleanup'>;

export const targetOf = (slot: TaskSlot): WipeTarget => ({
  serial: slot.nvme_serial,
  device: slot.nvme_device,
  policy: slot.wipe_method,
  slot: { slot_id: slot.slot_id, generation: slot.generation },
});

/** A VM that is not off may use its disks and GPUs. Only a VM that is off is cleaned up. */
export const refuseRunning = async (ctx: TaskContext, act: Act, allocationIds: readonly string[]): Promise<void> => {
  const domains = await act('listing the domains', ctx.host.hypervisor.list());
  const on = domains.find(
    (domain) =>
      domain.allocation_id !== null && allocationIds.includes(domain.allocation_id) && domain.state !== 'shut_off',
  );
  if (on !== undefined)
    throw new HostError('blocked', `VM ${on.name} is ${on.state}. Stop it before its slots are cleaned.`);
};

/** Port, address reservation and NAT. True if a read afterwards finds none of it. */
export const detachNetwork = async (
  ctx: TaskContext,
  act: Act,
  given: Readonly<{ allocation_id: string; mac_address: string }>,
): Promise<Readonly<{ is_detached: boolean; was_there: boolean }>> => {
  const port = { name: portName(given.allocation_id), mac_address: given.mac_address };
  const wasThere = await act(`detaching ${port.name}`, ctx.host.network.detach(port));
  const left = await act('listing ports', ctx.host.network.ports());
  return {
    was_there: wasThere,
    is_detached: !left.some(
      (each) => each.name === port.name || each.mac_address.toLowerCase() === port.mac_address.toLowerCase(),
    ),
  };
};

/**
 * In parallel: eight disks that each take an hour take one hour together. A failure does not stop the others, and
 * nothing keeps running after the task.
 */
export const wipeAll = async (
  ctx: TaskContext,
  act: Act,
  targets: readonly WipeTarget[],
  minimum: WipeLevel,
): Promise<Pick<CleanupOutput, 'disks' | 'blocked'>> => {
  const disks: CleanupOutput['disks'] = [];
  const blocked: CleanupOutput['blocked'] = [];
  let ended = 0;
  const report = (): void =>
    ctx.progress({
      percent: 10 + Math.floor((70 * ended) / Math.max(1, targets.length)),
      note: `${ended} of ${targets.length} disks are wiped`,
    });
  report();
  const wiping = await Promise.allSettled(
    targets.map((target) =>
      wipeDisk(ctx, act, target, minimum).finally(() => {
        ended += 1;
        report();
      }),
    ),
  );
  for (const [index, wiped] of wiping.entries()) {
    if (wiped.status === 'rejected') throw wiped.reason;
    const serial = targets[index]?.serial ?? '';
    if ('evidence' in wiped.value) disks.push(wiped.value.evidence);
    else {
      ctx.log.warn({ serial, reason: wiped.value.blocked }, 'wipe of a disk is blocked');
      blocked.push({ serial, reason: wiped.value.blocked });
    }
  }
  return { disks, blocked };
};

/** Keys, definition and seed of the allocation's VM. A domain without its tag is left alone. */
export const removeVm = async (ctx: TaskContext, act: Act, allocationId: string): Promise<readonly string[]> => {
  await dropKeys(ctx.state, allocationId, async () => undefined);
  const name = domainName(allocationId);
  const domains = await act('listing the domains', ctx.host.hypervisor.list());
  const domain = domains.find((each) => each.name === name);
  if (domain !== undefined && domain.allocation_id !== allocationId)
    throw new HostError('conflict', `VM ${name} does not have the tag of allocation ${allocationId}.`);
  // Called also when no domain is left: its seed may be.
  await act(`removing ${name}`, ctx.host.hypervisor.remove(name));
  return domain === undefined ? [] : [`VM ${name} and its seed`];
};

type Ending = Readonly<{ slots: readonly TaskSlot[]; leases: readonly Lease[] }>;

/**
 * The active partitions of ending leases, and those made only of the modules of these slots. A partition with further
 * modules belongs to another allocation. The same modules under another lease are impossible: the lease would have been
 * refused. `partition_ids` also names inactive partitions of the leases: their state is part of the proof.
 */
export const deactivatePartitions = async (
  ctx: TaskContext,
  act: Act,
  { slots, leases }: Ending,
): Promise<Readonly<{ deactivated: readonly number[]; partition_ids: readonly number[] }>> => {
  const modules = new Set(slots.flatMap((slot) => slot.module_id ?? []));
  const leased = leases.flatMap(({ plan }) => plan.fabric_partition_id ?? []);
  if (modules.size === 0 && leased.length === 0) return { deactivated: [], partition_ids: [] };
  const { partitions } = await act('reading the fabric', ctx.host.fabric.facts());
  const isWithin = (ids: readonly number[]): boolean => ids.length > 0 && ids.every((module) => modules.has(module));
  const own = partitions.filter(
    (each) => each.is_active && (leased.includes(each.partition_id) || isWithin(each.module_ids)),
  );
  for (const { partition_id } of own)
    await act(`fabric partition ${partition_id}`, ctx.host.fabric.deactivate(partition_id));
  const deactivated = own.map((each) => each.partition_id);
  return { deactivated, partition_ids: [...new Set([...leased, ...deactivated])] };
};

/** Ports of leases that have ended. */
export const detachLeases = async (
  ctx: TaskContext,
  act: Act,
  leases: readonly Lease[],
): Promise<Readonly<{ is_detached: boolean; removed: readonly string[] }>> => {
  const removed: string[] = [];
  let isDetached = true;
  for (const { allocation_id, plan } of leases) {
    const network = await detachNetwork(ctx, act, { allocation_id, mac_address: plan.mac_address });
    isDetached &&= network.is_detached;
    if (network.was_there) removed.push(`OVS port of allocation ${allocation_id}`);
  }
  return { is_detached: isDetached, removed };
};

/** The parts of an ended lease that are searched for. */
export const formerVmsOf = ({ allocation_id, plan }: Lease): FormerVm => ({
  allocation_id,
  mac_address: plan.mac_address,
  private_ip: plan.private_ip,
});

export const resetGpus = async (
  ctx: TaskContext,
  act: Act,
  slots: readonly TaskSlot[],
): Promise<CleanupOutput['gpu_resets']> => {
  const resets: CleanupOutput['gpu_resets'] = [];
  for (const slot of slots) resets.push(await resetGpu(ctx, act, slot));
  return resets;
};

/**
 * The slots whose disk, GPU and fabric function are all verified; none while a part of the VM is not shown to be off.
 */
export const provenSlots = (
  slots: readonly TaskSlot[],
  output: Pick<CleanupOutput, 'disks' | 'gpu_resets' | 'isolation' | 'network_detached'>,
): ReadonlySet<string> => {
  const { isolation } = output;
  if (!output.network_detached || !isolation.partitions.every((one) => one.is_deactivated)) return new Set();
  return new Set(
    slots
      .filter(
        (slot) =>
          output.disks.some((disk) => disk.slot_id === slot.slot_id && disk.is_verified) &&
          output.gpu_resets.some((reset) => reset.gpu_pci_address === slot.gpu_pci_address && reset.is_ok) &&
          isolation.fabric_functions.some(
            (one) => one.fabric_vf_pci_address === slot.fabric_vf_pci_address && one.is_cleared,
          ),
      )
      .map((slot) => slot.slot_id),
  );
};

const sharesSlot = (lease: Lease, slots: readonly TaskSlot[]) =>
  lease.slots.find((slot) =>
    slots.some((each) => each.slot_id === slot.slot_id || each.nvme_serial === slot.nvme_serial),
  );

/** Ended leases of other allocations on these slots, which only wait for a wipe. */
export const endedLeases = (book: LeaseFile, allocationId: string, slots: readonly TaskSlot[]): readonly Lease[] =>
  book.leases.filter(
    (lease) =>
      lease.allocation_id !== allocationId && lease.cleaning_since !== null && sharesSlot(lease, slots) !== undefined,
  );

/** A slot is not cleaned for one allocation while another holds it. */
export const refuseOtherLeases = (book: LeaseFile, allocationId: string | null, slots: readonly TaskSlot[]): void => {
  for (const lease of book.leases) {
    if (lease.allocation_id === allocationId || lease.cleaning_since !== null) continue;
    const held = sharesSlot(lease, slots);
    if (held !== undefined)
      throw new HostError('conflict', `slot ${held.slot_id} is leased to allocation ${lease.allocation_id}`);
  }
};
