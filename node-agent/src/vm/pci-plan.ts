/**
 * The PCI location of passed-through devices in the VM. Each root complex of the host with such a device becomes an
 * expander on the same NUMA node, so that drivers and libraries see which GPU is close to which card and memory; with
 * only one complex, plain root ports are equivalent. Every device has its own root port. Large BARs must fit below what
 * the CPU can address. A bridge's window is aligned to its largest BAR and the next one starts at the next boundary, so
 * each device takes the next power of two above its BARs, and the whole window the next above their sum, aligned to its
 * own size.
 */
import { HostError, type VmPlan } from '../host/host.ts';
import { pciAddress } from './grammar.ts';
import type { DevicePlace, HostProfile } from './host-profile.ts';

export type GuestPort = Readonly<{ index: number; slot: number; address: string }>;
export type GuestComplex = Readonly<{
  root_complex: string;
  /** Null: its ports are on the root of the VM. */
  expander: Readonly<{ index: number; bus_number: number; numa_node: number | null }> | null;
  ports: readonly GuestPort[];
}>;
export type PciPlan = Readonly<{ complexes: readonly GuestComplex[]; mmio64_mib: number }>;

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const BUSES = 256;
/** The defaults of firmware and emulator. */
const WINDOW_MIN = 32 * GIB;
/** Firmware ignores a larger request. */
const WINDOW_MAX = 16 * 1024 * GIB;

/** What is passed through. */
export const devicesOf = ({ plan, passes_fabric }: Pick<VmPlan, 'plan' | 'passes_fabric'>): readonly string[] =>
  plan.slots.flatMap((slot) => [slot.gpu_pci_address, ...(passes_fabric ? [slot.fabric_vf_pci_address] : [])]);

/** What belongs to its slots, passed through or not. */
export const slotDevicesOf = (plan: VmPlan['plan']): readonly string[] => devicesOf({ plan, passes_fabric: true });

const ceilPower = (value: number): number => (value <= 1 ? 1 : 2 ** Math.ceil(Math.log2(value)));

const windowOf = (places: readonly DevicePlace[]): number =>
  ceilPower(
    Math.max(WINDOW_MIN, WINDOW_MIN / 2 + places.reduce((sum, place) => sum + ceilPower(place.mmio64_bytes), 0)),
  );

/** The memory of a VM is below the window; large VMs on some CPUs start above the first TiB. */
const refuseTooLarge = (window: number, memoryBytes: number, bits: number): void => {
  const below = 4 * GIB + memoryBytes;
  const end = Math.ceil(below / window) * window + window;
  if (window > WINDOW_MAX || end > 2 ** bits)
    throw new HostError(
      'blocked',
      `the devices need a 64-bit window of ${window / GIB} GiB above ${Math.ceil(below / GIB)} GiB of memory, which ${bits} address bits do not reach`,
    );
};

/**
 * A card that carries the bridge belongs to the control plane: its function in a VM would give the tenant the
 * management network.
 */
const refuseShared = (plan: VmPlan['plan'], profile: HostProfile): void => {
  const { uplink_pci_address: uplink } = profile;
  for (const slot of plan.slots) {
    const fabric = slot.fabric_vf_pci_address;
    const parent = profile.devices.find((place) => place.address === fabric)?.physical_function ?? null;
    if (uplink !== null && (uplink === fabric || uplink === parent || uplink === slot.gpu_pci_address))
      throw new HostError(
        'conflict',
        `${uplink} carries the management network and is also the fabric of ${slot.slot_id}`,
      );
  }
  const devices = slotDevicesOf(plan);
  const twice = devices.find((address, index) => devices.indexOf(address) !== index);
  if (twice !== undefined) throw new HostError('conflict', `${twice} is in the plan twice`);
};

const placeOf = (profile: HostProfile, address: string): DevicePlace => {
  const place = profile.devices.find((one) => one.address === pciAddress(address));
  if (place === undefined) throw new HostError('drift', `there is no PCI function at ${address}`);
  return place;
};

export const planPci = (
  machine: Pick<VmPlan, 'plan' | 'passes_fabric'>,
  profile: HostProfile,
  memoryKib: number,
): PciPlan => {
  const { plan } = machine;
  refuseShared(plan, profile);
  const places = devicesOf(machine).map((address) => placeOf(profile, address));
  const window = windowOf(places);
  refuseTooLarge(window, memoryKib * 1024, profile.physical_address_bits);
  const names = [...new Set(places.map((place) => place.root_complex))];
  const isFlat = names.length === 1;
  // Expanders take bus numbers from the top: one for themselves and one for each of their ports.
  let bus = BUSES - (isFlat ? 0 : names.length + places.length);
  if (bus < BUSES / 4) throw new HostError('blocked', `${places.length} devices need more PCI buses than a guest has`);
  let index = 1;
  const complexes = names.map((name): GuestComplex => {
    const own = places.filter((place) => place.root_complex === name);
    const node = plan.numa_nodes.indexOf(own[0]?.numa_node ?? -1);
    const expander = isFlat
      ? null
      : { index: index++, bus_number: bus, numa_node: node < 0 || profile.numa.length === 0 ? null : node };
    bus += own.length + 1;
    return {
      root_complex: name,
      expander,
      ports: own.map(({ address }, slot) => ({ index: index++, slot, address })),
    };
  });
  return { complexes, mmio64_mib: window / MIB };
};
