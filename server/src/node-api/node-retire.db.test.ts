import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { Client } from 'pg';
import { addNode, anyone, callNodeApi, enrollBody, newKey, type TestAgent } from '../../test/agent.ts';
import { useChannel } from '../../test/channel.ts';
import { discover } from '../../test/discovered.ts';
import { aCatalog, aNode, anAllocation, aSlot } from '../../test/placement.ts';
import { until } from '../../test/until.ts';
import { PLATFORM } from '../db/client.ts';
import { refreshSummary } from '../placement/summary.ts';

const NODES = '/api/v1/admin/nodes';
const because = { reason: 'sold' };

describe('retiring a node', () => {
  const channel = useChannel();
  /** Rows that only the database owner may write. */
  const asOwner = async <T>(work: (sql: Client) => Promise<T>): Promise<T> => {
    const sql = new Client({ connectionString: channel().test.db.ownerUrl });
    await sql.connect();
    try {
      return await work(sql);
    } finally {
      await sql.end();
    }
  };
  before(() => asOwner(aCatalog));

  const admin = () => channel().test.admin();
  const retire = async (nodeId: string) => (await admin()).post(`${NODES}/${nodeId}/retire`, because);
  const remove = async (nodeId: string) => (await admin()).call('DELETE', `${NODES}/${nodeId}`);
  const drain = async (nodeId: string) =>
    (await admin()).post(`${NODES}/${nodeId}/drain`, { is_draining: true, ...because });
  const nodeRow = async (nodeId: string) => (await admin()).get(`${NODES}/${nodeId}`);

  /** The response to an agent that returns with its certificate. */
  const refused = async (agent: TestAgent): Promise<void> => {
    const back = agent.again();
    await until('the agent is refused', async () => (await back.wait().catch(() => undefined))?.status === 403);
    back.close();
  };

  /** An active node with two schedulable slots. */
  const aWorkingNode = async () => {
    const { join, test, change } = channel();
    const agent = await join();
    await agent.wait();
    await until('the node is active', async () => (await nodeRow(agent.node_id)).body.state === 'active');
    await change("update nodes set health = 'ok' where id = $1", [agent.node_id]);
    await test.db.database.write(PLATFORM, async (tx) => {
      for (const index of [0, 1]) await aSlot(tx, agent.node_id, index, { region_name: 'us-buffalo-1' });
      await refreshSummary(tx, agent.node_id);
    });
    return agent;
  };

  it('a rebind admits another host and leaves nothing of the earlier one approved, proven or schedulable', async () => {
    const { rows, test, url } = channel();
    const agent = await aWorkingNode();
    const id = agent.node_id;
    await discover(test.db.database, id);
    const rebind = async (more: object = {}) => (await admin()).post(`${NODES}/${id}/rebind`, { ...because, ...more });
    assert.match((await rebind()).body.detail, /active\. Drain it first/);
    assert.equal((await drain(id)).status, 200);
    const schedulable = () =>
      rows<{ approval: string; status: string; wipe_proof_id: string | null; is_schedulable: boolean }>(
        `select s.approval, s.status, s.wipe_proof_id, p.is_schedulable from node_resource_slots s
         join node_placement_summary p on p.node_id = s.node_id where s.node_id = $1 order by s.slot_index`,
        [id],
      );
    const generations = async () =>
      (
        await rows<{ sum: number }>('select sum(generation)::int as sum from node_resource_slots where node_id = $1', [
          id,
        ])
      )[0];
    const before = await generations();
    const offered = await schedulable();
    assert.ok(offered.every(({ wipe_proof_id }) => wipe_proof_id !== null));
    const refusedName = await rebind({ host: { product_serial: 'None' } });
    assert.equal(refusedName.status, 400);
    assert.deepEqual(await schedulable(), offered, 'a refusal changes nothing');

    const serial = `SN-${id.slice(-12)}`;
    const { status, body: enrollment } = await rebind({ host: { product_serial: serial } });
    assert.equal(status, 201, JSON.stringify(enrollment));
    assert.equal(enrollment.host.state, 'named');
    const gone = { approval: 'disabled', status: 'quarantined', wipe_proof_id: null, is_schedulable: false };
    assert.deepEqual(await schedulable(), [gone, gone]);
    assert.equal((await generations())?.sum, (before?.sum ?? 0) + 2, 'no wipe or override of before counts');
    const row = (await nodeRow(id)).body;
    assert.deepEqual([row.state, row.health, row.is_runtime_validated], ['bootstrap_issued', 'unknown', false]);
    const approve = row.actions.find(({ name }: { name: string }) => name === 'approve');
    assert.match(approve.reason, /no discovery yet/, 'candidates of the earlier host are not approved');
    await refused(agent);
    const enroll = async (host: object) =>
      callNodeApi(url, anyone(), 'nodeEnroll', { ...(await enrollBody(enrollment.token, newKey())), host } as never);
    const none = { product_uuid: null, machine_id: null };
    assert.equal((await enroll({ product_serial: id, ...none })).status, 403, 'the earlier host is another one now');
    assert.equal((await enroll({ product_serial: serial, ...none })).status, 200);
    const audits = await rows<{ metadata: Record<string, unknown> }>(
      "select metadata from audit_logs where action = 'node.rebind' and result = 'success' and target_id = $1",
      [id],
    );
    assert.deepEqual(
      audits.map(({ metadata }) => [metadata.slots_disabled, metadata.certificates_revoked]),
      [[2, 1]],
    );
    const told = await rows(
      "select 1 from outbox_events where event_type = 'node.changed' and subject = $1 and data ->> 'state' = 'bootstrap_issued'",
      [id],
    );
    assert.equal(told.length, 2, 'created, and given to another host');
    agent.close();
  });

  it('an active node is not retired, a drained one is: locked out, tasks cancelled, slots unschedulable', async () => {
    const { ask, stateOf, rows } = channel();
    const agent = await aWorkingNode();
    assert.equal((await retire(agent.node_id)).status, 409);
    assert.equal((await agent.wait()).status, 200, 'a refusal changes nothing');
    assert.equal((await drain(agent.node_id)).status, 200);
    const open = await ask(agent.node_id, { kind: 'agent.update' });
    const retired = await retire(agent.node_id);
    assert.equal(retired.status, 200, JSON.stringify(retired.body));
    assert.deepEqual([retired.body.state, retired.body.free_gpus], ['retired', 0]);
    assert.equal((await stateOf(open)).state, 'cancelled');
    const slots = await rows<{ approval: string }>('select approval from node_resource_slots where node_id = $1', [
      agent.node_id,
    ]);
    assert.deepEqual(
      slots.map(({ approval }) => approval),
      ['disabled', 'disabled'],
    );
    const [index] = await rows<{ is_schedulable: boolean }>(
      'select is_schedulable from node_placement_summary where node_id = $1',
      [agent.node_id],
    );
    assert.equal(index?.is_schedulable, false);
    await refused(agent);
    assert.equal((await retire(agent.node_id)).status, 409, 'once');
    assert.equal((await (await admin()).post(`${NODES}/${agent.node_id}/enrollment`, because)).status, 409);
    const [audit] = await rows<{ metadata: Record<string, unknown> }>(
      "select metadata from audit_logs where action = 'node.retire' and result = 'success' and target_id = $1",
      [agent.node_id],
    );
    const { state_before, certificates_revoked, slots_disabled, reason } = audit?.metadata ?? {};
    assert.deepEqual([state_before, certificates_revoked, slots_disabled, reason], ['draining', 1, 2, 'sold']);
    agent.close();
  });

  it('a token created earlier does not restore a retired node', async () => {
    const { url } = channel();
    const { node, enrollment } = await addNode(channel().test);
    assert.equal((await retire(node.id)).status, 200, 'a host that never came may go');
    const answer = await callNodeApi(url, anyone(), 'nodeEnroll', await enrollBody(enrollment.token, newKey()));
    assert.equal(answer.status, 403);
  });

  it('an occupied node is neither retired nor changed', async () => {
    const { node, allocation } = await asOwner(async (sql) => {
      const made = await aNode(sql, { state: 'draining' });
      return { node: made, allocation: await anAllocation(sql, { node: made, state: 'active' }) };
    });
    await channel().test.db.database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
    const answer = await retire(node.id);
    assert.equal(answer.status, 409);
    assert.match(answer.body.detail, new RegExp(allocation.id));
    assert.equal((await nodeRow(node.id)).body.state, 'draining');
  });

  it('a node is not retired while a disk is wiped, nor deleted while a disk approval is open', async () => {
    const { change } = channel();
    const agent = await aWorkingNode();
    await drain(agent.node_id);
    await change(
      `insert into disk_ownerships (id, node_id, region_name, serial, device, state, approved_by, reason, correlation_id)
       values ('dsk_end', $1, 'us-buffalo-1', 'END-1', '/dev/disk/by-id/nvme-end', 'wiping', 'usr_x', 'test', 'c-end')`,
      [agent.node_id],
    );
    assert.match((await retire(agent.node_id)).body.detail, /being wiped/);
    await change("update disk_ownerships set state = 'blocked' where id = 'dsk_end'");
    assert.equal((await retire(agent.node_id)).status, 200);
    assert.match((await remove(agent.node_id)).body.detail, /END-1/, 'nor deleted while an approval is open');
    await change("update disk_ownerships set state = 'revoked' where id = 'dsk_end'");
    assert.equal((await remove(agent.node_id)).status, 204);
    agent.close();
  });

  it('only a retired node is deleted; its name, devices and addresses are free, and its history stays', async () => {
    const { rows, change, test } = channel();
    const agent = await aWorkingNode();
    const { name } = (await nodeRow(agent.node_id)).body;
    assert.equal((await remove(agent.node_id)).status, 409);
    await drain(agent.node_id);
    assert.equal((await remove(agent.node_id)).status, 409);
    await retire(agent.node_id);
    const asNew = { name, region_name: 'us-buffalo-1', gpu_model: 'H200 SXM', gpu_count: 8, capacity_mode: 'flexible' };
    assert.equal((await (await admin()).post(NODES, asNew)).status, 409, 'a retired node keeps its name');
    assert.equal((await remove(agent.node_id)).status, 204);
    assert.equal((await nodeRow(agent.node_id)).status, 404);
    assert.equal((await remove(agent.node_id)).status, 404);

    const again = await (await admin()).post(NODES, asNew);
    assert.equal(again.status, 201, JSON.stringify(again.body));
    // The same disk and address in the new node.
    await test.db.database.write(PLATFORM, async (tx) => {
      await aSlot(tx, again.body.node.id, 0, { region_name: 'us-buffalo-1', status: 'quarantined' });
      await refreshSummary(tx, again.body.node.id);
    });
    await change(
      `update node_resource_slots s set nvme_serial = o.nvme_serial, mac_address = o.mac_address
       from node_resource_slots o where s.node_id = $1 and o.node_id = $2 and o.slot_index = 0`,
      [again.body.node.id, agent.node_id],
    );
    const listed = await (await admin()).get(`${NODES}?name=${name}`);
    assert.deepEqual(
      listed.body.items.map((one: { id: string }) => one.id),
      [again.body.node.id],
    );
    const history = await rows<{ action: string }>(
      "select action from audit_logs where target_id = $1 and action in ('node.create', 'node.retire', 'node.delete') and result = 'success' order by action",
      [agent.node_id],
    );
    assert.deepEqual(
      history.map(({ action }) => action),
      ['node.create', 'node.delete', 'node.retire'],
    );
    await refused(agent);
    agent.close();
  });
});
