/**
 * A simulated host with its agent's state directory, and the tasks of one slice on it, as the control plane would send
 * them.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { TaskKind, TaskOutput, TaskParams, TaskSlot } from '@gpuaas/contract/node';
import { silentLog } from '@gpuaas/kit';
import type { Host } from '../src/host/host.ts';
import { addFault, type NewFault } from '../src/host/sim/fault.ts';
import { createSimHost, type SimHost, type SimOptions } from '../src/host/sim/sim-host.ts';
import { handlers } from '../src/tasks/index.ts';
import type { TaskContext, TaskHandler, TaskUpdate } from '../src/tasks/task.ts';

export const ALLOCATION = 'alc_01jtest0000000000000000001';
export const OTHER = 'alc_01jtest0000000000000000002';
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8K1QmLk4r0Z3v5mG0m4cE0cPo2g0b7w9v1x0y2z3A4 tenant';
export const IMAGE = { name: 'ubuntu-24.04-h200-cuda', digest: null };

const DISK_BYTES = 4 * 1024 * 1024;

type Handled = keyof typeof handlers;

export type TestHost = Readonly<{
  dir: string;
  state: string;
  sim: SimHost;
  /** All reported progress. */
  told: TaskUpdate[];
  ctx(given?: Partial<TaskContext>): TaskContext;
  run<K extends Handled>(kind: K, params: TaskParams<K>, given?: Partial<TaskContext>): Promise<TaskOutput<K>>;
  fault(fault: NewFault): void;
  slots(indexes: readonly number[], generation?: number): Promise<TaskSlot[]>;
  /** The bytes of every disk. */
  hashes(): Promise<string>;
}>;

export const openTestHost = (dir: string, options: Partial<SimOptions> = {}): TestHost => {
  const diskBytes = options.disk_bytes ?? DISK_BYTES;
  const blank = Buffer.alloc(diskBytes);
  const sim = createSimHost({
    dir: join(dir, 'host'),
    name: 'j22u15',
    profile: 'dell-xe9680-h200',
    disk_bytes: diskBytes,
    onCrash: () => undefined,
    ...options,
  });
  const state = join(dir, 'state');
  const told: TaskUpdate[] = [];
  const ctx = (given: Partial<TaskContext> = {}): TaskContext => ({
    host: sim,
    node_id: 'nod_01jtest0000000000000000001',
    task_id: 'tsk_01jtest0000000000000000001',
    attempt: 1,
    correlation_id: 'test',
    log: silentLog(),
    signal: AbortSignal.timeout(20_000),
    progress: (each) => void told.push(each),
    now: () => new Date(),
    state,
    ...given,
  });
  return {
    dir,
    state,
    sim,
    told,
    ctx,
    run: async (kind, params, given) => {
      const handler = handlers[kind] as unknown as TaskHandler<TaskKind>;
      return (await handler(ctx(given), params as TaskParams<TaskKind>)) as TaskOutput<typeof kind>;
    },
    fault: (fault) => void addFault(sim.dir, fault),
    slots: (indexes, generation = 1) => slotsOf(sim, indexes, generation),
    hashes: async () => {
      const hash = createHash('sha256');
      for (const slot of sim.slots) {
        const bytes = await sim.readDisk(slot.serial, 0, diskBytes);
        // Most are blank, and comparing is faster than hashing.
        hash.update(slot.serial).update(bytes.equals(blank) ? 'blank' : bytes);
      }
      return hash.digest('hex');
    },
  };
};

export const startTestHost = (t: TestContext, options: Partial<SimOptions> = {}): TestHost => {
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-agent-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return openTestHost(dir, options);
};

const slotsOf = async (host: SimHost, indexes: readonly number[], generation: number): Promise<TaskSlot[]> => {
  const disks = await (host as Host).disks.list();
  return indexes.map((index) => {
    const slot = host.slots[index];
    const disk = disks.find((each) => each.serial === slot?.serial);
    if (slot === undefined) throw new Error(`the host has no slot ${index}`);
    return {
      slot_id: `slt_01jtest000000000000000000${index}`,
      slot_index: index,
      generation,
      module_id: slot.module_id,
      gpu_pci_address: slot.gpu,
      nvme_serial: slot.serial,
      nvme_device: disk?.device ?? '/dev/disk/by-id/none',
      mac_address: `02:00:00:00:00:0${index}`,
      private_ip: `10.100.0.1${index}`,
      fabric_vf_pci_address: slot.vf,
      wipe_method: null,
    };
  });
};

export const leaseOf = (slots: readonly TaskSlot[], allocation = ALLOCATION): TaskParams<'slice.bundle_lease'> => ({
  allocation_id: allocation,
  slots: [...slots],
  vcpu_count: 24 * slots.length,
  memory_mib: 64 * 1024 * slots.length,
  profile: 'slice-vm',
});

export const startOf = (slots: readonly TaskSlot[], allocation = ALLOCATION): TaskParams<'slice.vm_start'> => ({
  allocation_id: allocation,
  slots: [...slots],
  hostname: 'trainer',
  ssh_public_keys: [KEY],
  user_data: null,
});

export const of = (slots: readonly TaskSlot[], allocation = ALLOCATION) => ({
  allocation_id: allocation,
  slots: [...slots],
});

/** Leased, cloned and running. */
export const provision = async (host: TestHost, slots: readonly TaskSlot[], allocation = ALLOCATION): Promise<void> => {
  await host.run('slice.bundle_lease', leaseOf(slots, allocation));
  await host.run('slice.image_clone', { ...of(slots, allocation), image: IMAGE });
  await host.run('slice.vm_start', startOf(slots, allocation));
};
