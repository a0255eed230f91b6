import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { useChannel } from '../../test/channel.ts';

describe('tasks that an agent refused', () => {
  const channel = useChannel();
  it('are audited and counted, and end no task', async () => {
    const agent = await channel().join();
    const task_id = await channel().ask(agent.node_id);
    const refusal = {
      key: `bad_signature:${task_id}`,
      ...{ task_id, signer_id: 'sgn_x', error_code: 'bad_signature' as const, reason: 'It is forged.' },
      refused_at: new Date().toISOString(),
    };
    const report = await agent.call('refusalReport', { refusals: [refusal, { ...refusal, task_id: null }] });
    assert.deepEqual([report.status, report.body], [200, { is_accepted: true }]);
    const rows = await channel().rows<Record<string, unknown>>(
      `select target_id, result, error_code, actor_id, metadata ->> 'reason' as reason from audit_logs
       where action = 'task.refuse' order by target_id nulls last`,
    );
    const row = { result: 'denied', error_code: 'bad_signature', actor_id: agent.node_id, reason: 'It is forged.' };
    assert.deepEqual(rows, [
      { target_id: task_id, ...row },
      { target_id: null, ...row },
    ]);
    const [task] = await channel().rows<{ state: string }>('select state from node_tasks where id = $1', [task_id]);
    assert.equal(task?.state, 'queued');
    const { body: metrics } = await channel().test.bearer(null).get('/metrics');
    assert.match(metrics, /gpuaas_task_refused_total\{code="bad_signature"\} 2/);
    agent.close();
  });

  it('are accepted only from the task’s own node', async () => {
    const [agent, other] = [await channel().join(), await channel().join()];
    const refusals = [
      {
        ...{ key: 'wrong_node:x', task_id: mintId('tsk'), signer_id: 'sgn_x', error_code: 'wrong_node' as const },
        ...{ reason: 'Another node.', refused_at: new Date().toISOString() },
      },
    ];
    const report = await agent.call('refusalReport', { refusals }, { node_id: other.node_id });
    assert.equal(report.status, 403);
    for (const one of [agent, other]) one.close();
  });
});
