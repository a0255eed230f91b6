/** What the contract suite asks of whoever brings a host to it. */
import assert from 'node:assert/strict';
import type { BundlePlan } from '@gpuaas/contract/node';
import { type DiskIdentity, type Host, HostError, type HostErrorCode, type Machine } from '../host.ts';

/** The parts of the port that a host may lack: reading first, then what needs devices, tools or root. */
export type Part =
  | 'pci'
  | 'pci.bind'
  | 'pci.reset'
  | 'disks'
  | 'disks.open'
  | 'disks.wipe'
  | 'images'
  | 'images.clone'
  | 'hypervisor'
  | 'network'
  | 'network.ports'
  | 'fabric'
  | 'gpu'
  | 'system'
  | 'users'
  | 'access';

/** A slot whose drive may be erased and whose devices may be bound and reset. */
export type SubjectSlot = Readonly<{ gpu: string; vf: string; module_id: number | null; disk: DiskIdentity }>;

/** What a test cannot bring about through the port itself. */
export type Arrange = Readonly<{
  mount(serial: string): Promise<void>;
  hold(serial: string): Promise<void>;
  /** The reset of this function reaches others. */
  widenReset(address: string): Promise<void>;
  /** The function stays listed, and nothing answers at its address any more. */
  dropOffBus(address: string): Promise<void>;
  /** A domain that is not ours, running. */
  foreignDomain(name: string): Promise<void>;
  /** Writes where only a tenant would. */
  write(serial: string, offset: number, bytes: Uint8Array): Promise<void>;
  ignoreShutdown(): Promise<void>;
  fillImageCache(): Promise<void>;
  /** Somebody is logged in. */
  openSession(username: string): Promise<void>;
  restartFabricManager(): Promise<void>;
  reboot(): Promise<void>;
}>;

export type Subject = Readonly<{
  host: Host;
  slots: readonly SubjectSlot[];
  /** The name of an image that can be pulled here. */
  image: string;
  arrange: Partial<Arrange>;
  close(): Promise<void>;
}>;

/** With everything it asked for there. */
export type Arranged = Subject & Readonly<{ arrange: Arrange }>;

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

/** A machine of these slots, without huge pages; the first one boots it. */
export const machineOf = (
  slots: readonly SubjectSlot[],
  change: Partial<BundlePlan> & Readonly<{ allocation_id?: string; name?: string }> = {},
): Machine => {
  const { allocation_id = ALLOCATION, name = `gpuaas-${allocation_id.replace('_', '-')}`, ...plan } = change;
  const slotId = (index: number): string => `slt_01jz000000000000000000000${index}`;
  return {
    name,
    allocation_id,
    seed: { hostname: 'guest', ssh_public_keys: ['ssh-ed25519 AAAA test'], user_data: null },
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
      ovs_port: 'gp000000000001',
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

/** Bound, with an image on the first drive: all that a start needs. */
export const prepare = async (subject: Subject, slots: readonly SubjectSlot[]): Promise<void> => {
  const [boot] = slots;
  assert.ok(boot, 'a slot to boot from');
  for (const slot of slots) {
    await subject.host.pci.bind(slot.gpu, 'vfio-pci');
    await subject.host.pci.bind(slot.vf, 'vfio-pci');
  }
  await cloneTo(subject, boot);
};

/** The first answer that is one; a guest takes its time, and the runner's limit ends a wait in vain. */
export const eventually = async <T>(ask: () => Promise<T | null>): Promise<T> => {
  for (;;) {
    const answer = await ask();
    if (answer !== null) return answer;
    await new Promise((resolve) => setImmediate(resolve));
  }
};
