import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { NodeBody } from '@gpuaas/contract/node';
import { Client } from 'pg';
import type { TestAgent } from '../../test/agent.ts';
import { useChannel } from '../../test/channel.ts';
import { aCatalog, aSlot } from '../../test/placement.ts';
import { until } from '../../test/until.ts';
import { PLATFORM } from '../db/client.ts';
import { refreshSummary } from '../placement/summary.ts';

describe('hosts ahead of a restored database', () => {
  const channel = useChannel();
  before(async () => {
    const sql = new Client({ connectionString: channel().test.db.ownerUrl });
    await sql.connect();
    await aCatalog(sql);
    await sql.end();
  });

  const aSlotOf = (agent: TestAgent, index = 0): Promise<string> =>
    channel().test.db.database.write(PLATFORM, async (tx) => {
      const id = await aSlot(tx, agent.node_id, index, { region_name: 'us-buffalo-1' });
      await tx.query('update node_resource_slots set generation = 3 where id = $1', [id]);
      await refreshSummary(tx, agent.node_id);
      return id;
    });
  const generations = async (slotId: string) =>
    (
      await channel().rows<{ generation: number; host_generation: number | null }>(
        'select generation, host_generation from node_resource_slots where id = $1',
        [slotId],
      )
    )[0];
  /** The host refuses a task of the slot, like an agent whose journal is ahead. */
  const refuse = async (agent: TestAgent, output: NodeBody<'taskResult'>['output']): Promise<void> => {
    const task_id = await channel().ask(agent.node_id);
    await until('it is handed out', async () => (await agent.wait({ wait_s: 2 })).body.tasks.length > 0);
    const answer = await agent.call(
      'taskResult',
      {
        attempt: 1,
        state: 'failed',
        error_code: 'stale_generation',
        reason: 'This host knows a newer one.',
        output,
        started_at: null,
        finished_at: new Date().toISOString(),
      },
      { task_id },
    );
    assert.deepEqual([answer.status, answer.body.is_accepted], [200, true]);
  };

  it('the host’s generation is recorded, and replaced only when an operator quarantines the slot', async () => {
    const agent = await channel().join();
    const slot = await aSlotOf(agent);
    await refuse(agent, { slot_id: slot, newest_generation: 7 });
    assert.deepEqual(await generations(slot), { generation: 3, host_generation: 7 });

    const admin = await channel().test.admin();
    const path = `/api/v1/admin/nodes/${agent.node_id}/resource-slots/${slot}`;
    const { version } = (await admin.get(path)).body;
    const set = await admin.post(`${path}/quarantine`, { reason: 'restored' }, { 'if-match': `"v${version}"` });
    assert.equal(set.status, 200, JSON.stringify(set.body));
    assert.deepEqual(await generations(slot), { generation: 8, host_generation: 7 });
    agent.close();
  });

  it('a host that names several slots is recorded for each', async () => {
    const agent = await channel().join();
    const one = await aSlotOf(agent);
    const other = await aSlotOf(agent, 1);
    await refuse(agent, {
      slot_id: one,
      newest_generation: 7,
      slots: [
        { slot_id: one, newest_generation: 7 },
        { slot_id: other, newest_generation: 9 },
      ],
    });
    assert.equal((await generations(one))?.host_generation, 7);
    assert.equal((await generations(other))?.host_generation, 9);
    agent.close();
  });

  it('a host reports only its own slots, and invented ones change nothing', async () => {
    const [agent, other] = [await channel().join(), await channel().join()];
    const slot = await aSlotOf(agent);
    await refuse(other, { slot_id: slot, newest_generation: 7 });
    await refuse(agent, { slot_id: slot, newest_generation: 2 });
    await refuse(agent, { slot_id: slot, newest_generation: 2 ** 40 });
    await refuse(agent, { slot_id: slot, newest_generation: 7, slots: [null, { slot_id: slot }] });
    await refuse(agent, { slot_id: 5, newest_generation: 'x' });
    await refuse(agent, null);
    assert.deepEqual(await generations(slot), { generation: 3, host_generation: null });
    for (const one of [agent, other]) one.close();
  });
});
