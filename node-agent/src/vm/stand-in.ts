/**
 * Emulated devices in place of passed-through ones: on a computer without an IOMMU the complete lifecycle of a slice
 * can then run, with as many accelerators in the VM as were claimed. libvirt has no element for them, so they bypass
 * it.
 */
import type { VmPlan } from '../host/host.ts';
import { devicesOf } from './pci-plan.ts';

/** The emulated accelerator, as vendor:device. */
export const STAND_IN_ACCELERATOR = '1234:11e8';

const PATTERN =
  /^(?:edu|pci-testdev),id=stand-in-([0-9a-f]+)\.([0-9a-f]+)\.([0-9a-f]+)\.([0-7]),bus=pcie\.0,addr=0x[01][0-9a-f]$/;

/**
 * libvirt assigns slots from the first one of the root upwards and fills every port it knows; these are beyond both.
 */
const FIRST_SLOT = 0x0f;

export const standInArguments = (machine: Pick<VmPlan, 'plan' | 'passes_fabric'>): readonly string[] => {
  const gpus = machine.plan.slots.map((slot) => slot.gpu_pci_address);
  return devicesOf(machine).flatMap((address, index) => {
    const model = gpus.includes(address) ? 'edu' : 'pci-testdev';
    const slot = (FIRST_SLOT + index).toString(16).padStart(2, '0');
    return ['-device', `${model},id=stand-in-${address.replaceAll(':', '.')},bus=pcie.0,addr=0x${slot}`];
  });
};

/** The address that an argument replaces; null for any other argument. */
export const standInFor = (argument: string): string | null => {
  const [, domain, bus, slot, fn] = PATTERN.exec(argument) ?? [];
  return domain === undefined ? null : `${domain}:${bus}:${slot}.${fn}`;
};
