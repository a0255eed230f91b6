/** `slice.vm_reboot` and `slice.vm_stop`. Only a domain that carries the allocation's tag is touched. */
import type { TaskSlot } from '@gpuaas/contract/node';
import { type Domain, HostError } from '../host/host.ts';
import { getLease, readLeases, refuseStale } from '../leases.ts';
import { type Act, exclusive, slotKeys } from './exclusive.ts';
import { domainName } from './names.ts';
import type { TaskContext, TaskHandler } from './task.ts';

export const vmReboot: TaskHandler<'slice.vm_reboot'> = (ctx, params) =>
  exclusive(ctx, slotKeys(params.slots), async (act) => {
    getLease(await readLeases(ctx.state), params.allocation_id, params.slots);
    const domain = await findOwn(ctx, act, params);
    if (domain === undefined)
      throw new HostError('drift', `domain ${domainName(params.allocation_id)} is not on the host`);
    await act(`the reboot of ${domain.name}`, ctx.host.hypervisor.reboot(domain.name, params.is_hard));
    return {};
  });

/** Gracefully, then by force. What is not there is stopped. */
export const vmStop: TaskHandler<'slice.vm_stop'> = (ctx, params) =>
  exclusive(ctx, slotKeys(params.slots), async (act) => {
    refuseStale(await readLeases(ctx.state), params.slots);
    const domain = await findOwn(ctx, act, params);
    if (domain === undefined) return { how: 'absent' as const };
    return { how: await act(`the stop of ${domain.name}`, ctx.host.hypervisor.stop(domain.name, params.grace_s)) };
  });

const findOwn = async (
  ctx: TaskContext,
  act: Act,
  params: Readonly<{ allocation_id: string; slots: readonly TaskSlot[] }>,
): Promise<Domain | undefined> => {
  const name = domainName(params.allocation_id);
  const domain = (await act('listing the domains', ctx.host.hypervisor.list())).find((each) => each.name === name);
  if (domain !== undefined && domain.allocation_id !== params.allocation_id)
    throw new HostError('conflict', `domain ${name} does not carry the tag of allocation ${params.allocation_id}`);
  return domain;
};
