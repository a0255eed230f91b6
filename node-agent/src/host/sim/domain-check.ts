/** Checks before a guest starts, all of them before any change. */
import { isDeepStrictEqual } from 'node:util';
import { BOOT_KINDS, type BootKind } from '@gpuaas/contract/node';
import { devicesOf, slotDevicesOf } from '../../vm/pci-plan.ts';
import { HostError, type VmPlan } from '../host.ts';
import type { Core } from './core.ts';
import { drivesOf } from './disk-table.ts';
import { refuseIfUsed } from './disks.ts';
import { functionsNow } from './functions.ts';
import { refuseWithoutPages } from './hugepages.ts';
import type { SimDomain } from './state.ts';

/** What the VM has; none without a plan. */
export const passedDevices = ({
  plan,
  passes_fabric = true,
}: Readonly<{ plan: SimDomain['plan']; passes_fabric?: boolean | undefined }>): readonly string[] =>
  plan === null ? [] : devicesOf({ plan, passes_fabric });

export const domainNames = (domain: Pick<SimDomain, 'plan'>): readonly string[] =>
  domain.plan === null
    ? []
    : [...slotDevicesOf(domain.plan), ...domain.plan.slots.map((slot) => slot.nvme_serial), domain.plan.mac_address];

const MISSING = { uefi: 'uefi_firmware_missing', kernel: 'boot_kernel_missing' } as const;

export const bootKindsOf = (core: Core): readonly BootKind[] =>
  BOOT_KINDS.filter((kind) => core.fault(MISSING[kind]) === undefined);

const refuseBootKind = (core: Core, { boot_kind = 'uefi' }: VmPlan): void => {
  if (!bootKindsOf(core).includes(boot_kind))
    throw new HostError('unsupported', `The image has boot kind ${boot_kind}, which this host cannot start.`);
};

/** The domain of this name, if it is this VM. What is off is defined again with the functions that the next start names. */
export const findSame = (core: Core, machine: VmPlan): SimDomain | undefined => {
  const domain = core.store.read().domains.find(({ name }) => name === machine.name);
  if (domain === undefined) return undefined;
  const isOff = domain.state === 'shut_off' || domain.state === 'crashed';
  const hasSameFabric = (domain.passes_fabric ?? true) === machine.passes_fabric;
  if (
    domain.allocation_id === machine.allocation_id &&
    isDeepStrictEqual(domain.plan, machine.plan) &&
    (isOff || hasSameFabric)
  )
    return domain;
  throw new HostError(
    'conflict',
    domain.allocation_id === null
      ? `${machine.name} exists and is not managed by GPUaaS.`
      : `${machine.name} exists with another plan, for ${domain.allocation_id}.`,
  );
};

const refuseShared = (core: Core, machine: VmPlan): void => {
  const wanted = new Set(domainNames(machine));
  for (const other of core.store.read().domains) {
    if (other.name === machine.name || other.state === 'shut_off') continue;
    const shared = domainNames(other).filter((name) => wanted.has(name));
    if (shared.length > 0) throw new HostError('conflict', `${shared.join(', ')} is in use by ${other.name}.`);
  }
};

const refuseUnbound = (core: Core, machine: VmPlan): void => {
  const functions = functionsNow(core);
  for (const address of passedDevices(machine)) {
    const fn = functions.find((one) => one.address === address);
    if (fn === undefined) throw new HostError('drift', `There is no PCI function at ${address}.`);
    if (fn.driver !== 'vfio-pci') throw new HostError('drift', `${address} is bound to ${fn.driver}, not vfio-pci.`);
    if (fn.iommu_group === null) throw new HostError('blocked', `${address} is in no IOMMU group.`);
    const others = functions.filter(
      (other) =>
        other.iommu_group === fn.iommu_group &&
        !other.class_code.startsWith('0604') &&
        other.driver !== 'vfio-pci' &&
        other.driver !== null,
    );
    if (others.length > 0) {
      const names = others.map((other) => `${other.address} (${other.driver})`).join(', ');
      throw new HostError('blocked', `The IOMMU group of ${address} also holds ${names}.`);
    }
    if (core.fault('d3cold', address) !== undefined) {
      throw new HostError('host_error', `${address}: unable to change power state from D3cold to D0.`);
    }
    if (core.fault('gpu_off_the_bus', address) !== undefined) {
      throw new HostError('host_error', `${address} does not respond: it has fallen off the bus.`);
    }
  }
};

const refuseDisks = (core: Core, machine: VmPlan): void => {
  const drives = drivesOf(core);
  for (const { nvme_device: device, nvme_serial: serial } of machine.plan.slots) {
    const drive = drives.find(({ paths }) => paths.includes(device));
    if (drive?.serial !== serial) {
      throw new HostError('drift', `${device} is ${drive?.serial ?? 'not there'}; ${serial} was expected.`);
    }
    refuseIfUsed(core, drive);
  }
};

export const refuseStart = (core: Core, machine: VmPlan): void => {
  refuseBootKind(core, machine);
  refuseShared(core, machine);
  refuseUnbound(core, machine);
  refuseDisks(core, machine);
  refuseWithoutPages(core, machine.plan);
};
