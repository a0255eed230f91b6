/**
 * Automatic repairs. They risk no tenant data: what a restart of switch, firewall or Fabric Manager removed from
 * running VMs is restored, and leftovers of allocations are removed once the control plane confirmed that they have no
 * claim. No VM is started, stopped or removed here, managed or not: that takes a task. A partition has no owner mark,
 * so one without a bundle lease is reported and stays.
 */
import type { Log } from '@gpuaas/kit';
import { type Host, HostError } from '../host/host.ts';
import { type Lease, readLeases } from '../leases.ts';
import { domainName } from '../tasks/names.ts';
import { partitionsInUse } from '../tasks/partition.ts';
import { allocationNamed, type HostState, isJoined } from './drift.ts';

type Repair = Readonly<{ host: Host; state: string; log: Log }>;

/** A failed repair does not stop the others; the remaining drift reports it. */
const tried = async ({ log }: Repair, what: string, work: () => Promise<unknown>): Promise<readonly string[]> => {
  try {
    await work();
    return [what];
  } catch (err) {
    log.warn({ err }, `failed to repair: ${what}`);
    return [];
  }
};

/** A restarted switch has closed the ports of VMs that still run. */
export const restoreNetwork = async ({ host, log }: Repair): Promise<readonly string[]> => {
  try {
    return (await host.network.restore?.()) ?? [];
  } catch (err) {
    // A host whose network is not configured yet has nothing to restore.
    if (!(err instanceof HostError) || (err.code !== 'blocked' && err.code !== 'unsupported'))
      log.warn({ err }, 'failed to restore the network of VMs');
    return [];
  }
};

const isRunningLease = (lease: Lease, { domains }: HostState): boolean =>
  lease.touched_at !== null &&
  lease.cleaning_since === null &&
  lease.wanted === 'on' &&
  domains.some((one) => one.name === domainName(lease.allocation_id) && one.state === 'running');

/**
 * Fabric Manager loses its list of active partitions at a restart, so the agent declares those of running VMs again. A
 * declaration replaces the whole list, so one call names them all, also those it still has.
 */
export const redeclarePartitions = async (repair: Repair, hostState: HostState): Promise<readonly string[]> => {
  const isKnown = (id: number): boolean => hostState.partitions.some((partition) => partition.partition_id === id);
  const lost = hostState.leases.filter(
    (lease) =>
      isKnown(lease.plan.fabric_partition_id ?? -1) &&
      !isJoined(lease, hostState.partitions) &&
      isRunningLease(lease, hostState),
  );
  if (lost.length === 0) return [];
  const ids = partitionsInUse(hostState.leases, hostState.domains).filter(isKnown);
  const owner = lost.map((lease) => `${lease.plan.fabric_partition_id} for ${lease.allocation_id}`).join(', ');
  const what = `declared fabric partition ${owner} active again`;
  return tried(repair, what, () => repair.host.fabric.declare(ids));
};

/**
 * Ports, reservations, translation and seeds of allocations without a claim. Checked again just before: a lease may
 * have been taken since.
 */
export const clearLeftovers = async (repair: Repair, unclaimed: readonly string[]): Promise<readonly string[]> => {
  const { host, state } = repair;
  if (unclaimed.length === 0) return [];
  const [{ leases }, vms, ports] = await Promise.all([
    readLeases(state),
    host.hypervisor.inspect(),
    host.network.ports(),
  ]);
  const done: string[] = [];
  for (const id of new Set(unclaimed)) {
    const name = domainName(id);
    if (leases.some((lease) => lease.allocation_id === id)) continue;
    if (vms.domains.some((domain) => domain.name === name || domain.allocation_id === id)) continue;
    for (const port of ports.filter((each) => each.allocation_id === id))
      done.push(...(await tried(repair, `removed port ${port.name} of ${id}`, () => host.network.detach(port))));
    if (vms.leftovers.some((left) => allocationNamed(left) === id))
      done.push(...(await tried(repair, `removed leftovers of ${name}`, () => host.hypervisor.remove(name))));
  }
  return done;
};
