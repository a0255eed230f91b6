/**
 * Differences between the host and its bundle leases, each with a stable code and a sentence. Pure. A VM without our
 * tag is reported and never changed; a lease is compared only while it is in use.
 */
import type { FabricPartition, HostDrift, PciFunction, TaskSlot } from '@gpuaas/contract/node';
import type { DhcpLease, Port, SeenDomain } from '../host/host.ts';
import type { Lease } from '../leases.ts';
import { isOffTheBus } from '../tasks/bundle-slot.ts';
import { domainName } from '../tasks/names.ts';

/** Parts of a host that may be unreadable while the rest is seen. */
export type Part = 'ports' | 'pci' | 'fabric';

export type HostState = Readonly<{
  leases: readonly Lease[];
  domains: readonly SeenDomain[];
  ports: readonly Port[];
  pci: readonly PciFunction[];
  partitions: readonly FabricPartition[];
  /** Names of removed VMs that left something. */
  leftovers: readonly string[];
  /** Of running VMs, by allocation. */
  addresses: ReadonlyMap<string, DhcpLease>;
  /** VMs whose guest report is stale, by allocation: since when. */
  reports_stale_since: ReadonlyMap<string, string>;
  /** The unreadable parts. Their lists above are empty, which means nothing: no drift is concluded from them. */
  unread: ReadonlySet<Part>;
}>;

/** A VM is managed if it has the tag and the matching name. */
export const isManaged = (domain: Pick<SeenDomain, 'name' | 'allocation_id'>): boolean =>
  domain.allocation_id !== null && domain.name === domainName(domain.allocation_id);

/** The allocation whose VM has this name. */
export const allocationNamed = (name: string): string => name.replace(/^gpuaas-/, '').replace('-', '_');

type About = Partial<Pick<HostDrift, 'allocation_id' | 'slot_id'>>;
const drift = (code: string, message: string, about: About = {}): HostDrift => ({
  code,
  message: message.slice(0, 500),
  allocation_id: about.allocation_id ?? null,
  slot_id: about.slot_id ?? null,
});

const driftOfVm = (domain: SeenDomain, leases: readonly Lease[]): readonly HostDrift[] => {
  const { name, allocation_id, state } = domain;
  if (allocation_id !== null && !isManaged(domain))
    return [drift('unknown_vm', `VM ${name} has the tag of ${allocation_id} under another name.`)];
  if (!isManaged(domain))
    return [drift('unknown_vm', `VM ${name} is not managed by GPUaaS. The agent does not change it.`)];
  if (leases.some((lease) => lease.allocation_id === allocation_id)) return [];
  const message = `VM ${name} (${state}) has no bundle lease on this host. The agent does not change it.`;
  return [drift('vm_without_lease', message, { allocation_id })];
};

/** Fabric Manager loses its active partitions at a restart; the guest then has no NVLink. */
export const isJoined = ({ plan }: Lease, partitions: readonly FabricPartition[]): boolean =>
  plan.fabric_partition_id === null ||
  partitions.some((each) => each.partition_id === plan.fabric_partition_id && each.is_active);

const driftOfBinding = (pci: readonly PciFunction[], slot: TaskSlot, allocationId: string): readonly HostDrift[] =>
  [slot.gpu_pci_address, slot.fabric_vf_pci_address].flatMap((address) => {
    const found = pci.find((each) => each.address === address);
    const finding = (code: string, message: string) => [
      drift(code, message, { allocation_id: allocationId, slot_id: slot.slot_id }),
    ];
    if (found === undefined) return finding('device_missing', `Device ${address} is not on the host.`);
    if (isOffTheBus(found)) return finding('device_silent', `Device ${address} does not respond on the PCI bus.`);
    if (found.driver !== 'vfio-pci')
      return finding('device_unbound', `Device ${address} is bound to ${found.driver ?? 'no driver'}, not vfio-pci.`);
    return [];
  });

const driftOfAddress = (lease: Lease, address: DhcpLease | undefined, about: About): readonly HostDrift[] => {
  const { mac_address: mac, private_ip: expected } = lease.plan;
  if (address === undefined) return [];
  if (address.state === 'conflict')
    return [
      drift(
        'address_conflict',
        `${expected} belongs to MAC ${mac} but is used by MAC ${address.other_mac ?? 'unknown'}.`,
        about,
      ),
    ];
  if (address.state === 'bound' && address.ip !== expected)
    return [
      drift('address_wrong', `MAC ${mac} was given ${address.ip ?? 'no address'} instead of ${expected}.`, about),
    ];
  return [];
};

/** A lease that was never used, or is being cleaned up, has no required state on the host. */
const driftOfLease = (lease: Lease, hostState: HostState): readonly HostDrift[] => {
  if (lease.touched_at === null || lease.cleaning_since !== null) return [];
  const { allocation_id } = lease;
  const about = { allocation_id };
  const name = domainName(allocation_id);
  const domain = hostState.domains.find((each) => each.name === name);
  if (lease.wanted === 'off')
    return domain === undefined || domain.state === 'shut_off'
      ? []
      : [drift('vm_running_unexpectedly', `VM ${name} is ${domain.state}, but was switched off.`, about)];
  if (domain === undefined)
    return [drift('vm_missing', `Allocation ${allocation_id} has a bundle lease, but no VM on this host.`, about)];
  if (domain.state !== 'running') return [drift('vm_off', `VM ${name} is ${domain.state}.`, about)];
  const silentSince = hostState.reports_stale_since.get(allocation_id);
  return [
    ...(hostState.unread.has('ports') || hostState.ports.some((port) => port.name === lease.plan.ovs_port)
      ? []
      : [drift('port_missing', `VM ${name} runs without its port ${lease.plan.ovs_port}.`, about)]),
    ...(hostState.unread.has('fabric') || isJoined(lease, hostState.partitions)
      ? []
      : [
          drift(
            'partition_inactive',
            `VM ${name} runs, but fabric partition ${lease.plan.fabric_partition_id} is not active.`,
            about,
          ),
        ]),
    ...(hostState.unread.has('pci')
      ? []
      : lease.slots.flatMap((slot) => driftOfBinding(hostState.pci, slot, allocation_id))),
    ...driftOfAddress(lease, hostState.addresses.get(allocation_id), about),
    ...(silentSince === undefined
      ? []
      : [drift('guest_report_stale', `The guest OS of ${name} has sent no report since ${silentSince}.`, about)]),
  ];
};

export const driftOf = (hostState: HostState): readonly HostDrift[] => {
  const { leases, domains, ports, partitions } = hostState;
  const held = new Set(leases.map((lease) => lease.plan.fabric_partition_id));
  const isLeased = (allocationId: string): boolean => leases.some((lease) => lease.allocation_id === allocationId);
  return [
    ...domains.flatMap((domain) => driftOfVm(domain, leases)),
    ...leases.flatMap((lease) => driftOfLease(lease, hostState)),
    ...ports
      .filter((port) => !leases.some((lease) => lease.plan.ovs_port === port.name))
      .map(({ name, allocation_id }) =>
        drift('port_without_lease', `Port ${name} of allocation ${allocation_id} is attached without a bundle lease.`, {
          allocation_id,
        }),
      ),
    ...partitions
      .filter((partition) => partition.is_active && !held.has(partition.partition_id))
      .map(({ partition_id }) =>
        drift('partition_without_lease', `Fabric partition ${partition_id} is active without a bundle lease.`),
      ),
    ...hostState.leftovers
      .filter((name) => !isLeased(allocationNamed(name)))
      .map((name) =>
        drift('vm_files_left', `VM ${name} no longer exists but left files.`, {
          allocation_id: allocationNamed(name),
        }),
      ),
  ];
};
