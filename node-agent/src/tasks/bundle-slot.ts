/** How a slot differs from its approval, with what was found and how to fix it. */

import type { DiskFacts, PciFunction, TaskSlot } from '@gpuaas/contract/node';
import type { HostErrorCode } from '../host/host.ts';
import { releasesGpu } from '../host/linux/gpu/vendors.ts';
import type { DeviceIds } from '../topology/device-ids.ts';
import { idOf, isWholeFabric } from '../topology/kinds.ts';
import type { LiveHost } from './live-host.ts';

export type Problem = Readonly<{ code: HostErrorCode; message: string }>;

const drift = (message: string): Problem => ({ code: 'drift', message });
const blocked = (message: string): Problem => ({ code: 'blocked', message });

export const slotProblems = (live: LiveHost, slot: TaskSlot): readonly Problem[] => [
  ...deviceProblems(live, slot),
  ...fabricProblems(live, slot),
  ...diskProblems(live.disks, slot),
];

type Devices = Pick<LiveHost, 'pci' | 'groups' | 'ids'>;

/** GPU and virtual function: present, alive, alone in their groups, and on vfio-pci or free to be bound to it. */
export const deviceProblems = (live: Devices, slot: TaskSlot): readonly Problem[] => {
  const gpu = live.pci.find((pci) => pci.address === slot.gpu_pci_address);
  const vf = live.pci.find((pci) => pci.address === slot.fabric_vf_pci_address);
  return [
    ...(gpu === undefined
      ? [drift(`GPU ${slot.gpu_pci_address} of slot ${slot.slot_index} is not on the host`)]
      : [...gpuProblems(gpu, live.ids), ...groupProblems(live, gpu, slot)]),
    ...(vf === undefined
      ? [drift(`virtual function ${slot.fabric_vf_pci_address} of slot ${slot.slot_index} is not on the host`)]
      : [...vfProblems(vf, live.ids), ...groupProblems(live, vf, slot)]),
  ];
};

export const isOffTheBus = (pci: PciFunction): boolean => pci.vendor_id === 'ffff' || pci.device_id === 'ffff';

const isGpu = (pci: PciFunction, { accelerators }: DeviceIds): boolean =>
  accelerators.includes(idOf(pci)) || pci.class_code.startsWith('03') || pci.class_code.startsWith('12');

/** A GPU's own driver releases it for a VM; any other driver was bound on purpose. */
const isReleasable = (driver: string | null): boolean =>
  driver === null || driver === 'vfio-pci' || releasesGpu(driver);

const gpuProblems = (gpu: PciFunction, ids: DeviceIds): readonly Problem[] => {
  if (isOffTheBus(gpu)) return [drift(`GPU ${gpu.address} does not respond on the bus; power-cycle the host`)];
  if (!isGpu(gpu, ids)) return [drift(`${gpu.address} is no GPU but a device of class ${gpu.class_code}`)];
  if (!isReleasable(gpu.driver))
    return [drift(`GPU ${gpu.address} is bound to ${gpu.driver} and cannot be rebound to vfio-pci; unbind it`)];
  if (gpu.mediated_devices > 0)
    return [drift(`GPU ${gpu.address} has ${gpu.mediated_devices} mediated devices; remove them`)];
  return [];
};

/** The kernel binds a new virtual function to the card's own driver, which holds no tenant data. */
const VF_DRIVERS: ReadonlySet<string | null> = new Set([null, 'vfio-pci', 'mlx5_core']);

const vfProblems = (vf: PciFunction, ids: DeviceIds): readonly Problem[] => {
  if (vf.physical_function === null && !isWholeFabric(vf, ids.fabric_functions))
    return [drift(`${vf.address} is no virtual function`)];
  if (!VF_DRIVERS.has(vf.driver)) return [drift(`virtual function ${vf.address} is bound to ${vf.driver}`)];
  return [];
};

/** VFIO passes a group through as a whole: every other device in it would go along. Bridges do not count. */
const groupProblems = (live: Pick<Devices, 'pci' | 'groups'>, pci: PciFunction, slot: TaskSlot): readonly Problem[] => {
  const group = live.groups.find((each) => each.addresses.includes(pci.address));
  if (group === undefined) return [drift(`${pci.address} is in no IOMMU group; switch the IOMMU on and reboot`)];
  const own = new Set([slot.gpu_pci_address, slot.fabric_vf_pci_address]);
  const others = group.addresses.filter((address) => {
    const member = live.pci.find((each) => each.address === address);
    return !own.has(address) && !member?.class_code.startsWith('0604');
  });
  if (others.length === 0) return [];
  return [
    drift(`IOMMU group ${group.group} of ${pci.address} is shared beyond the slot: it also holds ${others.join(', ')}`),
  ];
};

const isZero = (text: string): boolean => !/[1-9a-f]/i.test(text.replace(/^0x/, ''));

/**
 * On InfiniBand a function without a GUID never joins the fabric. If it is bound to vfio-pci, only its card knows the
 * GUID.
 */
const fabricProblems = (live: LiveHost, slot: TaskSlot): readonly Problem[] => {
  const vf = live.pci.find((each) => each.address === slot.fabric_vf_pci_address);
  const nicOf = (address: string | undefined | null) => live.nics.find((each) => each.pci_address === address);
  const nic = nicOf(vf?.address);
  const card = live.pci.find((each) => each.address === vf?.physical_function);
  const layer = nic?.link_layer ?? nicOf(card?.address)?.link_layer ?? null;
  if (vf === undefined || layer === 'ethernet' || (layer === null && !card?.class_code.startsWith('0207'))) return [];
  if (nic?.guid == null) return [drift(`the GUID of virtual function ${vf.address} cannot be read; set one`)];
  return isZero(nic.guid) ? [drift(`virtual function ${vf.address} has a GUID of zeros; set one`)] : [];
};

/** The blockers of writing to a disk, if any. */
export const inUse = (disk: DiskFacts): readonly string[] =>
  [
    disk.is_boot ? 'it is the boot disk of the host' : [],
    disk.is_swap ? 'it is used as swap' : [],
    disk.mounts.length > 0 ? `it is mounted at ${disk.mounts.join(', ')}` : [],
    disk.holders.length > 0 ? `it is in use by ${disk.holders.join(', ')}` : [],
  ].flat();

export const diskProblems = (
  disks: readonly DiskFacts[],
  slot: Pick<TaskSlot, 'nvme_serial' | 'nvme_device'>,
): readonly Problem[] => {
  const found = disks.filter((disk) => disk.serial === slot.nvme_serial);
  const [disk] = found;
  if (disk === undefined) return [drift(`disk ${slot.nvme_serial} is not on the host`)];
  if (found.length > 1) return [drift(`${found.length} disks report the serial ${slot.nvme_serial}`)];
  if (disk.device !== slot.nvme_device)
    return [drift(`disk ${slot.nvme_serial} is at ${disk.device ?? 'no path'}, approved at ${slot.nvme_device}`)];
  const uses = inUse(disk);
  if (uses.length > 0)
    return [blocked(`disk ${slot.nvme_serial}: ${uses.join(', ')}; free it: the agent never unmounts`)];
  if (disk.filesystems.length > 0)
    return [blocked(`disk ${slot.nvme_serial} carries ${disk.filesystems.join(', ')}; it must be wiped first`)];
  return [];
};
