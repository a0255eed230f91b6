import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { SignedTask } from '@gpuaas/contract/node';
import { addNode, enrollAgent, openAgent, payloadOf } from '../../test/agent.ts';
import { startTestApp } from '../../test/app.ts';
import { openChannel } from '../../test/channel.ts';
import { testDatabase } from '../../test/database.ts';
import { until } from '../../test/until.ts';
import { ROLES } from '../config.ts';

it('two processes dispatch each task once', async (t) => {
  const db = await testDatabase(t);
  const first = await startTestApp(t, { roles: ROLES }, { db });
  const second = await startTestApp(t, { roles: ['gpuaas-node-api'] }, { db });
  const channel = openChannel(first);
  const agent = await enrollAgent(channel.url, (await addNode(first)).enrollment);
  const elsewhere = openAgent(second.app.node_api?.url ?? '', agent);
  const ids = new Set<string>();
  for (let n = 0; n < 40; n++) ids.add(await channel.ask(agent.node_id));
  const got: string[] = [];
  const drain = async (at: typeof agent) => {
    while (got.length < ids.size) {
      const { tasks } = (await at.wait({ journaled_task_ids: [...ids], wait_s: 1 })).body as { tasks: SignedTask[] };
      got.push(...tasks.map((task) => payloadOf(task).task_id));
    }
  };
  await Promise.all([drain(agent), drain(elsewhere)]);
  assert.deepEqual(got.toSorted(), [...ids].toSorted());
  for (const one of [agent, elsewhere]) one.close();
});

it('a stopping process answers its waiting polls', async (t) => {
  const closers: (() => Promise<void>)[] = [];
  const test = await startTestApp({ after: (fn) => void closers.unshift(fn) }, { roles: ROLES });
  const closeAll = async () => {
    for (const close of closers.splice(0)) await close();
  };
  t.after(closeAll);
  const channel = openChannel(test);
  const agent = await channel.join();
  const resting = agent.wait({ wait_s: 15 });
  await until('the agent rests', () => (test.app.node_api?.dispatcher.size() ?? 0) > 0);
  await closeAll();
  const answer = await resting;
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.body.tasks, []);
  assert.equal(answer.headers['connection'], 'close');
  agent.close();
});
