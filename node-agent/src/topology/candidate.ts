/** A place and the facts about its parts, as a candidate. */
import type { Candidate, DiskFacts, GpuFacts, HostFacts, NicFacts, PciFunction } from '@gpuaas/contract/node';
import { blockersOf } from './blockers.ts';
import { idOf, isBridge } from './kinds.ts';
import type { Place } from './places.ts';
import { compareAddress, deviceOf, factOf } from './read.ts';
import { macOf, ovsPortOf, privateIpOf } from './suggest.ts';

export type Settings = Readonly<{
  node_id: string;
  accelerators: readonly string[];
  fabric_functions?: readonly string[];
  private_network: string;
}>;

export type Known = Readonly<{
  functions: ReadonlyMap<string, PciFunction>;
  /** Members of the group a function is in. */
  groups: ReadonlyMap<string, Readonly<{ group: number; addresses: readonly string[] }>>;
  gpus: ReadonlyMap<string, GpuFacts>;
  nics: ReadonlyMap<string, NicFacts>;
  disks: ReadonlyMap<string, readonly DiskFacts[]>;
}>;

export const knownOf = (facts: HostFacts): Known => ({
  functions: new Map(factOf(facts.pci)?.map((fn) => [fn.address, fn])),
  groups: new Map(
    factOf(facts.iommu_groups)?.flatMap((group) => group.addresses.map((address) => [address, group] as const)),
  ),
  gpus: new Map(factOf(facts.gpus)?.map((gpu) => [gpu.pci_address, gpu])),
  nics: new Map(factOf(facts.nics)?.map((nic) => [nic.pci_address, nic])),
  disks: Map.groupBy(
    (factOf(facts.disks) ?? []).filter((disk) => disk.pci_address !== null),
    (disk) => disk.pci_address ?? '',
  ),
});

/** The wipe methods that the disk itself reports. Cryptographic erase first: it covers every cell at once. */
const wipePolicyOf = (disk: DiskFacts | null): Candidate['wipe_method'] => {
  const erase = disk === null ? null : factOf(disk.erase);
  if (erase === null) return null;
  if (erase.sanitize_crypto) return 'nvme_sanitize';
  if (erase.format_crypto && erase.format) return 'nvme_format';
  if (erase.sanitize_block) return 'nvme_sanitize';
  if (erase.format) return 'nvme_format';
  return erase.discard ? 'blkdiscard' : null;
};

/**
 * Other devices in the groups that VFIO would take. The disk counts as one of them: it stays with the host's driver,
 * and a group with a host driver cannot be passed through.
 */
const otherDevicesOf = (known: Known, given: readonly string[]): string[] => {
  const devices = new Set(
    given.filter((address) => known.functions.get(address)?.physical_function === null).map(deviceOf),
  );
  const members = given.flatMap((address) => known.groups.get(address)?.addresses ?? []);
  return [...new Set(members)]
    .filter((address) => {
      const fn = known.functions.get(address);
      if (given.includes(address) || (fn !== undefined && isBridge(fn))) return false;
      // Other functions of the GPU itself, such as its audio, go with it.
      return !(devices.has(deviceOf(address)) && fn?.physical_function == null);
    })
    .sort(compareAddress);
};

export const candidateOf = (
  facts: HostFacts,
  known: Known,
  settings: Settings,
  place: Place,
  slotIndex: number,
): Candidate => {
  const gpu = place.gpu === null ? undefined : known.gpus.get(place.gpu.address);
  const disks = place.drive === null ? [] : (known.disks.get(place.drive.address) ?? []);
  const disk = disks.toSorted((a, b) => (a.name < b.name ? -1 : 1))[0] ?? null;
  const vfNic = place.vf === null ? undefined : known.nics.get(place.vf);
  const given = [place.gpu?.address, place.vf].filter((address) => typeof address === 'string');
  const found: Omit<Candidate, 'blockers'> = {
    slot_index: slotIndex,
    gpu_pci_address: place.gpu?.address ?? null,
    gpu_uuid: gpu?.uuid ?? null,
    gpu_vendor_device: place.gpu === null ? null : idOf(place.gpu),
    gpu_model: gpu?.model ?? null,
    module_id: gpu?.module_id ?? null,
    mig_mode: gpu?.mig_mode ?? null,
    mediated_devices: place.gpu?.mediated_devices ?? 0,
    numa_node: place.gpu?.numa_node ?? place.drive?.numa_node ?? null,
    upstream_port: place.upstream_port,
    iommu_group: place.gpu === null ? null : (known.groups.get(place.gpu.address)?.group ?? null),
    iommu_group_other_devices: otherDevicesOf(known, given),
    nvme_serial: disk?.serial ?? null,
    nvme_device: disk?.device ?? null,
    nvme_size_bytes: disk?.size_bytes ?? null,
    nvme_mounts: disk?.mounts.toSorted() ?? [],
    nvme_holders: disk?.holders.toSorted() ?? [],
    nvme_filesystems: disk?.filesystems.toSorted() ?? [],
    wipe_method: wipePolicyOf(disk),
    fabric_parent_pci_address: place.card?.address ?? null,
    fabric_claim_mode: place.card === null ? null : place.vf === null ? 'shared' : 'per_slot_vf',
    fabric_vf_pci_address: place.vf,
    fabric_vf_guid: vfNic?.guid ?? null,
    mac_address: macOf(settings.node_id, slotIndex),
    private_ip: privateIpOf(settings.private_network, slotIndex),
    ovs_port: ovsPortOf(slotIndex),
  };
  return {
    ...found,
    blockers: blockersOf({
      place,
      facts,
      found,
      disk: disk === null ? null : { ...disk, namespaces: Math.max(disk.namespaces ?? 0, disks.length) || null },
      vf_nic: vfNic,
      card_nic: place.card === null ? undefined : known.nics.get(place.card.address),
      vf_iommu_group: place.vf === null ? null : (known.groups.get(place.vf)?.group ?? null),
    }),
  };
};
