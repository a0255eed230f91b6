import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { describe, it } from 'node:test';
import { type SignedTask, taskTreeBytes } from '@gpuaas/contract/node';
import { hostOf, payloadOf } from '../../test/agent.ts';
import { useChannel } from '../../test/channel.ts';
import { until } from '../../test/until.ts';

const report = { source: 'agent', observed_at: '2026-11-15T10:00:00.000Z', successes: ['gpu_count'], alerts: [] };
const done = (more: object = {}) => ({
  attempt: 1,
  state: 'completed' as const,
  error_code: null,
  reason: null,
  output: { freed_bytes: 1 },
  started_at: null,
  finished_at: new Date().toISOString(),
  ...more,
});
const EVICT = { kind: 'image.evict', params: { digest: 'sha256:00' } };

describe('tasks of agents', () => {
  const channel = useChannel();

  it('new work is dispatched immediately to a waiting agent, signed for this node and attempt', async () => {
    const { ask, stateOf, join } = channel();
    const agent = await join();
    const resting = agent.wait({ wait_s: 15 });
    await until('the agent rests', () => (channel().test.app.node_api?.dispatcher.size() ?? 0) > 0);
    const id = await ask(agent.node_id, EVICT);
    const answer = await resting;
    assert.equal(answer.status, 200);
    const [task] = answer.body.tasks as SignedTask[];
    assert.ok(task);
    const signer = agent.trust.task_signers.find((one: { signer_id: string }) => one.signer_id === task.signer_id);
    const key = createPublicKey(signer.public_key_pem);
    const bytes = taskTreeBytes(task.payload, task.proof);
    assert.ok(bytes !== null && verify(null, bytes, key, Buffer.from(task.signature, 'base64')));
    const payload = payloadOf(task);
    assert.deepEqual([payload.task_id, payload.node_id, payload.attempt], [id, agent.node_id, 1]);
    assert.deepEqual(payload.params, EVICT.params);
    await until('it is marked', async () => (await stateOf(id)).state === 'dispatched');
    agent.close();
  });

  it('tasks dispatched together share one signature, and each is proved by its own text alone', async () => {
    const { ask, join } = channel();
    const agent = await join();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(await ask(agent.node_id));
    const tasks = (await agent.wait()).body.tasks as SignedTask[];
    assert.deepEqual(tasks.map((task) => payloadOf(task).task_id).toSorted(), ids.toSorted());
    assert.equal(new Set(tasks.map((task) => task.signature)).size, 1);
    const key = createPublicKey(agent.trust.task_signers[0].public_key_pem);
    const isProved = (payload: string, { proof, signature }: SignedTask): boolean => {
      const bytes = taskTreeBytes(payload, proof);
      return bytes !== null && verify(null, bytes, key, Buffer.from(signature, 'base64'));
    };
    for (const task of tasks)
      for (const other of tasks) assert.equal(isProved(task.payload, other), task === other, 'its own proof only');
    agent.close();
  });

  it('a node receives only its own tasks', async () => {
    const { ask, join } = channel();
    const [mine, other] = [await join(), await join()];
    await ask(other.node_id);
    assert.deepEqual((await mine.wait({ wait_s: 1 })).body.tasks, []);
    assert.equal((await other.wait()).body.tasks.length, 1);
    for (const agent of [mine, other]) agent.close();
  });

  it('a task whose dispatch response was lost is dispatched again; one in hand is not', async () => {
    const { ask, change, join } = channel();
    const agent = await join();
    const id = await ask(agent.node_id);
    assert.equal((await agent.wait()).body.tasks.length, 1);
    assert.deepEqual((await agent.wait({ journaled_task_ids: [id] })).body.tasks, []);
    // A moment ago it may still be in transit, so time must pass.
    await change("update node_tasks set dispatched_at = dispatched_at - interval '2 s' where id = $1", [id]);
    const again = (await agent.wait()).body.tasks as SignedTask[];
    assert.deepEqual(
      again.map((task) => [payloadOf(task).task_id, payloadOf(task).attempt]),
      [[id, 1]],
    );
    agent.close();
  });

  it('an agent is notified once of an ended task in hand, and not woken by it again', async () => {
    const { ask, change, join } = channel();
    const agent = await join();
    const id = await ask(agent.node_id);
    await agent.wait();
    const resting = agent.wait({ journaled_task_ids: [id], wait_s: 15 });
    await until('the agent rests', () => (channel().test.app.node_api?.dispatcher.size() ?? 0) > 0);
    await change("update node_tasks set state = 'cancelled', finished_at = clock_timestamp() where id = $1", [id]);
    await channel().wake();
    assert.deepEqual((await resting).body.cancelled, [id]);
    // Known by now, it wakes no poll: the next one waits until there is work.
    const next = agent.wait({ journaled_task_ids: [id], wait_s: 15 });
    await until('the agent rests again', () => (channel().test.app.node_api?.dispatcher.size() ?? 0) > 0);
    await ask(agent.node_id);
    const { tasks, cancelled } = (await next).body;
    assert.deepEqual([tasks.length, cancelled], [1, [id]]);
    agent.close();
  });

  it('an agent asks before it starts: yes while the task is its attempt, no once it ended', async () => {
    const { ask, change, join, stateOf } = channel();
    const agent = await join();
    const id = await ask(agent.node_id);
    const start = async (attempt: number) => (await agent.call('taskStart', { attempt }, { task_id: id })).body;
    await agent.wait();
    assert.equal((await start(2)).may_start, false, 'another attempt');
    assert.deepEqual(await start(1), { may_start: true, reason: null });
    assert.deepEqual(await start(1), { may_start: true, reason: null });
    assert.equal((await stateOf(id)).state, 'running');
    await change("update node_tasks set state = 'cancelled' where id = $1", [id]);
    assert.deepEqual(await start(1), { may_start: false, reason: 'The task is cancelled.' });
    agent.close();
  });

  it('a task sent but not marked as sent may be started, once', async () => {
    const { ask, join, stateOf } = channel();
    const agent = await join();
    const id = await ask(agent.node_id);
    assert.equal((await agent.call('taskStart', { attempt: 1 }, { task_id: id })).body.may_start, true);
    assert.equal((await stateOf(id)).state, 'running');
    const { tasks, cancelled } = (await agent.wait({ journaled_task_ids: [id] })).body;
    assert.deepEqual([tasks, cancelled], [[], []]);
    agent.close();
  });

  it('progress is stored while the task is open', async () => {
    const { ask, join, rows, change, test } = channel();
    const agent = await join();
    const id = await ask(agent.node_id);
    await agent.wait();
    await agent.call('taskStart', { attempt: 1 }, { task_id: id });
    const tell = async () =>
      (await agent.call('taskProgress', { attempt: 1, percent: 40, bytes_per_s: 7, note: 'half' }, { task_id: id }))
        .body;
    assert.deepEqual(await tell(), { is_open: true });
    const [row] = await rows('select percent, bytes_per_s, progress_note from node_tasks where id = $1', [id]);
    assert.deepEqual(row, { percent: 40, bytes_per_s: 7, progress_note: 'half' });
    const listed = (await (await test.admin()).get(`/api/v1/admin/nodes/${agent.node_id}/tasks`)).body.items;
    assert.deepEqual([listed[0].id, listed[0].percent, listed[0].progress_note], [id, 40, 'half']);
    await change("update node_tasks set state = 'cancelled' where id = $1", [id]);
    assert.deepEqual(await tell(), { is_open: false });
    await change('update node_tasks set finished_at = clock_timestamp() where id = $1 and finished_at is null', [id]);
    const path = `/api/v1/admin/nodes/${agent.node_id}/tasks/${id}`;
    assert.equal((await (await test.admin()).get(path)).body.progress_note, null, 'a task that ended has no progress');
    agent.close();
  });

  it('the same result five times counts once; another one, or one for an ended task, does not count', async () => {
    const { ask, join, stateOf, change } = channel();
    const agent = await join();
    const id = await ask(agent.node_id, EVICT);
    await agent.wait();
    const tell = async (body: object, task = id) =>
      (await agent.call('taskResult', body as never, { task_id: task })).body;
    const answers = await Promise.all(Array.from({ length: 5 }, () => tell(done())));
    assert.deepEqual(answers, Array(5).fill({ is_accepted: true, reason: null }));
    assert.equal((await stateOf(id)).state, 'completed');
    assert.equal((await tell(done({ output: { freed_bytes: 2 } }))).is_accepted, false);
    assert.equal((await tell(done({ attempt: 2 }))).is_accepted, false);

    const late = await ask(agent.node_id, EVICT);
    await agent.wait();
    await change("update node_tasks set state = 'cancelled' where id = $1", [late]);
    assert.deepEqual(await tell(done(), late), { is_accepted: false, reason: 'The task is cancelled.' });
    assert.equal((await stateOf(late)).output, null);
    agent.close();
  });

  it('a completed task with malformed output fails', async () => {
    const { ask, join, stateOf } = channel();
    const agent = await join();
    const id = await ask(agent.node_id, EVICT);
    await agent.wait();
    const tell = async () =>
      (await agent.call('taskResult', done({ output: { freed_bytes: 'much' } }) as never, { task_id: id })).body;
    assert.deepEqual(await tell(), { is_accepted: true, reason: null });
    const { state, state_reason, error_code, output } = await stateOf(id);
    assert.deepEqual([state, error_code, output], ['failed', 'host_error', null]);
    assert.match(state_reason ?? '', /match task kind image\.evict/);
    assert.deepEqual(await tell(), { is_accepted: true, reason: null });
    agent.close();
  });

  it('a failed task keeps the host’s reason and code', async () => {
    const { ask, join, stateOf } = channel();
    const agent = await join();
    const id = await ask(agent.node_id, EVICT);
    await agent.wait();
    const body = done({ state: 'failed', error_code: 'no_space', reason: 'The disk is full.', output: null });
    await agent.call('taskResult', body as never, { task_id: id });
    const { state, state_reason, error_code } = await stateOf(id);
    assert.deepEqual([state, state_reason, error_code], ['failed', 'The disk is full.', 'no_space']);
    agent.close();
  });

  it('a failed task keeps only an output that its kind declares for a failure', async () => {
    const { ask, join, stateOf } = channel();
    const agent = await join();
    for (const [told, kept] of [
      [{ freed_bytes: 1 }, { freed_bytes: 1 }],
      [{ freed_bytes: 'much' }, null],
      [{ freed_bytes: 1, deep: { more: ['anything'] } }, null],
    ] as const) {
      const id = await ask(agent.node_id, EVICT);
      await agent.wait();
      const body = done({
        state: 'failed',
        error_code: 'no_space',
        reason: 'The disk is full.',
        output: told as never,
      });
      const tell = async () => (await agent.call('taskResult', body as never, { task_id: id })).body;
      assert.deepEqual(await tell(), { is_accepted: true, reason: null });
      const { state, output, state_reason } = await stateOf(id);
      assert.deepEqual([state, output, state_reason], ['failed', kept, 'The disk is full.']);
      assert.deepEqual(await tell(), { is_accepted: true, reason: null }, 'twice is once');
    }
    agent.close();
  });

  it('a body that violates the contract is refused by field, one that is too large by size', async () => {
    const { join } = channel();
    const agent = await join();
    const odd = await agent.call('taskStart', { attempt: 0, more: 1 } as never, { task_id: `tsk_${'0'.repeat(26)}` });
    assert.equal(odd.status, 400);
    assert.deepEqual(odd.body.errors.map((one: { pointer: string }) => one.pointer).sort(), [
      '/body/attempt',
      '/body/more',
    ]);
    const large = await agent.call('healthReport', { report: { ...report, source: 'x'.repeat(70_000) } });
    assert.equal(large.status, 413);
    agent.close();
  });

  it('log lines are stored once for repeated sends, without secrets, and found by correlation id', async () => {
    const { join, test } = channel();
    const agent = await join();
    const line = {
      timestamp: new Date().toISOString(),
      level: 'info' as const,
      message: 'cloned with Bearer abcdefghijkl',
      correlation_id: 'c-logs-0001',
      error_code: null,
      fields: { password: 'hunter2', percent: 3 },
    };
    const batch = { first_number: 10, agent_start_id: 'start-1', lines: [line, { ...line, message: 'second' }] };
    for (let n = 0; n < 3; n++) assert.deepEqual((await agent.call('logShip', batch)).body, { next_number: 12 });
    const admin = await test.admin();
    const first = (await admin.get('/api/v1/admin/logs?correlation_id=c-logs-0001&limit=1')).body;
    const { items } = (await admin.get(`/api/v1/admin/logs?correlation_id=c-logs-0001&cursor=${first.next_cursor}`))
      .body;
    const [one, two] = [...first.items, ...items];
    assert.equal(items.length, 1);
    assert.equal(one.message, 'cloned with [redacted]');
    assert.deepEqual(one.fields, { password: '[redacted]', percent: 3 });
    assert.deepEqual([one.host_role, one.node_id, one.service], ['worker_compute', agent.node_id, 'gpuaas-node-agent']);
    assert.equal(two.message, 'second');
    assert.equal((await admin.get('/api/v1/admin/logs')).status, 400);
    agent.close();
  });

  it('a changed boot id emits an event, and a node with slots is discovered again', async () => {
    const { join, rows, change } = channel();
    const agent = await join();
    await agent.wait();
    const validated = async () =>
      (
        await rows<{ ok: boolean; boots: number }>(
          `select n.runtime_checked_at > n.booted_at as ok, (select count(*) from outbox_events e
             where e.event_type = 'node.rebooted' and e.subject = n.id) as boots from nodes n where n.id = $1`,
          [agent.node_id],
        )
      )[0];
    const isActive = async () =>
      (await rows<{ state: string }>('select state from nodes where id = $1', [agent.node_id]))[0]?.state === 'active';
    await until('the node is active', isActive);
    await change('update nodes set runtime_checked_at = clock_timestamp(), is_runtime_passed = true where id = $1', [
      agent.node_id,
    ]);
    assert.deepEqual(await validated(), { ok: true, boots: 0 });
    await change(
      `insert into node_resource_slots (id, node_id, region_name, slot_index, approval, status, network_id)
       values ('slt_reboot', $1, 'us-buffalo-1', 0, 'disabled', 'quarantined', $1)`,
      [agent.node_id],
    );
    await agent.call('taskWait', {
      agent_version: '0.1.0',
      boot_id: 'boot-2',
      host: hostOf(agent.node_id),
      booted_at: new Date().toISOString(),
      kinds: [],
      journaled_task_ids: [],
      trust_version: agent.trust.version,
      clock: new Date().toISOString(),
      wait_s: 0,
    });
    await until('the boot is noticed', async () => (await validated())?.boots === 1);
    assert.deepEqual(await validated(), { ok: false, boots: 1 });
    const asked = await rows("select from node_tasks where node_id = $1 and kind = 'slice.topology_discover'", [
      agent.node_id,
    ]);
    assert.equal(asked.length, 1);
    agent.close();
  });
});
