/**
 * The host, as tasks see it. There are two implementations: `linux/` runs argv arrays on a real host, `sim/` simulates
 * a host in memory and files. Both pass one suite, `host.contract.ts`.
 *
 * Every action is an *ensure*: a task that was running when the agent died runs again. Anything that cannot be read or
 * done throws a HostError; unknown is never reported as fine.
 */
import type { Duplex, Readable } from 'node:stream';
import type {
  BundlePlan,
  CachedImage,
  DiskFacts,
  FabricFacts,
  GpuFacts,
  HostPort,
  HypervisorFacts,
  NetworkFacts,
  NicFacts,
  PciFunction,
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

/** A disk is named by what it is. The path is where it is looked for; the serial decides. */
export type DiskIdentity = Readonly<{ serial: string; device: string }>;

/** One open descriptor: identity and number were checked when it was opened, and are again before it is closed. */
export type OpenDisk = Readonly<{
  serial: string;
  major_minor: string;
  size_bytes: number;
  wipe(method: WipeMethod): Promise<Readonly<{ command_status: number }>>;
  /** Waits for an erase that goes on in the disk since an earlier try; until it ends nothing can be read or asked. */
  settled?(): Promise<void>;
  /** Past every cache. */
  read(offset: number, length: number): Promise<Buffer>;
  signatures(): Promise<readonly string[]>;
  close(): Promise<void>;
}>;

export type Disks = Readonly<{
  list(): Promise<readonly DiskFacts[]>;
  /** For writing or erasing: refused as `blocked` while it is mounted, held, swap or the boot disk. */
  open(disk: DiskIdentity): Promise<OpenDisk>;
}>;

export type Progress = (told: Readonly<{ percent: number; bytes_per_s: number | null }>) => void;
export type ImageName = Readonly<{ name: string; digest: string | null }>;

export type Images = Readonly<{
  list(): Promise<readonly CachedImage[]>;
  pull(image: ImageName, onProgress: Progress): Promise<CachedImage>;
  /** Refused as a `conflict` while it is being cloned. */
  evict(digest: string): Promise<Readonly<{ freed_bytes: number }>>;
  /** Hashes every byte again. What is not what it was is removed. */
  verify(digest: string): Promise<Readonly<{ is_intact: boolean; size_bytes: number }>>;
  /**
   * Refused as a clone of it to a disk of that size would be, with nothing written. What is not what it was is removed.
   */
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
  /** What the image promises of a guest; the guest answers for each in its report. */
  readiness_checks?: readonly string[];
  /** How often the VM was reinstalled; a guest with another number sets itself up again. */
  install?: number;
}>;
export type GuestCheck = Readonly<{ name: string; is_ok: boolean; why: string | null }>;
/** `checks`: those the guest has answered for so far. */
export type GuestReport = Readonly<{
  ssh_host_key: string;
  gpu_count: number | null;
  checks: readonly GuestCheck[];
}>;
export type VmPlan = Readonly<{ name: string; allocation_id: string; plan: BundlePlan; seed: Seed }>;
export type Domain = Readonly<{
  name: string;
  /** From the ownership tag; null for a domain that is not ours. */
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
  /** Whether machines can be run here; a host that runs none has no such facts. */
  facts?(): Promise<HypervisorFacts>;
  list(): Promise<readonly Domain[]>;
  /** `leftovers`: names of machines of ours that are gone and left something, such as a seed. */
  inspect(): Promise<Readonly<{ domains: readonly SeenDomain[]; leftovers: readonly string[] }>>;
  /** Refuses user data that a start would refuse. Nothing is touched. */
  judge(userData: string | null): Promise<void>;
  /** Defined and running afterwards. A domain of that name that is not this machine is a `conflict`. */
  start(machine: VmPlan): Promise<void>;
  reboot(name: string, isHard: boolean): Promise<void>;
  /** Given up by the signal while the guest is asked, it fails and leaves the guest as it is. */
  stop(name: string, graceS: number, signal?: AbortSignal): Promise<'absent' | 'graceful' | 'hard'>;
  /** Definition and seed gone. */
  remove(name: string): Promise<void>;
  /** What the guest says of itself; null until it says something. */
  guest(name: string): Promise<GuestReport | null>;
}>;

export type Port = Readonly<{ name: string; mac_address: string; private_ip: string; allocation_id: string }>;
/** `port`: on the switch, or flows of it. `translation`: of its address, or connections of it that are remembered. */
export type NetworkRemains = Readonly<{ port: boolean; reservation: boolean; lease: boolean; translation: boolean }>;
export type DhcpLease = Readonly<{ state: 'none' | 'bound' | 'conflict'; ip: string | null; other_mac: string | null }>;

export type Network = Readonly<{
  facts(): Promise<NetworkFacts>;
  nics(): Promise<readonly NicFacts[]>;
  /** Port with port security, address reservation and NAT. */
  attach(port: Port): Promise<void>;
  /** Whether anything was there. All of it is gone afterwards. */
  detach(port: Pick<Port, 'name' | 'mac_address'>): Promise<boolean>;
  ports(): Promise<readonly Port[]>;
  /** Reads what remains of a guest. */
  remains(port: Omit<Port, 'allocation_id'>): Promise<NetworkRemains>;
  lease(mac: string, expectedIp: string): Promise<DhcpLease>;
  /**
   * Puts back what a restart of switch or firewall took from ports that are there, and removes what no port is left
   * for. What it did, in words. A host whose network forgets nothing has no use for it.
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

/** The serial line of one machine, shared by everyone who is connected to it. */
export type SerialLine = Readonly<{
  /** Recent output of the console, then live output; ends with the VM. */
  output: Readable;
  /** Typed into the machine. Resolves when there is room for more. */
  write(bytes: Buffer): Promise<void>;
  close(): void;
}>;

/** How a tenant reaches what is its own. Nothing here listens: every connection is one that the host makes. */
export type Access = Readonly<{
  /** The account in guests that keys open. */
  guest_username: string;
  /**
   * TCP to a port of a guest by its address, or of this host itself where that is null. Refused: `blocked`, with why.
   */
  dial(to: Readonly<{ address: string | null; port: number }>, signal: AbortSignal): Promise<Duplex>;
  serial(machine: string): Promise<SerialLine>;
  /**
   * The control plane's whole set of keys for the guest's account: what was of an earlier set is gone, what the tenant
   * added by hand stays. Resolves when the guest has said that it has them.
   */
  setGuestKeys(machine: string, keys: readonly string[], signal: AbortSignal): Promise<void>;
}>;

export type User = Readonly<{ username: string; ssh_public_keys: readonly string[] }>;

export type System = Readonly<{
  facts(): Promise<SystemFacts>;
  tools(): Promise<readonly Tool[]>;
  /** Lines of the kernel's log since the host booted, oldest first. */
  kernelLog(): Promise<readonly string[]>;
  ensureUser(user: User): Promise<void>;
  /** Whether the account is here and the control plane's; one of that name that is not is a `conflict`. */
  hasUser(username: string): Promise<boolean>;
  /** Sessions ended, keys and account gone. */
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
    /** The weakest erase that the site allows; none is weaker than a discard. */
    wipe_minimum?: WipeMethod;
    /** GPUs and fabric functions that the site names; without it the agent knows them by class and maker. */
    devices?: DeviceIds;
    /** What can be asked of this host at all. */
    kinds: readonly TaskKind[];
    /**
     * Does the work of one task. A real host has no use for it; the simulated one finds by it the faults that were laid
     * for a kind of task and for what its params name. `host.during?.(task, work) ?? work()`.
     */
    during?<T>(task: Readonly<{ kind: TaskKind; params: object }>, work: () => Promise<T>): Promise<T>;
  }>;
