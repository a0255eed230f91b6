/** A toy task kind through the seams that CONTRIBUTING names: declared, asked for, signed, executed and processed. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { defineTask, isTaskKind, TASKS, type TaskKind, type TaskPayload, taskLabel } from '@gpuaas/contract/node';
import { silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import Type from 'typebox';
import { finishTask } from '../../server/src/agents/end-task.ts';
import { RESULT_PROCESSORS, type ResultProcessors } from '../../server/src/agents/result-processors.ts';
import { PLATFORM } from '../../server/src/db/client.ts';
import { insertTask } from '../../server/src/db/node-task.ts';
import { testDatabase } from '../../server/test/database.ts';
import { takeQueued } from '../../server/test/host.ts';
import { aNode } from '../../server/test/placement.ts';
import { execute } from '../src/execute.ts';
import { createSimHost } from '../src/host/sim/sim-host.ts';
import type { TaskContext } from '../src/tasks/task.ts';

const TOY = 'toy.count_disks' as TaskKind;
Object.assign(TASKS, {
  [TOY]: defineTask({
    label: 'Count disks',
    params: Type.Object({}, { additionalProperties: false }),
    output: Type.Object({ disk_count: Type.Integer() }, { additionalProperties: false }),
    effect: 'read',
    needs: ['disks'],
    timeout_s: 60,
  }),
});

test('a kind that is declared, has a handler and a result processor works from the question to the result', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-toy-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  const node = await aNode(sql);
  await sql.end();
  assert.ok(isTaskKind(TOY));

  const asked = await database.write(PLATFORM, (tx) =>
    insertTask(tx, { node_id: node.id, kind: TOY, params: {} as never, correlation_id: 'c-toy' }),
  );
  assert.equal(asked.label, taskLabel(TOY));
  const [task] = await takeQueued(database);
  assert.equal(task?.id, asked.id, 'it was signed, handed out and begun');

  const host = createSimHost({ dir, name: 'toy', profile: 'dell-xe9680-h200' });
  const controller = new AbortController();
  const ctx: TaskContext = {
    ...{ host, node_id: node.id, task_id: asked.id, attempt: 1, correlation_id: 'c-toy', log: silentLog(), state: dir },
    signal: controller.signal,
    progress: () => {},
    now: () => new Date(),
  };
  const run = (count: () => Promise<unknown>) =>
    execute({
      handlers: { [TOY]: async () => ({ disk_count: await count() }) } as never,
      payload: { kind: TOY, params: {} } as unknown as TaskPayload,
      ...{ ctx, controller, limit_s: TASKS[TOY].timeout_s, grace_ms: 1_000 },
    }).outcome;
  const broken = await run(async () => 'many');
  assert.equal(broken.kind, 'failed', 'an output of another shape is no result');
  const outcome = await run(async () => (await host.disks.list()).length);
  assert.ok(outcome.kind === 'completed');

  const processed: unknown[] = [];
  const toy = { completed: async (_tx: unknown, _task: unknown, output: unknown) => void processed.push(output) };
  const processors = { ...RESULT_PROCESSORS, [TOY]: toy } as unknown as ResultProcessors;
  const output = outcome.output as Readonly<Record<string, unknown>>;
  const result = { id: asked.id, attempt: 1, state: 'completed', reason: null, output } as const;
  const finish = () => database.write(PLATFORM, (tx) => finishTask(tx, result, { now: new Date(), processors }));
  assert.deepEqual(await finish(), { is_accepted: true, objection: null });
  assert.deepEqual(processed, [{ disk_count: (await host.disks.list()).length }]);
  assert.equal((await finish()).is_accepted, false, 'a result counts once');
  assert.equal(processed.length, 1);
});
