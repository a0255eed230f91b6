/**
 * What the compiler needs from a host to turn a plan into a VM: the accelerator, the paths of firmware and files, and
 * the location of each device. It is plain data, read once before a start, so that compiling reads nothing itself.
 */
import type { PciFunction, SystemFacts } from '@gpuaas/contract/node';
import { HostError } from '../host/host.ts';
import { path, vmName } from './grammar.ts';

export type Firmware = Readonly<{ code: string; vars_template: string }>;

export type FirmwareBoot = Readonly<{
  kind: 'uefi';
  plain: Firmware;
  /** Null if the host has no firmware with enrolled keys. */
  secure: Firmware | null;
  /** Profiles of VMs with secure boot. */
  secure_profiles: readonly string[];
}>;
/** A kernel of the host, for images that have no boot loader, or where firmware is slow or crashes. */
export type KernelBoot = Readonly<{ kind: 'kernel'; kernel: string; initrd: string | null; command_line: string }>;
/** How one VM starts. */
export type Boot = FirmwareBoot | KernelBoot;

/** The location of a device on the host, and its share of the 64-bit window. */
export type DevicePlace = Readonly<{
  address: string;
  root_complex: string;
  numa_node: number | null;
  physical_function: string | null;
  mmio64_bytes: number;
}>;

export type HostProfile = Readonly<{
  accelerator: 'kvm' | 'tcg';
  emulator: string;
  machine_type: string;
  /** As /proc/cpuinfo has it; an emulated CPU has 40. */
  physical_address_bits: number;
  boot: Boot;
  /** Directories for the files of a VM on the host. */
  folders: Readonly<{ nvram: string; seed: string; console: string; report: string }>;
  /** Allowed disk paths. In production only persistent names: /dev/disk/by-id. */
  disk_folders: readonly string[];
  /** `emulated`, for tests without passthrough: each device is replaced by an emulated one. */
  passthrough: 'vfio' | 'emulated';
  /**
   * The function behind the uplink of the bridge, which carries the management network; null if it is not a PCI
   * function.
   */
  uplink_pci_address: string | null;
  nic: Readonly<{ driver: 'vhost' | 'qemu'; queues: number; has_offloads: boolean; is_tuned?: boolean }>;
  devices: readonly DevicePlace[];
  /** Empty if the host reports no nodes: the guest then has none either. */
  numa: ReadonlyArray<Pick<SystemFacts['numa'][number], 'node' | 'cpus'>>;
  /** CPUs dedicated to this VM; null: it shares the CPUs of the plan. */
  pinned_cpus: readonly number[] | null;
}>;

/** Domain and bus of the root port: all devices below one bus of the CPU are one complex. */
const rootComplexOf = (fn: PciFunction): string => (fn.root_port ?? fn.address).split(':').slice(0, -1).join(':');

export const placesOf = (functions: readonly PciFunction[]): readonly DevicePlace[] =>
  functions.map((fn) => ({
    address: fn.address,
    root_complex: rootComplexOf(fn),
    numa_node: fn.numa_node,
    physical_function: fn.physical_function,
    mmio64_bytes: fn.bars.filter((bar) => bar.is_64bit).reduce((sum, bar) => sum + bar.size_bytes, 0),
  }));

export type VmPaths = Readonly<{
  nvram: string;
  seed: string;
  /** The output of the serial console, rotated by the log daemon; and the socket of the console itself. */
  console: string;
  serial: string;
  report: string;
  keys: string;
}>;

/** The kernel limits the path of a socket to 107 characters. */
const SOCKET_PATH_MAX = 107;

export const vmPaths = ({ folders }: Pick<HostProfile, 'folders'>, name: string): VmPaths => {
  const file = (folder: string, suffix: string): string => path(`${folder}/${vmName(name)}${suffix}`);
  const socket = (suffix: string): string => {
    const at = file(folders.report, suffix);
    if (at.length > SOCKET_PATH_MAX) throw new HostError('blocked', `${at} is too long for a socket`);
    return at;
  };
  return {
    nvram: file(folders.nvram, '.fd'),
    seed: file(folders.seed, '.iso'),
    console: file(folders.console, '.log'),
    serial: socket('.tty'),
    report: socket('.sock'),
    keys: socket('.keys'),
  };
};
