import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { playHost } from '../../test/host.ts';
import { aNode } from '../../test/placement.ts';
import { runFaults, undisturbedPath } from '../../test/workflow-faults.ts';
import { type ProgressFacts, progressOf } from '../domain/progress.ts';
import { declare, type StepOf } from '../domain/workflow-declaration.ts';
import { isHostStep, stepLabel, workflowWords } from '../domain/workflow-steps.ts';
import { done, next, stuck } from './engine/outcome.ts';
import { workflow } from './engine/workflow.ts';
import { createRunHostTask, type RunHostTask } from './host-task.ts';

const TOY = declare({
  name: 'toy',
  version: 1,
  label: 'Toy',
  phase: 'launch',
  steps: {
    probe: {
      label: 'Probe host',
      usual_s: 4,
      task: 'diag.health_probe',
      doing: 'The host is being probed.',
      failed: 'The host could not be probed.',
    },
    finish: { label: 'Finish', usual_s: 0, task: null },
    abort: { label: 'Abort', usual_s: 0, task: null, is_off_path: true },
  },
});

type Deps = Readonly<{ load(id: string): Promise<string>; ask: RunHostTask }>;
const { probe } = TOY.steps;

const toy = workflow<Deps, string, StepOf<typeof TOY>>({
  declared: TOY,
  deadlineMs: 600_000,
  onCancel: 'abort',
  load: (deps, id) => deps.load(id),
  steps: {
    probe: async (deps, node_id, ctx) => {
      const asked = { node_id, kind: probe.task, params: {}, tries_max: 1, doing: probe.doing };
      const answer = await deps.ask(ctx, asked);
      if (answer.kind === 'waiting') return answer.outcome;
      return answer.kind === 'completed' ? next('finish') : stuck(probe.failed);
    },
    finish: async () => done(),
    abort: async () => done(),
  },
});

test('a workflow that is only declared and written has words, progress, and survives every fault', async (t) => {
  assert.deepEqual(workflowWords('toy', [TOY]), { workflow_label: 'Toy', phase: 'launch' });
  assert.deepEqual([stepLabel('toy', 'probe', [TOY]), isHostStep('toy', 'probe', [TOY])], ['Probe host', true]);
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
    history: [{ step: 'probe', outcome: 'next', started_at: at, finished_at: at }],
  };
  assert.deepEqual(
    progressOf(facts, Date.parse(at), [TOY])?.steps.map(({ key, state }) => `${key} ${state}`),
    ['probe done', 'finish running'],
  );

  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const deps: Deps = { load: async (id) => id, ask: createRunHostTask(database) };
  await runFaults({
    database,
    workflow: toy,
    fresh: async () => ({ deps, subject_id: (await aNode(sql, { gpu_count: 1, partitions: false })).id }),
    answer: async () => void (await playHost(database)),
    check: async (_, { state }) => assert.ok(['done', 'stuck', 'cancelled'].includes(state), state),
    // Each execution loads; two ask the host.
    expected: { path: undisturbedPath(toy, 'gpu_slice'), calls: 3 + 2 },
  });
});
