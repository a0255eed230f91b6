/**
 * What a simulated host does for each kind of task. It does it truthfully: a lease remembers its generation and refuses
 * an older one, an image is bytes on a disk, a wipe is read back. A tag on the allocation, `lab.fault`, makes one thing
 * go wrong: `lease`, `clone`, `start`, `readiness`, `stop`, `wipe` (the disk is not erased) or `user`.
 */
import { discard, readBack, writeImage } from './disk.ts';

export type HostTask = Readonly<{ kind: string; params: Readonly<Record<string, unknown>>; fault: string | null }>;
export type HostAnswer = Readonly<{ output: Readonly<Record<string, unknown>> } | { failed: string }>;

type Slot = Readonly<{ slot_id: string; generation: number; nvme_serial: string; wipe_policy: string | null }>;
type Disk = Readonly<{ serial: string; device: string }>;

export type SimulatedHost = Readonly<{ perform(task: HostTask): Promise<HostAnswer> }>;

const slotsOf = (task: HostTask): readonly Slot[] => (task.params['slots'] ?? []) as readonly Slot[];
const disksOf = (task: HostTask): readonly Disk[] => (task.params['disks'] ?? []) as readonly Disk[];

const FAULTS: Readonly<Record<string, string>> = {
  'slice.bundle_lease': 'lease',
  'slice.image_clone': 'clone',
  'slice.vm_start': 'start',
  'slice.vm_readiness': 'readiness',
  'slice.vm_stop': 'stop',
  'allocation.provision_user': 'user',
};

export const createHost = (dir: string): SimulatedHost => {
  /** The newest generation seen of each slot. */
  const generations = new Map<string, number>();

  const staleSlot = (task: HostTask): Slot | undefined => {
    const stale = slotsOf(task).find((slot) => slot.generation < (generations.get(slot.slot_id) ?? 0));
    if (stale === undefined) for (const slot of slotsOf(task)) generations.set(slot.slot_id, slot.generation);
    return stale;
  };

  const wipe = async (task: HostTask, disk: Readonly<{ serial: string; method: string; slot: Slot | null }>) => {
    if (task.fault !== 'wipe') await discard(dir, disk.serial);
    const found = await readBack(dir, disk.serial);
    return {
      slot_id: disk.slot?.slot_id ?? null,
      serial: disk.serial,
      generation: disk.slot?.generation ?? null,
      method: disk.method,
      ...found,
      is_verified: found.bytes_read_back > 0 && found.bytes_not_erased === 0,
      finished_at: new Date().toISOString(),
    };
  };

  const cleanUp = async (task: HostTask): Promise<HostAnswer> => {
    const slots = slotsOf(task);
    const ofSlots = new Set(slots.map((slot) => slot.nvme_serial));
    const targets = [
      ...slots.map((slot) => ({ serial: slot.nvme_serial, method: slot.wipe_policy ?? 'blkdiscard', slot })),
      ...disksOf(task)
        .filter((disk) => !ofSlots.has(disk.serial))
        .map((disk) => ({ serial: disk.serial, method: 'blkdiscard', slot: null })),
    ];
    const disks = [];
    for (const target of targets) disks.push(await wipe(task, target));
    return { output: { network_detached: true, disks } };
  };

  return {
    perform: async (task) => {
      const stale = staleSlot(task);
      if (stale !== undefined) return { failed: `slot ${stale.slot_id} has been given to a later allocation` };
      if (task.fault !== null && FAULTS[task.kind] === task.fault) return { failed: `injected: ${task.fault}` };
      switch (task.kind) {
        case 'slice.image_clone':
        case 'allocation.provision_user':
          for (const serial of [
            ...slotsOf(task).map((slot) => slot.nvme_serial),
            ...disksOf(task).map((disk) => disk.serial),
          ])
            await writeImage(dir, serial);
          return { output: {} };
        case 'slice.cleanup':
        case 'node.cleanup':
          return cleanUp(task);
        case 'slice.bundle_lease':
        case 'slice.vm_start':
        case 'slice.vm_readiness':
        case 'slice.vm_stop':
        case 'allocation.deprovision_user':
          return { output: {} };
        default:
          return { failed: `this host knows no task ${task.kind}` };
      }
    },
  };
};
