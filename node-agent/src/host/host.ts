/**
 * The host, as tasks see it. There are two implementations: `linux/` runs argv arrays on a real host, `sim/` simulates
 * a host in memory and files. Both pass one suite, `host.contract.ts`.
 *
 * Every action is an *ensure*: a task that was running when the agent died runs again. Anything that cannot be read or
 * done throws a HostError; unknown is never reported as fine.
 */
import type { Duplex, Readable } from 'node:stream';
import type {
  BootKind,
  BundlePlan,
  CachedImage,
  DiskFacts,
  FabricFacts,
  GpuFacts,
  HostPort,
  HostReport,
  HypervisorFacts,
  NetworkFacts,
  NicFacts,
  PciFunction,
  StorageKind,
  SystemFacts,
  TaskKind,
  Tool,
  WipeMethod,
} from '@gpuaas/contract/node';
import type { DeviceIds } from '../topology/device-ids.ts';

export type HostErrorCode =
  | 'stale_generation'
  | 'conflict'
  | 'drift'
  | 'bad_image'
  | 'bad_image_cache'
  | 'blocked'
  | 'vfio_group_unavailable'
  | 'no_space'
  | 'unsupported'
  | 'timeout'
  | 'host_error';

/** Why the host did not do it, in words that an operator can act on. */
export class HostError extends Error {
  readonly code: HostErrorCode;
  /** Structured data for the control plane beside the message; null if there is none. */
  readonly output: object | null;
  constructor(code: HostErrorCode, message: string, options: ErrorOptions & Readonly<{ output?: object }> = {}) {
    super(message, options);
    this.output = options.output ?? null;
    this.name = 'HostError';
    this.code = code;
  }
}

export type Reset = Readonly<{ method: string; scope: readonly string[]; is_ok: boolean }>;

export type Pci = Readonly<{
  list(): Promise<readonly PciFunction[]>;
  iommuGroups(): Promise<ReadonlyArray<Readonly<{ group: number; addresses: readonly string[] }>>>;
  /** Null leaves it without a driver. */
  bind(address: string, driver: 'vfio-pci' | null): Promise<void>;
  /** Refused, with nothing reset, if the reset would reach a function outside `allowed`. */
  reset(address: string, allowed: readonly string[]): Promise<Reset>;
}>;

/** A disk is identified by its serial. The path is only where it is looked up. */
export type DiskIdentity = Readonly<{ serial: string; device: string }>;

/** One open descriptor: identity and number are checked when it is opened, and again before it is closed. */
export type OpenDisk = Readonly<{
  serial: string;
  major_minor: string;
  size_bytes: number;
  wipe(method: WipeMethod): Promise<Readonly<{ command_status: number }>>;
  /**
   * Waits for a wipe that an earlier attempt started in the disk; until it ends the disk can be neither read nor
   * commanded.
   */
  settled?(): Promise<void>;
  /** Past every cache. */
  read(offset: number, length: number): Promise<Buffer>;
  signatures(): Promise<readonly string[]>;
  close(): Promise<void>;
}>;

export type Disks = Readonly<{
  list(): Promise<readonly DiskFacts[]>;
  /** For writing or wiping: refused as `blocked` while it is mounted, held, swap or the boot disk. */
  open(disk: DiskIdentity): Promise<OpenDisk>;
}>;

export type Progress = (state: Readonly<{ percent: number; bytes_per_s: number | null }>) => void;
export type ImageName = Readonly<{ name: string; digest: string | null }>;

export type Images = Readonly<{
  list(): Promise<readonly CachedImage[]>;
  pull(image: ImageName, onProgress: Progress): Promise<CachedImage>;
  /** Refused as a `conflict` while it is being cloned. */
  evict(digest: string): Promise<Readonly<{ freed_bytes: number }>>;
  /** Hashes every byte again. A changed image is removed. */
  verify(digest: string): Promise<Readonly<{ is_intact: boolean; size_bytes: number }>>;
  /** Refused as a clone to a disk of that size would be, with nothing written. A changed image is removed. */
  check(image: ImageName, diskBytes: number): Promise<void>;
  /** `is_zero`: every byte of the disk was verified to be zero, so zeros of the image need not be written. */
  clone(
    image: ImageName,
    to: OpenDisk,
    onProgress: Progress,
    shown?: Readonly<{ is_zero: boolean }>,
  ): Promise<Readonly<{ bytes_written: number; digest: string | null }>>;
}>;

export type Seed = Readonly<{
  hostname: string;
  ssh_public_keys: readonly string[];
  user_data: string | null;
  /** The checks that the image declares; the guest report has a result for each. */
  readiness_checks?: readonly string[];
  /** Of its data disks: `raw` if absent. */
  storage?: StorageKind;
  /** How often the VM was reinstalled; a guest with another number sets itself up again. */
  install?: number;
}>;
export type GuestCheck = Readonly<{ name: string; is_ok: boolean; why: string | null }>;
/** `checks`: those with a result so far. */
export type GuestReport = Readonly<{
  ssh_host_key: string;
  gpu_count: number | null;
  checks: readonly GuestCheck[];
}>;
export type VmPlan = Readonly<{
  name: string;
  allocation_id: string;
  plan: BundlePlan;
  seed: Seed;
  /** Of its image: `uefi` if absent. */
  boot_kind?: BootKind;
  /** Whether the fabric functions of its slots are passed through. Otherwise they stay bound on the host. */
  passes_fabric: boolean;
}>;
export type Domain = Readonly<{
  name: string;
  /** From the ownership tag; null for an unmanaged domain. */
  allocation_id: string | null;
  state: 'running' | 'shut_off' | 'paused' | 'crashed';
}>;

/** A domain with the details of an inventory, managed or not. */
export type SeenDomain = Domain &
  Readonly<{
    /** PCI addresses, and paths or serials of disks. */
    devices: readonly string[];
    /** Why it is off; null while it is on or if the cause is unknown. */
    ended_by: 'guest' | 'host' | 'crash' | null;
  }>;

export type Hypervisor = Readonly<{
  /** Whether VMs can run here; a host without VMs has no such facts. */
  facts?(): Promise<HypervisorFacts>;
  /** How VMs can start here: those whose files the host has. */
  bootKinds(): Promise<readonly BootKind[]>;
  list(): Promise<readonly Domain[]>;
  /** `leftovers`: names of removed managed VMs that left something, such as a seed. */
  inspect(): Promise<Readonly<{ domains: readonly SeenDomain[]; leftovers: readonly string[] }>>;
  /** Refuses user data that a start would refuse. Nothing is touched. */
  judge(userData: string | null): Promise<void>;
  /**
   * Defined and running afterwards. A domain of that name that is not this VM is a `conflict`, a boot kind that the host lacks
   * is `unsupported`.
   */
  start(machine: VmPlan): Promise<void>;
  reboot(name: string, isHard: boolean): Promise<void>;
  /** If aborted during a graceful shutdown, it fails and leaves the VM as it is. */
  stop(name: string, graceS: number, signal?: AbortSignal): Promise<'absent' | 'graceful' | 'hard'>;
  /** Definition and seed are removed. */
  remove(name: string): Promise<void>;
  /** The guest report; null until there is one. */
  guest(name: string): Promise<GuestReport | null>;
}>;

export type Port = Readonly<{ name: string; mac_address: string; private_ip: string; allocation_id: string }>;
/** `port`: the port on the switch, or its flows. `translation`: NAT of its address, or tracked connections. */
export type NetworkRemains = Readonly<{ port: boolean; reservation: boolean; lease: boolean; translation: boolean }>;
export type DhcpLease = Readonly<{ state: 'none' | 'bound' | 'conflict'; ip: string | null; other_mac: string | null }>;

export type Network = Readonly<{
  facts(): Promise<NetworkFacts>;
  nics(): Promise<readonly NicFacts[]>;
  /** Port with port security, address reservation and NAT. */
  attach(port: Port): Promise<void>;
  /** Whether anything existed. All of it is removed afterwards. */
  detach(port: Pick<Port, 'name' | 'mac_address'>): Promise<boolean>;
  ports(): Promise<readonly Port[]>;
  /** Reads what remains of a guest. */
  remains(port: Omit<Port, 'allocation_id'>): Promise<NetworkRemains>;
  lease(mac: string, expectedIp: string): Promise<DhcpLease>;
  /**
   * Restores what a restart of switch or firewall removed from existing ports, and removes rules without a port.
   * Returns its actions in words. A host whose network keeps its state does not implement it.
   */
  restore?(): Promise<readonly string[]>;
}>;

export type Fabric = Readonly<{
  facts(): Promise<FabricFacts>;
  /** A partition that shares a module with an active one is a `conflict`. */
  activate(partitionId: number): Promise<void>;
  deactivate(partitionId: number): Promise<void>;
  /** Declares all partitions in use to a restarted Fabric Manager, even if there are none; no link is changed. */
  declare(partitionIds: readonly number[]): Promise<void>;
}>;

export type Gpu = Readonly<{
  /** Empty if every GPU is passed through to guests; throws if that is unknown. */
  list(): Promise<readonly GpuFacts[]>;
}>;

/** The serial console of one VM, shared by all viewers. */
export type SerialLine = Readonly<{
  /** Recent output of the console, then live output; ends with the VM. */
  output: Readable;
  /** Input for the VM. Resolves when there is room for more. */
  write(bytes: Buffer): Promise<void>;
  close(): void;
}>;

/** Tenant access to VMs and accounts. Nothing here listens: the host opens every connection. */
export type Access = Readonly<{
  /** The account in guests that keys open. */
  guest_username: string;
  /** TCP to a port of a VM by its address, or of this host if that is null. Refused: `blocked`, with the reason. */
  dial(to: Readonly<{ address: string | null; port: number }>, signal: AbortSignal): Promise<Duplex>;
  serial(machine: string): Promise<SerialLine>;
  /**
   * The control plane's complete set of keys for the account in the guest OS: keys of an earlier set are removed, keys
   * added by the tenant stay. Resolves when the guest OS has confirmed them.
   */
  setGuestKeys(machine: string, keys: readonly string[], signal: AbortSignal): Promise<void>;
}>;

export type User = Readonly<{ username: string; ssh_public_keys: readonly string[] }>;

export type System = Readonly<{
  /** What identifies the host. It stays the same across boots; null where it cannot be read. */
  identity(): Promise<HostReport>;
  facts(): Promise<SystemFacts>;
  tools(): Promise<readonly Tool[]>;
  /** Lines of the kernel's log since the host booted, oldest first. */
  kernelLog(): Promise<readonly string[]>;
  ensureUser(user: User): Promise<void>;
  /** Whether the account exists and is managed; an unmanaged one of that name is a `conflict`. */
  hasUser(username: string): Promise<boolean>;
  /** Sessions ended, keys and account removed. */
  removeUser(username: string): Promise<Readonly<{ sessions_ended: number; was_present: boolean }>>;
  sshHostKey(): Promise<string | null>;
}>;

type EachPort<T extends Readonly<Record<HostPort, object>>> = T;
/** One port for each name of the contract, by which task kinds declare what they need. */
type Ports = EachPort<
  Readonly<{
    pci: Pci;
    disks: Disks;
    images: Images;
    hypervisor: Hypervisor;
    network: Network;
    fabric: Fabric;
    gpu: Gpu;
    system: System;
    access: Access;
  }>
>;

export type Host = Omit<Ports, 'access'> &
  Readonly<{
    /** Missing if tenant access is not possible. */
    access?: Access;
    /** The weakest wipe that the site allows; the weakest of all is a discard. */
    wipe_minimum?: WipeMethod;
    /** GPUs and fabric functions that the site configures; otherwise the agent recognizes them by class and vendor. */
    devices?: DeviceIds;
    /** The capabilities of this host. */
    kinds: readonly TaskKind[];
    /**
     * Executes the work of one task. A real host does not implement it; the simulated one uses it to apply faults for a
     * task kind and for devices in its params. `host.during?.(task, work) ?? work()`.
     */
    during?<T>(task: Readonly<{ kind: TaskKind; params: object }>, work: () => Promise<T>): Promise<T>;
  }>;
