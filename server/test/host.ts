/**
 * A host for tests of the lifecycle: it answers every task at once, truthfully unless told otherwise, and a worker with
 * all workflows of allocations goes on until nothing more happens.
 */
import { silentLog } from '@gpuaas/kit';
import { type Database, PLATFORM } from '../src/db/client.ts';
import { type NodeTaskRow, takeTasks } from '../src/db/node-task.ts';
import { createAllocationDeps } from '../src/workflows/allocation-deps.ts';
import { createRegistry } from '../src/workflows/engine/registry.ts';
import { createWorker } from '../src/workflows/engine/worker.ts';
import { bind } from '../src/workflows/engine/workflow.ts';
import { finishTask } from '../src/workflows/finish-task.ts';
import { createKeysDeps, installKeys } from '../src/workflows/install-keys.ts';
import { bindPower } from '../src/workflows/power-slice.ts';
import { provisionBaremetal } from '../src/workflows/provision-baremetal.ts';
import { provisionSlice } from '../src/workflows/provision-slice.ts';
import { releaseAllocation } from '../src/workflows/release-allocation.ts';

type Slot = Readonly<{ slot_id: string; nvme_serial: string; gpu_pci_address: string; generation: number }>;
type Output = Readonly<Record<string, unknown>>;

const diskOf = (slot_id: string | null, serial: string, generation: number | null) => ({
  slot_id,
  serial,
  generation,
  method: 'nvme_sanitize',
  bytes_read_back: 4096,
  bytes_not_erased: 0,
  is_verified: true,
  finished_at: new Date().toISOString(),
});

/** What a host says that has done its work. */
export const truth = (task: NodeTaskRow): Output => {
  if (!task.kind.endsWith('.cleanup')) return {};
  const slots = task.params['slots'] as readonly Slot[];
  const disks = (task.params['disks'] ?? []) as readonly { serial: string }[];
  return {
    network_detached: true,
    disks: [
      ...slots.map((slot) => diskOf(slot.slot_id, slot.nvme_serial, slot.generation)),
      ...disks.map((disk) => diskOf(null, disk.serial, null)),
    ],
    gpu_resets: slots.map((slot) => ({ gpu_pci_address: slot.gpu_pci_address, method: 'flr', scope: [], is_ok: true })),
  };
};

export type HostPlay = Readonly<{
  /** Null fails the task. */
  answer?: (task: NodeTaskRow) => Output | null;
  /** What a failed task tells beside its reason. */
  refusal?: Output | null;
  /** Another host, in place of this one: does what is queued and says how much that was. */
  host?: () => Promise<number>;
  /** Only this one; every host of the tests unless given. */
  node_name?: string;
  /** Stops after so many rounds, in the middle of things. */
  rounds?: number;
}>;

/** Does what is queued. */
export const playHost = async (database: Database, play: HostPlay = {}): Promise<NodeTaskRow[]> => {
  const prefix = play.node_name ?? 'node-';
  const tasks = await database.write(PLATFORM, (tx) => takeTasks(tx, { node_name_prefix: prefix, limit: 100 }));
  for (const task of tasks) {
    const output = (play.answer ?? truth)(task);
    await database.write(PLATFORM, (tx) =>
      finishTask(tx, {
        id: task.id,
        attempt: task.attempt,
        state: output === null ? 'failed' : 'completed',
        reason: output === null ? 'The test host failed.' : null,
        output: output ?? play.refusal ?? null,
      }),
    );
  }
  return tasks;
};

/** Every run is due now. */
const passAllTime = (database: Database): Promise<void> =>
  database.write(PLATFORM, async (tx) => {
    await tx.query(`update workflow_runs set due_at = clock_timestamp(), wake_at = clock_timestamp()
      where state = 'waiting' and due_at > clock_timestamp()`);
  });

const QUIET_ROUNDS = 3;

/** Lets workers and host go on until neither finds anything to do. */
export const settle = async (database: Database, play: HostPlay = {}): Promise<string[]> => {
  const deps = createAllocationDeps({ database, retry_delay_ms: () => 0 });
  const registry = createRegistry([
    bind(provisionSlice, deps),
    bind(provisionBaremetal, deps),
    bind(releaseAllocation, deps),
    ...bindPower(deps),
    bind(installKeys, createKeysDeps({ database, retry_delay_ms: 0 })),
  ]);
  const worker = createWorker({ database, registry, log: silentLog() });
  const kinds: string[] = [];
  for (let quiet = 0, round = 0; quiet < QUIET_ROUNDS && round < (play.rounds ?? 100); round++) {
    const worked = await worker.tick();
    const tasks = play.host === undefined ? await playHost(database, play) : [];
    const done = play.host === undefined ? tasks.length : await play.host();
    kinds.push(...tasks.map((task) => task.kind));
    quiet = worked === 0 && done === 0 ? quiet + 1 : 0;
    await passAllTime(database);
  }
  return kinds;
};
