/**
 * A toy workflow with a toy task kind, through the extension points that CONTRIBUTING names: the kind is declared in
 * the contract, has a handler on the agent and a result processor on the server; the workflow is declared and written.
 * Nothing else is added, and the rest follows: labels, progress, queueing, signing, execution, the result, and the
 * fault suite.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { defineTask, TASKS, type TaskKind, type TaskPayload, taskLabel } from '@gpuaas/contract/node';
import { silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import Type from 'typebox';
import { RESULT_PROCESSORS } from '../../server/src/agents/result-processors.ts';
import { PLATFORM } from '../../server/src/db/client.ts';
import type { NodeTaskRow } from '../../server/src/db/node-task.ts';
import { findRun } from '../../server/src/db/workflow-run-view.ts';
import { type ProgressFacts, progressOf } from '../../server/src/domain/progress.ts';
import { declare, type StepOf } from '../../server/src/domain/workflow-declaration.ts';
import { isHostStep, stepLabel, workflowWords } from '../../server/src/domain/workflow-steps.ts';
import { done, next, stuck } from '../../server/src/workflows/engine/outcome.ts';
import { createRegistry } from '../../server/src/workflows/engine/registry.ts';
import { startRun } from '../../server/src/workflows/engine/run.ts';
import { createWorker } from '../../server/src/workflows/engine/worker.ts';
import { bind, workflow } from '../../server/src/workflows/engine/workflow.ts';
import { createRunHostTask, type RunHostTask } from '../../server/src/workflows/host-task.ts';
import { testDatabase } from '../../server/test/database.ts';
import { report, takeQueued } from '../../server/test/host.ts';
import { aNode } from '../../server/test/placement.ts';
import { runFaults, undisturbedPath } from '../../server/test/workflow-faults.ts';
import { execute, type Outcome } from '../src/execute.ts';
import type { Host } from '../src/host/host.ts';
import { createSimHost } from '../src/host/sim/sim-host.ts';
import { handlers } from '../src/tasks/index.ts';
import type { TaskContext } from '../src/tasks/task.ts';

// The kind, as `contract/src/node/task-kinds.ts` would declare it.
const COUNT = 'toy.count_disks' as TaskKind;
Object.assign(TASKS, {
  [COUNT]: defineTask({
    label: 'Count disks',
    params: Type.Object({}, { additionalProperties: false }),
    output: Type.Object({ disk_count: Type.Integer() }, { additionalProperties: false }),
    effect: 'read',
    needs: ['disks'],
    timeout_s: 60,
  }),
});

// Its handler on the agent, and its result processor on the server.
Object.assign(handlers, {
  [COUNT]: async ({ host }: TaskContext) => ({ disk_count: (await host.disks.list()).length }),
});
const processed = new Map<string, unknown[]>();
Object.assign(RESULT_PROCESSORS, {
  [COUNT]: {
    completed: async (_tx: unknown, { node_id }: NodeTaskRow, output: unknown) => {
      processed.set(node_id, [...(processed.get(node_id) ?? []), output]);
    },
  },
});

// The workflow, as `server/src/domain/workflow-steps.ts` would declare it, and its functions.
const TOY = declare({
  name: 'toy',
  version: 1,
  label: 'Toy',
  phase: 'launch',
  steps: {
    count: {
      label: 'Count disks',
      usual_s: 4,
      task: COUNT,
      doing: 'The disks are being counted.',
      failed: 'The disks could not be counted.',
    },
    finish: { label: 'Finish', usual_s: 0, task: null },
    abort: { label: 'Abort', usual_s: 0, task: null, is_off_path: true },
  },
});

type Deps = Readonly<{ load(id: string): Promise<string>; runHostTask: RunHostTask }>;
const { count } = TOY.steps;

const toy = workflow<Deps, string, StepOf<typeof TOY>>({
  declared: TOY,
  deadlineMs: 600_000,
  onCancel: 'abort',
  load: (deps, id) => deps.load(id),
  steps: {
    count: async (deps, node_id, ctx) => {
      const request = { node_id, kind: count.task, params: {} as never, tries_max: 1, doing: count.doing };
      const result = await deps.runHostTask(ctx, request);
      if (result.kind === 'waiting') return result.outcome;
      return result.kind === 'completed' ? next('finish') : stuck(count.failed);
    },
    finish: async () => done(),
    abort: async () => done(),
  },
});

const world = async (t: TestContext) => {
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-toy-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const host = createSimHost({ dir, name: 'toy', profile: 'dell-xe9680-h200' });

  /** As the agent does, with all its handlers. */
  const run = (task: NodeTaskRow, on: Host): Promise<Outcome> => {
    const controller = new AbortController();
    const ctx: TaskContext = {
      ...{ host: on, node_id: task.node_id, task_id: task.id, attempt: task.attempt, state: dir, log: silentLog() },
      correlation_id: task.correlation_id,
      signal: controller.signal,
      progress: () => {},
      now: () => new Date(),
    };
    const payload = { kind: task.kind, params: task.params } as unknown as TaskPayload;
    return execute({ handlers, payload, ctx, controller, limit_s: TASKS[COUNT].timeout_s, grace_ms: 1_000 }).outcome;
  };
  /** Executes the signed tasks of the server and reports the results. */
  const answer = async (on: Host = host): Promise<void> => {
    for (const task of await takeQueued(database)) {
      const outcome = await run(task, on);
      const output = outcome.kind === 'completed' ? (outcome.output as Readonly<Record<string, unknown>>) : null;
      assert.ok(await report(database, task, output), 'the result counts');
      assert.equal(await report(database, task, output), true, 'the same result again changes nothing');
    }
  };
  const fresh = async () => ({
    deps: { load: async (id: string) => id, runHostTask: createRunHostTask(database) },
    subject_id: (await aNode(sql, { gpu_count: 1, partitions: false })).id,
  });
  return { database, host, answer, fresh };
};

test('a task kind and a workflow that are only declared have labels and progress', () => {
  assert.equal(taskLabel(COUNT), 'Count disks');
  assert.deepEqual(workflowWords('toy', [TOY]), { workflow_label: 'Toy', phase: 'launch' });
  assert.deepEqual([stepLabel('toy', 'count', [TOY]), isHostStep('toy', 'count', [TOY])], ['Count disks', true]);
  const at = '2026-11-16T10:00:00.000Z';
  const facts: ProgressFacts = {
    workflow: 'toy',
    step: 'finish',
    capacity_shape: 'gpu_slice',
    started_at: at,
    percent: null,
    bytes_per_s: null,
    note: null,
    medians_s: {},
    history: [{ step: 'count', outcome: 'next', started_at: at, finished_at: at }],
  };
  assert.deepEqual(
    progressOf(facts, Date.parse(at), [TOY])?.steps.map(({ key, state }) => `${key} ${state}`),
    ['count done', 'finish running'],
  );
});

test('they run from the request to the processed result and survive every fault', async (t) => {
  const { database, host, answer, fresh } = await world(t);
  const disk_count = (await host.disks.list()).length;
  assert.ok(disk_count > 0);
  await runFaults({
    database,
    workflow: toy,
    fresh,
    answer: () => answer(),
    check: async ({ subject_id }, { state }) => {
      assert.ok(['done', 'stuck', 'cancelled'].includes(state), state);
      const results = processed.get(subject_id) ?? [];
      if (state === 'done') assert.deepEqual(results, [{ disk_count }], 'the result is processed once');
      else assert.ok(results.length <= 1);
    },
    // Each execution loads; two queue a host task.
    expected: { path: undisturbedPath(toy, 'gpu_slice'), calls: 3 + 2 },
  });
});

test('an output of the wrong shape fails the task, and the run shows the declared reason of the step', async (t) => {
  const { database, host, answer, fresh } = await world(t);
  const broken: Host = { ...host, disks: { ...host.disks, list: async () => ({ length: 'many' }) as never } };
  const { deps, subject_id } = await fresh();
  const of = { subject_id, organization_id: null, project_id: null, correlation_id: 'c-toy' };
  const { id } = await database.write(PLATFORM, (tx) => startRun(tx, { workflow: toy, ...of }));
  const worker = createWorker({ database, registry: createRegistry([bind(toy, deps)]), log: silentLog() });
  const look = async () => {
    await worker.tick();
    const run = await database.read(PLATFORM, (reader) => findRun(reader, id));
    return [run?.state, run?.state_reason];
  };
  assert.deepEqual(await look(), ['waiting', count.doing]);
  await answer(broken);
  assert.deepEqual(await look(), ['stuck', count.failed]);
  assert.equal(processed.has(subject_id), false);
});
