/**
 * From facts to slots an operator may approve. Pure: the same facts give the same map, in any order. Nothing here is
 * schedulable; a candidate without blockers may be reviewed by an operator, no more.
 */
import type { HostFacts, PciFunction, TopologyMap } from '@gpuaas/contract/node';
import { candidateOf, knownOf, type Settings } from './candidate.ts';
import { type Place, placesOf } from './places.ts';
import { prerequisitesOf } from './prerequisites.ts';
import { compareAddress, factOf } from './read.ts';

export { mapHash } from '@gpuaas/contract/node';
export type { Settings } from './candidate.ts';

const SLOTS_MAX = 64;

/** Without the PCI tree nothing can be paired. GPUs that the driver lists are reported anyway, blocked. */
const unpaired = (facts: HostFacts): Place[] =>
  (factOf(facts.gpus) ?? [])
    .map((gpu) => gpu.pci_address)
    .sort(compareAddress)
    .map((address) => ({
      upstream_port: null,
      gpu: unknownFunction(address),
      drive: null,
      boot_drives: [],
      card: null,
      vf: null,
      vfs_of_card: 0,
    }));

const unknownFunction = (address: string): PciFunction => ({
  address,
  vendor_id: '0000',
  device_id: '0000',
  subsystem_vendor_id: null,
  subsystem_device_id: null,
  class_code: '000000',
  driver: null,
  numa_node: null,
  iommu_group: null,
  upstream_port: null,
  root_port: null,
  bars: [],
  physical_function: null,
  virtual_functions: [],
  virtual_functions_max: 0,
  link: null,
  reset_methods: [],
  mediated_devices: 0,
});

export const topologyOf = (facts: HostFacts, settings: Settings): TopologyMap => {
  const known = knownOf(facts);
  const functions = factOf(facts.pci);
  const places =
    functions === null
      ? unpaired(facts)
      : placesOf({
          functions,
          accelerators: settings.accelerators,
          fabric_functions: settings.fabric_functions ?? [],
          disks: factOf(facts.disks) ?? [],
          nics: known.nics,
        });
  const candidates = places
    .slice(0, SLOTS_MAX)
    .map((place, index) => candidateOf(facts, known, settings, place, index))
    .map((candidate) => (functions === null ? { ...candidate, gpu_vendor_device: null } : candidate));
  const prerequisites = prerequisitesOf(facts, places);
  return {
    candidates,
    partitions: (factOf(facts.fabric)?.partitions ?? []).toSorted((a, b) => a.partition_id - b.partition_id),
    prerequisites,
    reboot_required: prerequisites.some((one) => !one.is_met && one.needs_reboot),
  };
};
