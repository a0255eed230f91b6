/** The host profile for compiling VM definitions: site settings plus the current state. */
import type { PciFunction } from '@gpuaas/contract/node';
import { cpusIn } from '../../vm/cpu-plan.ts';
import { type HostProfile, placesOf } from '../../vm/host-profile.ts';
import { HostError, type VmPlan } from '../host.ts';
import type { Files } from './files.ts';
import { foldersOf, type HypervisorConfig } from './hypervisor-config.ts';
import { bootOf } from './hypervisor-ready.ts';
import type { KnownDomain } from './hypervisor-virsh.ts';
import type { NetworkConfig } from './network-config.ts';
import { readSystem } from './system.ts';

/** The address width of QEMU's emulated CPU. */
const EMULATED_BITS = 40;

const addressBits = async (files: Files): Promise<number> => {
  const bits = /^address sizes\s*:\s*(\d+) bits physical/m.exec(await files.text('/proc/cpuinfo'))?.[1];
  if (bits === undefined)
    throw new HostError('host_error', '/proc/cpuinfo does not list the address width of the CPU.');
  return Number(bits);
};

/** Null if the uplink is not a function of a card, or there is none. */
const uplinkAddress = async (files: Files, uplink: string | null): Promise<string | null> => {
  if (uplink === null || /^[0-9a-f]{4}:/.test(uplink)) return uplink;
  const device = (await files.findReal(`/sys/class/net/${uplink}/device`))?.split('/').at(-1) ?? '';
  return /^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/.test(device) ? device : null;
};

export type GivenProfile = Readonly<{
  config: HypervisorConfig;
  network: NetworkConfig;
  files: Files;
  functions: readonly PciFunction[];
  accelerator: 'kvm' | 'tcg';
  others: readonly KnownDomain[];
}>;

/** Those of the plan that are used neither by the host nor by another running VM. */
const freeCpus = ({ plan, name }: VmPlan, { config, others }: GivenProfile): readonly number[] | null => {
  if (config.host_cpus === null) return null;
  const running = others.filter(({ parsed, state }) => parsed.name !== name && state !== 'shut_off');
  const taken = new Set([...cpusIn(config.host_cpus), ...running.flatMap(({ parsed }) => parsed.pinned_cpus)]);
  return cpusIn(plan.cpuset).filter((cpu) => !taken.has(cpu));
};

export const readProfile = async (machine: VmPlan, given: GivenProfile): Promise<HostProfile> => {
  const { config, network, files, functions, accelerator } = given;
  const isEmulated = config.passthrough === 'emulated';
  return {
    accelerator,
    emulator: config.emulator,
    machine_type: config.machine_type,
    physical_address_bits: accelerator === 'kvm' ? await addressBits(files) : EMULATED_BITS,
    boot: bootOf(config, machine),
    folders: foldersOf(config, machine.name),
    disk_folders: config.disk_folders,
    passthrough: config.passthrough,
    uplink_pci_address: await uplinkAddress(files, network.uplink),
    nic: { ...config.nic, queues: network.queues, is_tuned: config.is_network_tuned },
    // Emulated replacement devices have almost no BARs.
    devices: placesOf(functions).map((place) => (isEmulated ? { ...place, mmio64_bytes: 0 } : place)),
    numa: config.has_guest_numa ? (await readSystem(files)).numa : [],
    pinned_cpus: freeCpus(machine, given),
  };
};
