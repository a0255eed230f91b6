/**
 * `slice.orphan_remove`: removes a managed VM without a claim, named by an operator. It is refused if the VM's tag
 * differs from the named one, and while this host has a lease for it, unless the end of that lease was requested: a
 * control plane restored from a backup does not know the lease. Disks are not changed. The lease keeps its slots
 * blocked until they are wiped with proof, by a slot repair or by the cleanup of a later claim.
 */
import { dropKeys } from '../authorized-keys.ts';
import { HostError } from '../host/host.ts';
import { changeLeases, findLease, type Lease, putLease, readLeases } from '../leases.ts';
import { detachNetwork, removeVm } from './cleanup.ts';
import { domainName } from './names.ts';
import { deactivatePartition } from './partition.ts';
import type { TaskContext, TaskHandler } from './task.ts';
import { type Act, slotKeys, withLocks } from './task-locks.ts';

export const orphanRemove: TaskHandler<'slice.orphan_remove'> = async (ctx, { allocation_id: id, end_lease }) => {
  const lease = findLease(await readLeases(ctx.state), id);
  if (lease !== undefined && end_lease !== true)
    throw new HostError('conflict', `allocation ${id} has a lease on this host; release it instead`);
  return withLocks(ctx, [`VM ${id}`, ...slotKeys(lease?.slots ?? [])], async (act) => {
    const name = domainName(id);
    const { domains } = await act('listing the VMs', ctx.host.hypervisor.inspect());
    const domain = domains.find((each) => each.name === name);
    if (domain !== undefined && domain.allocation_id !== id)
      throw new HostError(
        'conflict',
        `VM ${name} does not have the tag of allocation ${id}. The agent does not change it.`,
      );
    await dropKeys(ctx.state, id, async () => undefined);
    const ended = lease === undefined ? [] : await endLease(ctx, id);
    if (domain !== undefined) await act(`the stop of ${name}`, ctx.host.hypervisor.stop(name, 0));
    const network = await detach(ctx, act, id, lease);
    const partition = lease === undefined ? [] : await leave(ctx, act, lease);
    const machine = domain === undefined ? [] : await removeVm(ctx, act, id);
    return { removed: [...ended, ...network, ...partition, ...machine] };
  });
};

/** Written before the VM is stopped: nothing is started for it any more, and its slots stay blocked. */
const endLease = async (ctx: TaskContext, id: string): Promise<readonly string[]> => {
  const now = ctx.now().toISOString();
  await changeLeases(ctx.state, (book) => {
    const lease = findLease(book, id);
    if (lease === undefined || lease.cleaning_since !== null) return book;
    return putLease(book, { ...lease, touched_at: lease.touched_at ?? now, cleaning_since: now });
  });
  return [`lease of allocation ${id}, once its slots are wiped`];
};

/** A single slot does not show a partition of several, so its cleanup alone would leave the partition active. */
const leave = async (ctx: TaskContext, act: Act, { plan }: Lease): Promise<readonly string[]> =>
  plan.fabric_partition_id !== null && (await deactivatePartition(ctx, act, plan.fabric_partition_id))
    ? [`fabric partition ${plan.fabric_partition_id}`]
    : [];

const detach = async (ctx: TaskContext, act: Act, id: string, lease: Lease | undefined): Promise<readonly string[]> => {
  const port = (await act('listing ports', ctx.host.network.ports())).find((each) => each.allocation_id === id);
  const mac_address = port?.mac_address ?? lease?.plan.mac_address;
  if (mac_address === undefined) return [];
  const { was_there } = await detachNetwork(ctx, act, { allocation_id: id, mac_address });
  return was_there ? [`port ${port?.name ?? ''}`.trim()] : [];
};
