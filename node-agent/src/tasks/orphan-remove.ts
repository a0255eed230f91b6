/**
 * `slice.orphan_remove`: a machine that carries our tag and that nobody holds, removed because an operator asked for it by
 * name. It is refused while this host has a lease for it, and for a machine whose tag is not the one that was named. Drives
 * are not touched: what is on them is erased, with proof, by the repair of their slots.
 */
import { HostError } from '../host/host.ts';
import { findLease, readLeases } from '../leases.ts';
import { detachNetwork, removeMachine } from './cleanup.ts';
import { exclusive } from './exclusive.ts';
import { domainName } from './names.ts';
import type { TaskHandler } from './task.ts';

export const orphanRemove: TaskHandler<'slice.orphan_remove'> = (ctx, { allocation_id: id }) =>
  exclusive(ctx, [`machine ${id}`], async (act) => {
    if (findLease(await readLeases(ctx.state), id) !== undefined)
      throw new HostError('conflict', `allocation ${id} has a lease on this host; release it instead`);
    const name = domainName(id);
    const { domains } = await act('looking at the machines', ctx.host.hypervisor.inspect());
    const domain = domains.find((each) => each.name === name);
    if (domain === undefined) return { removed: [] };
    if (domain.allocation_id !== id)
      throw new HostError('conflict', `domain ${name} does not carry the tag of allocation ${id}; it is left alone`);
    const ports = await act('listing ports', ctx.host.network.ports());
    const port = ports.find((each) => each.allocation_id === id);
    await act(`the stop of ${name}`, ctx.host.hypervisor.stop(name, 0));
    const network =
      port === undefined
        ? []
        : (await detachNetwork(ctx, act, { allocation_id: id, mac_address: port.mac_address })).was_there
          ? [`port ${port.name}`]
          : [];
    return { removed: [...network, ...(await removeMachine(ctx, act, id))] };
  });
