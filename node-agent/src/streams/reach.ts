/**
 * What a session may reach, from the host's own state: the running VM leased to the allocation, or the allocation's
 * account. The task names an allocation and no address, so a forged task cannot point at a neighbor. Refusals are shown
 * to the tenant and reveal nothing about the host.
 */
import { readKeySets } from '../authorized-keys.ts';
import type { Host } from '../host/host.ts';
import { findLease, readLeases } from '../leases.ts';
import { domainName } from '../tasks/names.ts';

/** A sentence for the tenant. */
export class Refusal extends Error {
  override name = 'Refusal';
}

export type Reach = Readonly<{
  /** Null: the host itself. */
  address: string | null;
  machine: string | null;
  username: string;
}>;

type Place = Readonly<{ host: Host; state: string }>;
type SessionTarget = Readonly<{ allocation_id: string; username: string | null }>;

const reachVm = async ({ host, state }: Place, allocationId: string): Promise<Reach> => {
  const lease = findLease(await readLeases(state), allocationId);
  if (lease === undefined) throw new Refusal('The VM no longer exists on this host.');
  if (lease.cleaning_since !== null) throw new Refusal('The allocation is being released.');
  const machine = domainName(allocationId);
  const domains = await host.hypervisor.list();
  const domain = domains.find((one) => one.name === machine && one.allocation_id === allocationId);
  if (domain?.state !== 'running') throw new Refusal('The VM is off. Start it, then connect again.');
  return { address: lease.plan.private_ip, machine, username: host.access?.guest_username ?? '' };
};

const reachNode = async ({ host, state }: Place, allocationId: string, username: string): Promise<Reach> => {
  const sets = await readKeySets(state);
  const other = sets.find((one) => one.username === username && one.allocation_id !== allocationId);
  if (other !== undefined || !(await host.system.hasUser(username)))
    throw new Refusal('The user no longer exists on this host.');
  return { address: null, machine: null, username };
};

/**
 * Checked again after the dial: meanwhile the VM may be gone and the address may belong to the next tenant. Nothing of
 * the earlier session may be sent there.
 */
export const refuseMoved = async (place: Place, asked: SessionTarget, { address }: Reach): Promise<void> => {
  if (asked.username !== null) return void (await reachNode(place, asked.allocation_id, asked.username));
  const lease = findLease(await readLeases(place.state), asked.allocation_id);
  if (lease === undefined || lease.cleaning_since !== null || lease.plan.private_ip !== address)
    throw new Refusal('The VM no longer exists on this host.');
};

export const findReach = (place: Place, { allocation_id, username }: SessionTarget): Promise<Reach> =>
  username === null ? reachVm(place, allocation_id) : reachNode(place, allocation_id, username);
