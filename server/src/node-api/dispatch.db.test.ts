import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SignedTask } from '@gpuaas/contract/node';
import { payloadOf } from '../../test/agent.ts';
import { useChannel } from '../../test/channel.ts';
import { until } from '../../test/until.ts';
import { listNodesLacking } from '../db/agent-task.ts';
import { PLATFORM } from '../db/client.ts';
import { redispatchTasks } from '../db/node-task.ts';

const clockOff = (seconds: number) => ({ clock: new Date(Date.now() + seconds * 1000).toISOString() });
const refusal = {
  attempt: 1,
  state: 'failed' as const,
  error_code: 'clock_skew' as const,
  reason: 'It was signed 500 s before this host’s time.',
  output: null,
  started_at: null,
  finished_at: new Date().toISOString(),
};

describe('dispatch of tasks', () => {
  const channel = useChannel();

  it('an agent with a wrong clock gets the reason instead of work, and work once its clock is set', async () => {
    const { ask, join, stateOf, test, rows } = channel();
    const agent = await join();
    const id = await ask(agent.node_id);
    for (const seconds of [-130, 130]) {
      const { tasks, no_tasks_reason } = (await agent.wait(clockOff(seconds))).body;
      assert.deepEqual(tasks, []);
      assert.match(no_tasks_reason, /^The clock of this host is 1[23]\d s (ahead|behind)/);
    }
    assert.equal((await stateOf(id)).state, 'queued');
    const told = test.logs.filter((line) => line['error_code'] === 'clock_skew' && line['node_id'] === agent.node_id);
    assert.equal(told.length, 1, 'said once, not at every question');
    const skew = 'select clock_skew_ms from node_agents where node_id = $1';
    await until('operators see it', async () => {
      const [row] = await rows<{ clock_skew_ms: number }>(skew, [agent.node_id]);
      return Math.abs(row?.clock_skew_ms ?? 0) > 100_000;
    });
    const right = (await agent.wait()).body;
    assert.equal(right.tasks.length, 1);
    assert.equal('no_tasks_reason' in right, false);
    agent.close();
  });

  it('new work does not wake an agent with a wrong clock', async () => {
    const { ask, join, stateOf, test } = channel();
    const [wrong, right] = [await join(), await join()];
    const resting = wrong.wait({ ...clockOff(600), wait_s: 2 });
    await until('the agent rests', () => (test.app.node_api?.dispatcher.size() ?? 0) > 0);
    const id = await ask(wrong.node_id);
    await ask(right.node_id);
    assert.equal((await right.wait({ wait_s: 5 })).body.tasks.length, 1);
    assert.deepEqual((await resting).body.tasks, []);
    assert.equal((await stateOf(id)).state, 'queued');
    for (const agent of [wrong, right]) agent.close();
  });

  it('a task refused because of the clock does not fail, and is dispatched again', async () => {
    const { ask, change, join, stateOf } = channel();
    const agent = await join();
    const id = await ask(agent.node_id);
    await agent.wait();
    const answer = (await agent.call('taskResult', refusal, { task_id: id })).body;
    assert.equal(answer.is_accepted, false);
    assert.match(answer.reason, /waits until the clock/);
    assert.equal((await stateOf(id)).state, 'dispatched');
    await change("update node_tasks set dispatched_at = dispatched_at - interval '2 s' where id = $1", [id]);
    assert.deepEqual((await agent.wait(clockOff(600))).body.tasks, []);
    const again = (await agent.wait()).body.tasks as SignedTask[];
    assert.deepEqual(
      again.map((task) => payloadOf(task).task_id),
      [id],
    );
    agent.close();
  });

  it('an agent that reports another node’s task as in hand does not block its dispatch to that node', async () => {
    const { ask, change, join, test } = channel();
    const [mine, other] = [await join(), await join()];
    const id = await ask(other.node_id);
    assert.equal((await other.wait()).body.tasks.length, 1);
    await change("update node_tasks set dispatched_at = dispatched_at - interval '2 s' where id = $1", [id]);
    // As when both are checked in one round.
    const agents = [
      { node_id: mine.node_id, journaled_task_ids: [id] },
      { node_id: other.node_id, journaled_task_ids: [] },
    ];
    const { database } = test.db;
    const lacking = await database.read(PLATFORM, (reader) => listNodesLacking(reader, agents));
    assert.deepEqual(lacking, [other.node_id]);
    const again = await database.write(PLATFORM, (tx) => redispatchTasks(tx, agents, 1));
    assert.deepEqual(
      again.map((task) => [task.node_id, task.id]),
      [[other.node_id, id]],
    );
    for (const agent of [mine, other]) agent.close();
  });
});
