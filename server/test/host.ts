/**
 * A host for tests of the lifecycle: it receives its tasks as in production, signed and started, completes each
 * immediately, and a worker with all workflows of allocations continues until nothing more happens.
 */
import assert from 'node:assert/strict';
import { generateKeyPairSync, verify } from 'node:crypto';
import {
  isTaskKind,
  type SignedTask,
  TASKS,
  type TaskErrorCode,
  type TaskPayload,
  taskTreeBytes,
} from '@gpuaas/contract/node';
import { invariant, silentLog, systemClock } from '@gpuaas/kit';
import { finish, start } from '../src/agents/task-result.ts';
import { createTaskSender } from '../src/agents/task-sender.ts';
import type { TrustCache } from '../src/agents/trust.ts';
import { type Database, PLATFORM } from '../src/db/client.ts';
import type { NodeTaskRow } from '../src/db/node-task.ts';
import { createAllocationDeps } from '../src/workflows/allocation-deps.ts';
import type { AllocationDeps } from '../src/workflows/allocation-steps.ts';
import { createRegistry } from '../src/workflows/engine/registry.ts';
import { createWorker } from '../src/workflows/engine/worker.ts';
import { bind } from '../src/workflows/engine/workflow.ts';
import { createKeysDeps, installKeys } from '../src/workflows/install-keys.ts';
import { bindPower } from '../src/workflows/power-slice.ts';
import { provisionBaremetal } from '../src/workflows/provision-baremetal.ts';
import { provisionSlice } from '../src/workflows/provision-slice.ts';
import { cleanLeftHost, releaseAllocation } from '../src/workflows/release-allocation.ts';
import { anyOf } from './arbitrary.ts';
import { HOST_OUTPUTS } from './host-output.ts';
import { appSecrets } from './secrets.ts';

type Output = Readonly<Record<string, unknown>>;

/** The output of a host after its work. */
export const truth = (task: NodeTaskRow): Output => {
  invariant(isTaskKind(task.kind), `${task.kind} is a task kind`);
  const output = HOST_OUTPUTS[task.kind];
  return output === undefined ? (anyOf(TASKS[task.kind].output) as Output) : output(task.params as never);
};

export type HostPlay = Readonly<{
  /** Null fails the task. */
  answer?: (task: NodeTaskRow) => Output | null;
  /** Of a failed task (default none). */
  error_code?: TaskErrorCode;
  /** Details of a failed task besides its reason. */
  refusal?: Output | null;
  /** Another host instead of this one: executes queued tasks and returns their number. */
  host?: () => Promise<number>;
  /** Only this one (default every host of the tests). */
  node_name?: string;
  /** Replaces dependencies of the workflows. */
  deps?: Partial<AllocationDeps>;
  /** Stops after this many rounds, possibly with work left. */
  rounds?: number;
}>;

const deps = (database: Database) => ({ database, clock: systemClock, log: silentLog() });
const signer = generateKeyPairSync('ed25519');
/** The tests' own signer, as an agent trusts it. */
const trust: TrustCache = {
  current: () => ({ bundle: { version: 'test' }, signer: { id: 'tky_test', key: signer.privateKey } }) as never,
  refresh: async () => {},
};

/** As an agent does: only signed tasks are executed. */
const verified = ({ payload, proof, signature }: SignedTask): NodeTaskRow => {
  const bytes = taskTreeBytes(payload, proof);
  assert.ok(bytes !== null && verify(null, bytes, signer.publicKey, Buffer.from(signature, 'base64')), 'it is signed');
  const { task_id, issued_at, expires_at: _, ...task } = JSON.parse(payload) as TaskPayload;
  return {
    ...task,
    id: task_id,
    params: task.params as Output,
    created_at: issued_at,
    state: 'running',
    ...{ slot_id: null, slot_generation: null, state_reason: null, error_code: null, output: null, finished_at: null },
    workflow_run_id: null,
  };
};

/** Dispatches queued tasks as the dispatcher does, and starts them: locked, signed, sent, marked, allowed. */
export const takeQueued = async (database: Database, prefix = 'node-'): Promise<NodeTaskRow[]> => {
  const { rows } = await database.read(PLATFORM, (reader) =>
    reader.query<{ id: string }>('select id from nodes where starts_with(name, $1)', [prefix]),
  );
  const known = new Set(rows.map(({ id }) => id));
  const work = createTaskSender({ ...deps(database), trust, secrets: appSecrets });
  const found = await work.find([], []);
  const sent: SignedTask[] = [];
  await work.send(
    found,
    found.nodes.filter((id) => known.has(id)),
    [],
    (_, tasks) => {
      sent.push(...tasks);
      return true;
    },
  );
  const begun: NodeTaskRow[] = [];
  for (const task of sent.map(verified)) {
    const where = { node_id: task.node_id, task_id: task.id };
    // Withdrawn since: it is not started.
    if ((await start(deps(database), where, { attempt: task.attempt })).may_start) begun.push(task);
  }
  return begun;
};

/** Reports as an agent does. Null fails the task. False when the result does not count. */
export const report = async (
  database: Database,
  task: Pick<NodeTaskRow, 'id' | 'node_id' | 'attempt'>,
  output: Output | null,
  refusal: Output | null = null,
  error_code: TaskErrorCode | null = null,
): Promise<boolean> => {
  const { is_accepted } = await finish(
    deps(database),
    { node_id: task.node_id, task_id: task.id },
    {
      attempt: task.attempt,
      state: output === null ? 'failed' : 'completed',
      error_code: output === null ? error_code : null,
      reason: output === null ? 'The test host failed.' : null,
      output: output ?? refusal,
      started_at: null,
      finished_at: new Date().toISOString(),
    },
  );
  return is_accepted;
};

/** Executes queued tasks. */
export const playHost = async (database: Database, play: HostPlay = {}): Promise<NodeTaskRow[]> => {
  const tasks = await takeQueued(database, play.node_name);
  for (const task of tasks) await report(database, task, (play.answer ?? truth)(task), play.refusal, play.error_code);
  return tasks;
};

/** Every run is due now. */
const passAllTime = (database: Database): Promise<void> =>
  database.write(PLATFORM, async (tx) => {
    await tx.query(`update workflow_runs set due_at = clock_timestamp(), wake_at = clock_timestamp()
      where state = 'waiting' and due_at > clock_timestamp()`);
  });

const QUIET_ROUNDS = 3;

/** Lets workers and host continue until neither finds work. */
export const settle = async (database: Database, play: HostPlay = {}): Promise<string[]> => {
  const deps = { ...createAllocationDeps({ database, retry_delay_ms: () => 0 }), ...play.deps };
  const registry = createRegistry([
    bind(provisionSlice, deps),
    bind(provisionBaremetal, deps),
    bind(releaseAllocation, deps),
    bind(cleanLeftHost, deps),
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
