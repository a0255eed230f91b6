/** The current PCI functions of a host: the profile's tree, later bindings and faults. */
import type { PciFunction } from '@gpuaas/contract/node';
import type { Core } from './core.ts';
import { isMeant } from './slot.ts';

const isGpu = (core: Core, address: string): boolean => core.slots.some((slot) => slot.gpu === address);

export const driverOf = (core: Core, fn: PciFunction): string | null => {
  const bound = core.store.read().drivers[fn.address];
  if (bound !== undefined) return bound;
  return core.vfio_at_boot && isGpu(core, fn.address) ? 'vfio-pci' : fn.driver;
};

const groupsNow = (core: Core): ((fn: PciFunction) => number | null) => {
  if (core.fault('iommu_off') !== undefined) return () => null;
  const merged = new Map<string, number | null>();
  for (const rule of core.faults('iommu_group_merged')) {
    for (const slot of core.slots.filter(({ gpu }) => isMeant(core, rule, [gpu]))) {
      const group = core.hardware.byAddress.get(slot.gpu)?.iommu_group ?? null;
      for (const address of [slot.nvme, slot.nic]) merged.set(address, group);
    }
  }
  return (fn) => (merged.has(fn.address) ? (merged.get(fn.address) ?? null) : fn.iommu_group);
};

export const functionsNow = (core: Core): readonly PciFunction[] => {
  const groupOf = groupsNow(core);
  const missing = core.faults('device_missing');
  const missingDisks = core.faults('disk_missing');
  const narrow = core.faults('link_width_reduced');
  const vgpu = core.faults('vgpu_children');
  const lost = core.faults('gpu_off_the_bus');

  const isMissing = (fn: PciFunction): boolean => {
    const slot = core.slots.find(({ nvme }) => nvme === fn.address);
    if (slot !== undefined && missingDisks.some((rule) => isMeant(core, rule, [slot.serial, slot.nvme]))) return true;
    return missing.some((rule) =>
      rule.address === undefined
        ? isGpu(core, fn.address) && isMeant(core, rule, [fn.address])
        : rule.address === fn.address,
    );
  };

  return core.hardware.functions
    .filter((fn) => !isMissing(fn))
    .map((fn) => {
      const isNarrow = (rule: (typeof narrow)[number]): boolean =>
        rule.address === undefined
          ? isGpu(core, fn.address) && isMeant(core, rule, [fn.address])
          : rule.address === fn.address;
      const less = narrow.find(isNarrow);
      const children = isGpu(core, fn.address) ? vgpu.find((rule) => isMeant(core, rule, [fn.address])) : undefined;
      return {
        ...fn,
        // The device no longer responds: every read returns all ones.
        vendor_id:
          lost.some((rule) => isMeant(core, rule, [fn.address])) && isGpu(core, fn.address) ? 'ffff' : fn.vendor_id,
        driver: driverOf(core, fn),
        iommu_group: groupOf(fn),
        link: fn.link === null || less === undefined ? fn.link : { ...fn.link, width: less.value ?? 8 },
        mediated_devices: children === undefined ? 0 : (children.value ?? 1),
      };
    });
};
