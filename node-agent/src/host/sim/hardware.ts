/**
 * The PCI tree of a profile as functions, with their drivers after a boot. It is the same for every host of the
 * profile, so it is built once and shared; differences between hosts are in their state.
 */
import type { PciFunction } from '@gpuaas/contract/node';
import type { OtherFunction, Profile, SlotPlace } from './profile-shape.ts';

export type Hardware = Readonly<{
  functions: readonly PciFunction[];
  byAddress: ReadonlyMap<string, PciFunction>;
}>;

type Part = Pick<PciFunction, 'address' | 'class_code' | 'driver' | 'numa_node' | 'upstream_port' | 'root_port'> &
  Readonly<{ ids: string; subsystem: string | null; group: string | null }> &
  Partial<PciFunction>;

const half = (pair: string | null, index: number): string | null => pair?.split(':')[index] ?? null;
const bitsOf = (address: string): number => Number.parseInt(address.replace(/[:.]/g, ''), 16);

export const busOf = (address: string): string => address.slice(0, address.lastIndexOf(':'));

/** Virtual function `index` (from 1) of a card: offset 1, stride 1. */
export const virtualFunctionAt = (card: string, index: number): string =>
  `${busOf(card)}:${(index >> 3).toString(16).padStart(2, '0')}.${index & 7}`;

const functionOf = (part: Part): Omit<PciFunction, 'iommu_group'> => ({
  address: part.address,
  vendor_id: half(part.ids, 0) ?? '0000',
  device_id: half(part.ids, 1) ?? '0000',
  subsystem_vendor_id: half(part.subsystem, 0),
  subsystem_device_id: half(part.subsystem, 1),
  class_code: part.class_code,
  driver: part.driver,
  numa_node: part.numa_node,
  upstream_port: part.upstream_port,
  root_port: part.root_port,
  bars: part.bars ?? [],
  physical_function: part.physical_function ?? null,
  virtual_functions: part.virtual_functions ?? [],
  virtual_functions_max: part.virtual_functions_max ?? 0,
  link: part.link ?? null,
  reset_methods: part.reset_methods ?? [],
  mediated_devices: 0,
});

const bridge = (address: string, place: Readonly<{ numa_node: number | null; root_port: string | null }>): Part => ({
  address,
  ids: '1000:c030',
  subsystem: null,
  class_code: '060400',
  driver: 'pcieport',
  numa_node: place.numa_node,
  upstream_port: null,
  root_port: place.root_port === address ? null : place.root_port,
  group: null,
});

const link = (speed: string, width: number): PciFunction['link'] => ({
  speed,
  width,
  max_speed: speed,
  max_width: width,
});

const slotParts = (profile: Profile, slot: SlotPlace): readonly Part[] => {
  const place = {
    numa_node: slot.numa_node,
    upstream_port: slot.upstream_port,
    root_port: slot.root_port,
    group: null,
  };
  const { gpu, nic } = profile;
  const virtual = Array.from({ length: nic.vf_count }, (_, index) => virtualFunctionAt(slot.nic, index + 1));
  const below = (Number.parseInt(slot.upstream_port.split(':')[1] ?? '0', 16) + 1).toString(16).padStart(2, '0');
  const downstream = [0, 1, 2, 3].map((port) => `${slot.upstream_port.split(':')[0]}:${below}:0${port}.0`);
  const card = { subsystem: '15b3:0041', driver: 'mlx5_core', class_code: nic.class_code, ...place };
  return [
    bridge(slot.root_port, slot),
    bridge(slot.upstream_port, slot),
    ...downstream.map((address) => ({ ...bridge(address, slot), upstream_port: slot.upstream_port })),
    {
      address: slot.gpu,
      ids: gpu.vendor_device,
      subsystem: gpu.subsystem,
      class_code: gpu.class_code,
      driver: gpu.driver,
      bars: gpu.bars.map((bar) => ({ ...bar, is_64bit: true, is_prefetchable: true })),
      link: link(gpu.link.speed, gpu.link.width),
      reset_methods: [...gpu.reset_methods],
      ...place,
    },
    {
      address: slot.nvme,
      ids: profile.drive.vendor_device,
      subsystem: null,
      class_code: '010802',
      driver: 'nvme',
      link: link('32.0 GT/s PCIe', 4),
      reset_methods: ['flr', 'bus'],
      ...place,
    },
    {
      address: slot.nic,
      ids: nic.vendor_device,
      virtual_functions: virtual,
      virtual_functions_max: nic.vf_count,
      link: link('32.0 GT/s PCIe', 16),
      reset_methods: ['flr', 'bus'],
      ...card,
    },
    ...virtual.map((address) => ({
      address,
      ids: nic.vf_vendor_device,
      physical_function: slot.nic,
      reset_methods: ['flr'],
      ...card,
    })),
    ...(slot.management === null
      ? []
      : [
          {
            address: slot.management,
            ids: '1000:02b2',
            subsystem: '1028:2114',
            class_code: '010700',
            driver: 'mpt3sas',
            reset_methods: ['flr'],
            ...place,
          },
        ]),
  ];
};

const otherPart = (other: OtherFunction): Part => ({
  address: other.address,
  ids: other.vendor_device,
  subsystem: other.subsystem,
  class_code: other.class_code,
  driver: other.driver,
  numa_node: other.numa_node,
  upstream_port: other.upstream_port,
  root_port: other.root_port,
  reset_methods: [...other.reset_methods],
  group: other.iommu_group,
});

const bootParts = (profile: Profile): readonly Part[] =>
  profile.boot_drives.flatMap((drive) => [
    bridge(drive.root_port, drive),
    {
      address: drive.address,
      ids: profile.boot_drive.vendor_device,
      subsystem: '1028:2151',
      class_code: '010802',
      driver: 'nvme',
      numa_node: drive.numa_node,
      upstream_port: null,
      root_port: drive.root_port,
      group: null,
      link: link('16.0 GT/s PCIe', 4),
      reset_methods: ['flr', 'bus'],
    },
  ]);

const bridgesAbove = (others: readonly OtherFunction[]): readonly Part[] =>
  others.flatMap((other) =>
    [other.root_port, other.upstream_port].flatMap((address) => (address === null ? [] : [bridge(address, other)])),
  );

const build = (profile: Profile): Hardware => {
  const parts = new Map<string, Part>();
  const all = [
    ...profile.slots.flatMap((slot) => slotParts(profile, slot)),
    ...bootParts(profile),
    ...profile.others.map(otherPart),
    ...bridgesAbove(profile.others),
  ];
  for (const part of all) if (!parts.has(part.address)) parts.set(part.address, part);
  const groups = new Map<string, number>();
  const groupOf = (part: Part): number => {
    const key = part.group ?? part.address;
    const group = groups.get(key) ?? groups.size;
    groups.set(key, group);
    return group;
  };
  const functions = [...parts.values()]
    .sort((a, b) => bitsOf(a.address) - bitsOf(b.address))
    .map((part): PciFunction => ({ ...functionOf(part), iommu_group: groupOf(part) }));
  return { functions, byAddress: new Map(functions.map((fn) => [fn.address, fn])) };
};

const built = new WeakMap<Profile, Hardware>();

export const hardwareOf = (profile: Profile): Hardware => {
  const hardware = built.get(profile) ?? build(profile);
  built.set(profile, hardware);
  return hardware;
};
