/** What a test supplies to run the contract suite on a host. */
import assert from 'node:assert/strict';
import type { BootKind, BundlePlan } from '@gpuaas/contract/node';
import { type DiskIdentity, type Host, HostError, type HostErrorCode, type Port, type VmPlan } from '../host.ts';

/** The parts of the host port that a host may support: reading first, then actions that need devices, tools or root. */
export const PARTS = [
  'pci',
  'pci.bind',
  'pci.reset',
  'disks',
  'disks.open',
  'disks.wipe',
  'images',
  'images.clone',
  'hypervisor',
  'network',
  'network.ports',
  'fabric',
  'gpu',
  'system',
  'users',
  'access',
] as const;
export type Part = (typeof PARTS)[number];

/** A slot whose disk may be wiped and whose devices may be bound and reset. */
export type SubjectSlot = Readonly<{ gpu: string; vf: string; module_id: number | null; disk: DiskIdentity }>;

/** What a test cannot bring about through the port itself. */
export type Arrange = Readonly<{
  mount(serial: string): Promise<void>;
  hold(serial: string): Promise<void>;
  /** The reset of this function affects others. */
  widenReset(address: string): Promise<void>;
  /** The function stays listed and no longer responds. */
  dropOffBus(address: string): Promise<void>;
  /** A running domain that the agent does not manage. */
  foreignDomain(name: string): Promise<void>;
  /** Writes where only a tenant would. */
  write(serial: string, offset: number, bytes: Uint8Array): Promise<void>;
  ignoreShutdown(): Promise<void>;
  fillImageCache(): Promise<void>;
  /** The user has a login session. */
  openSession(username: string): Promise<void>;
  restartFabricManager(): Promise<void>;
  /** The host has no kernel for VMs. */
  removeBootKernel(): Promise<void>;
  reboot(): Promise<void>;
}>;

const ARRANGED: Record<keyof Arrange, true> = {
  mount: true,
  hold: true,
  widenReset: true,
  dropOffBus: true,
  foreignDomain: true,
  write: true,
  ignoreShutdown: true,
  fillImageCache: true,
  openSession: true,
  restartFabricManager: true,
  removeBootKernel: true,
  reboot: true,
};
export const ARRANGEMENTS = Object.keys(ARRANGED) as readonly (keyof Arrange)[];

/** The capabilities of a host under test. The suite creates the cases that need no more than this. */
export type Capabilities = Readonly<{
  parts: readonly Part[];
  /** How many slots it has. */
  slots: number;
  /** What the test can bring about on it. */
  arrange: readonly (keyof Arrange)[];
}>;

export type Subject<C extends Capabilities = Capabilities> = Readonly<{
  host: Host;
  slots: readonly SubjectSlot[];
  /** The name of an image that can be pulled here. */
  image: string;
  /** What a VM of the suite asks for here, where the default size does not fit. */
  machine?: Partial<BundlePlan>;
  /** Of the image; `uefi` if absent. */
  boot_kind?: BootKind;
  arrange: Pick<Arrange, C['arrange'][number]>;
  close(): Promise<void>;
}>;

/** A host under test with everything that a case needs. */
export type Arranged = Subject & Readonly<{ arrange: Arrange }>;

/** A host as the suite uses it. `simulated` names the parts that the code of another host replaces. */
export type HostUnderTest<C extends Capabilities = Capabilities> = Readonly<{
  name: string;
  kind: 'linux' | 'sim';
  capabilities: C;
  simulated: readonly Part[];
  /** The program or privilege that this computer lacks for it; false if it lacks none. */
  missing?: string | false;
  make(): Promise<Subject<C>>;
}>;

/** Keeps the literal types, so that a missing arrangement does not compile. */
export const hostUnderTest = <const C extends Capabilities>(host: HostUnderTest<C>): HostUnderTest<C> => host;

export type ContractTest = Readonly<{
  part: Part;
  name: string;
  /** How many slots it needs. */
  slots: number;
  arrange: readonly (keyof Arrange)[];
  run(subject: Subject): Promise<void>;
}>;

type Needs = Readonly<{ slots?: number; arrange?: readonly (keyof Arrange)[] }>;

/** `run` is called only if everything in `needs` is there, so it may use it. */
export const contractTest = (
  part: Part,
  name: string,
  needs: Needs,
  run: (subject: Arranged) => Promise<void>,
): ContractTest => ({
  part,
  name,
  slots: needs.slots ?? 0,
  arrange: needs.arrange ?? [],
  run: (subject) => run(subject as Arranged),
});

export const slotAt = (subject: Subject, index: number): SubjectSlot => {
  const slot = subject.slots[index];
  assert.ok(slot, `slot ${index}`);
  return slot;
};

/** Refused with a reason a person can act on, by one of these codes. */
export const refuses = (work: Promise<unknown>, ...codes: readonly HostErrorCode[]): Promise<void> =>
  assert.rejects(work, (err: unknown) => {
    assert.ok(err instanceof HostError, `a HostError, not ${String(err)}`);
    assert.ok(codes.length === 0 || codes.includes(err.code), `${err.code}: ${err.message}`);
    assert.ok(err.message.length > 10, 'a reason in words');
    return true;
  });

export const ALLOCATION = 'alc_01jz0000000000000000000001';
export const OTHER_ALLOCATION = 'alc_01jz0000000000000000000002';

const portNameOf = (allocationId: string): string => `gp${allocationId.slice(-12)}`;

/** Two public keys without known private keys. */
export const KEYS = [
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJrdGRbsSxk3+uIc8C0krx3ud23UwpFcNjjs36R6CLvp one',
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICHYHSFNsQ2hcqCdZu5rpV3v2NgDtowamQ3gWNwFfOG3 two',
] as const;

/** A VM of these slots, without huge pages; the first one boots it. */
export const machineOf = (
  slots: readonly SubjectSlot[],
  change: Partial<BundlePlan> & Readonly<{ allocation_id?: string; name?: string; passes_fabric?: boolean }> = {},
): VmPlan => {
  const {
    allocation_id = ALLOCATION,
    name = `gpuaas-${allocation_id.replace('_', '-')}`,
    passes_fabric = true,
    ...plan
  } = change;
  const slotId = (index: number): string => `slt_01jz000000000000000000000${index}`;
  return {
    name,
    allocation_id,
    passes_fabric,
    seed: { hostname: 'guest', ssh_public_keys: [KEYS[0]], user_data: null },
    plan: {
      boot_slot_id: slotId(0),
      slots: slots.map((slot, index) => ({
        slot_id: slotId(index),
        generation: 1,
        gpu_pci_address: slot.gpu,
        fabric_vf_pci_address: slot.vf,
        nvme_device: slot.disk.device,
        nvme_serial: slot.disk.serial,
        nvme_major_minor: null,
      })),
      mac_address: '02:00:00:00:00:01',
      private_ip: '10.100.0.11',
      ovs_port: portNameOf(allocation_id),
      numa_nodes: [0],
      cpuset: '0-7',
      vcpu_count: 8,
      memory_mib: 65_536,
      hugepages: null,
      fabric_partition_id: null,
      profile: 'slice',
      ...plan,
    },
  };
};

/** The same, as large as the host under test can run it. */
export const machineOn = (
  subject: Subject,
  slots: readonly SubjectSlot[],
  change: Parameters<typeof machineOf>[1] = {},
): VmPlan => ({
  ...machineOf(slots, { ...subject.machine, ...change }),
  boot_kind: subject.boot_kind ?? 'uefi',
});

export const portOf = ({ plan, allocation_id }: VmPlan): Port => ({
  name: plan.ovs_port,
  mac_address: plan.mac_address,
  private_ip: plan.private_ip,
  allocation_id,
});

export const noProgress = (): void => {};

export const cloneTo = async ({ host, image }: Subject, slot: SubjectSlot): Promise<void> => {
  const name = { name: image, digest: null };
  await host.images.pull(name, noProgress);
  const disk = await host.disks.open(slot.disk);
  try {
    await host.images.clone(name, disk, noProgress);
  } finally {
    await disk.close();
  }
};

/** A VM that can be started: devices bound, port attached, an image on the first disk. */
export const prepare = async (
  subject: Subject,
  slots: readonly SubjectSlot[],
  change: Parameters<typeof machineOf>[1] = {},
): Promise<VmPlan> => {
  const machine = machineOn(subject, slots, change);
  const [boot] = slots;
  assert.ok(boot, 'a slot to boot from');
  for (const slot of slots) {
    await subject.host.pci.bind(slot.gpu, 'vfio-pci');
    await subject.host.pci.bind(slot.vf, 'vfio-pci');
  }
  await subject.host.network.attach(portOf(machine));
  await cloneTo(subject, boot);
  return machine;
};

const PAUSE_MS = 20;

/** The first result that is not null; the runner's limit ends a wait in vain. */
export const eventually = async <T>(ask: () => Promise<T | null>): Promise<T> => {
  for (;;) {
    const answer = await ask();
    if (answer !== null) return answer;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
};
