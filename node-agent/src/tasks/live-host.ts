/** The state of the host for checking a bundle, read at once. Anything unreadable refuses the bundle. */
import type { DiskFacts, FabricFacts, NetworkFacts, NicFacts, PciFunction, SystemFacts } from '@gpuaas/contract/node';
import type { Domain, Host, Port } from '../host/host.ts';
import type { Present } from '../leases.ts';
import { type DeviceIds, NO_IDS } from '../topology/device-ids.ts';

export type LiveHost = Readonly<{
  pci: readonly PciFunction[];
  groups: ReadonlyArray<Readonly<{ group: number; addresses: readonly string[] }>>;
  disks: readonly DiskFacts[];
  nics: readonly NicFacts[];
  fabric: FabricFacts;
  network: NetworkFacts;
  ports: readonly Port[];
  domains: readonly Domain[];
  system: SystemFacts;
  ids: DeviceIds;
}>;

export const readLiveHost = async (host: Host): Promise<LiveHost> => {
  const [pci, groups, disks, nics, fabric, network, ports, domains, system] = await Promise.all([
    host.pci.list(),
    host.pci.iommuGroups(),
    host.disks.list(),
    host.network.nics(),
    host.fabric.facts(),
    host.network.facts(),
    host.network.ports(),
    host.hypervisor.list(),
    host.system.facts(),
  ]);
  return { pci, groups, disks, nics, fabric, network, ports, domains, system, ids: host.devices ?? NO_IDS };
};

export const presentOn = (live: Pick<LiveHost, 'domains' | 'ports'>): Present => ({
  allocations: new Set([
    ...live.domains.flatMap((domain) => domain.allocation_id ?? []),
    ...live.ports.map((port) => port.allocation_id),
  ]),
  ports: new Set(live.ports.map((port) => port.name)),
});
