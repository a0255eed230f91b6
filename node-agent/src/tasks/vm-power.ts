/**
 * `slice.vm_stop` and `slice.vm_reboot`. The guest OS is asked to shut down first and powered off if it does not; the
 * result says which. Only a domain with the allocation's tag is changed. The lease records beforehand whether the VM
 * should run, so that a stopped VM is not taken for a lost one.
 */
import type { TaskSlot } from '@gpuaas/contract/node';
import { type Domain, HostError } from '../host/host.ts';
import { findSameLease, getLease, readLeases, recordPower, refuseStale } from '../leases.ts';
import { domainName } from './names.ts';
import { deactivatePartition } from './partition.ts';
import type { TaskContext, TaskHandler } from './task.ts';
import { type Act, slotKeys, withLocks } from './task-locks.ts';

export const vmReboot: TaskHandler<'slice.vm_reboot'> = (ctx, params) =>
  withLocks(ctx, slotKeys(params.slots), async (act) => {
    getLease(await readLeases(ctx.state), params.allocation_id, params.slots);
    const domain = await findManaged(ctx, act, params);
    if (domain === undefined)
      throw new HostError('drift', `VM ${domainName(params.allocation_id)} is not on the host.`);
    await recordPower(ctx.state, params.allocation_id, 'on');
    if (!params.is_hard && (await rebootGracefully(ctx, act, domain))) return { how: 'graceful' as const };
    await act(`the reset of ${domain.name}`, ctx.host.hypervisor.reboot(domain.name, true));
    return { how: 'hard' as const };
  });

/** Gracefully, then by force. A missing VM counts as stopped. */
export const vmStop: TaskHandler<'slice.vm_stop'> = (ctx, params) =>
  withLocks(ctx, slotKeys(params.slots), async (act) => {
    const book = await readLeases(ctx.state);
    refuseStale(book, params.slots);
    const lease = findSameLease(book, params.allocation_id, params.slots);
    if (lease !== undefined) await recordPower(ctx.state, params.allocation_id, 'off');
    const domain = await findManaged(ctx, act, params);
    const how =
      domain === undefined
        ? ('absent' as const)
        : await act(`the stop of ${domain.name}`, ctx.host.hypervisor.stop(domain.name, params.grace_s, ctx.signal));
    // Deactivated at the end of the slice by its cleanup, with the other proofs.
    const partition = params.will_start_again === true ? lease?.plan.fabric_partition_id : undefined;
    if (partition != null) await deactivatePartition(ctx, act, partition);
    return { how };
  });

/** False if the guest OS did not shut down for it: a hanging guest OS is the reason for a reboot. */
const rebootGracefully = async (ctx: TaskContext, act: Act, domain: Domain): Promise<boolean> => {
  try {
    await act(`the reboot of ${domain.name}`, ctx.host.hypervisor.reboot(domain.name, false));
    return true;
  } catch (err) {
    if (!(err instanceof HostError) || err.code !== 'timeout' || ctx.signal.aborted) throw err;
    ctx.log.warn({ domain: domain.name, err }, 'guest OS ignored the reboot request; resetting the VM');
    return false;
  }
};

const findManaged = async (
  ctx: TaskContext,
  act: Act,
  params: Readonly<{ allocation_id: string; slots: readonly TaskSlot[] }>,
): Promise<Domain | undefined> => {
  const name = domainName(params.allocation_id);
  const domain = (await act('listing the domains', ctx.host.hypervisor.list())).find((each) => each.name === name);
  if (domain !== undefined && domain.allocation_id !== params.allocation_id)
    throw new HostError('conflict', `VM ${name} does not have the tag of allocation ${params.allocation_id}.`);
  return domain;
};
