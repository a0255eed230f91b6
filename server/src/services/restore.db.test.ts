import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestAgent } from '../../test/agent.ts';
import { useChannel } from '../../test/channel.ts';
import { until } from '../../test/until.ts';
import { expireTasks } from '../reconcilers/expire-tasks.ts';

const WIPE = { kind: 'node.cleanup', params: { allocation_id: null, disks: [], slots: [] } };
const RESTORE = '/api/v1/admin/restore';

describe('after a restore', () => {
  const channel = useChannel();
  const begin = async (body: object = {}) => {
    const admin = await channel().test.admin();
    const response = await admin.post(RESTORE, { reason: 'restored', ...body });
    assert.equal(response.status, 201, JSON.stringify(response.body));
    return response.body;
  };
  const release = async (nodeId: string, body: object = {}) =>
    (await channel().test.admin()).post(`/api/v1/admin/nodes/${nodeId}/restore-release`, {
      reason: 'compared',
      ...body,
    });
  const received = async (agent: TestAgent): Promise<string[]> =>
    (await agent.wait({ wait_s: 0 })).body.tasks.map(
      ({ payload }: { payload: string }) => (JSON.parse(payload) as { task_id: string }).task_id,
    );
  const findings = (nodeId: string, count: number): Promise<void> =>
    channel().change(
      `insert into node_inventories (node_id, observed_at, boot_id, content, findings)
       values ($1, clock_timestamp(), 'b', '{"vms": [], "leases": []}', $2)
       on conflict (node_id) do update set findings = excluded.findings, received_at = clock_timestamp()`,
      [
        nodeId,
        JSON.stringify(
          Array.from({ length: count }, (_, index) => ({ code: 'vm_missing', vm: `v${index}`, slot_ids: [] })),
        ),
      ],
    );

  it('tokens, secrets, sessions, tickets and invitations that are older end', async () => {
    const { test } = channel();
    const admin = await test.admin();
    const made = await admin.post('/api/v1/tokens', { name: 'old', scopes: ['read'], expires_in_s: 3600 });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const old = test.bearer(made.body.token);
    assert.equal((await old.get('/api/v1/me')).status, 200);
    const { restore } = await begin();
    assert.ok(restore.ended.api_tokens >= 1);
    await until('the cache of principals is over', async () => (await old.get('/api/v1/me')).status === 401);
    const fresh = await admin.post('/api/v1/tokens', { name: 'new', scopes: ['read'], expires_in_s: 3600 });
    assert.equal((await test.bearer(fresh.body.token).get('/api/v1/me')).status, 200, 'a newer one works');
  });

  it('a time in the future is refused, and an earlier time ends only what is older', async () => {
    const admin = await channel().test.admin();
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    assert.equal((await admin.post(RESTORE, { reason: 'x', older_than: tomorrow })).status, 400);
    const { restore } = await begin({ older_than: '2020-01-01T00:00:00.000Z' });
    assert.equal(restore.ended.api_tokens, 0);
  });

  it('destructive tasks are held, neither sent nor expired, until an operator releases the compared node', async () => {
    const agent = await channel().join();
    const sent = await channel().ask(agent.node_id, WIPE);
    await until('it is sent', async () => (await received(agent)).includes(sent));
    const status = await begin();
    assert.deepEqual(
      status.held_nodes.find((node: { node_id: string }) => node.node_id === agent.node_id)?.inventory_at,
      null,
    );
    const [wipe, probe] = [await channel().ask(agent.node_id, WIPE), await channel().ask(agent.node_id)];
    // Reading is what an operator needs to compare.
    await until('the probe is sent', async () => (await received(agent)).includes(probe));
    assert.equal((await channel().stateOf(wipe)).state, 'queued');
    const start = await agent.call('taskStart', { attempt: 1 }, { task_id: sent });
    assert.equal(start.body.may_start, false, 'what the backup had sent does not start');
    await channel().change("update node_tasks set expires_at = now() - interval '1 minute' where id = any ($1)", [
      [wipe],
    ]);
    await expireTasks({ database: channel().test.db.database });
    assert.equal((await channel().stateOf(wipe)).state, 'queued');

    assert.match((await release(agent.node_id)).body.detail, /no inventory report since the restore/);
    await findings(agent.node_id, 2);
    assert.match((await release(agent.node_id)).body.detail, /2 findings/);
    await findings(agent.node_id, 0);
    assert.equal((await release(agent.node_id)).status, 200);
    assert.equal((await release(agent.node_id)).status, 200, 'twice is once');
    await until('the wipe is sent', async () => (await received(agent)).includes(wipe));
    agent.close();
  });

  it('a node that is created while another is held is held too, and one created after the last release is not', async () => {
    const known = await channel().join();
    const { restore } = await begin();
    const added = await channel().join();
    const held = async () =>
      (await channel().rows<{ id: string }>('select id from nodes where restore_hold_id = $1', [restore.id])).map(
        ({ id }) => id,
      );
    assert.ok((await held()).includes(added.node_id));
    const wipe = await channel().ask(added.node_id, WIPE);
    assert.ok(!(await received(added)).includes(wipe));
    for (const id of await held()) {
      await findings(id, 0);
      assert.equal((await release(id)).status, 200);
    }
    await until('the wipe is sent', async () => (await received(added)).includes(wipe));
    const later = await channel().join();
    assert.ok(!(await held()).includes(later.node_id));
    for (const agent of [known, added, later]) agent.close();
  });

  it('findings that an operator accepts hold nothing back', async () => {
    const agent = await channel().join();
    await begin();
    await findings(agent.node_id, 1);
    const released = await release(agent.node_id, { accepts_findings: true });
    assert.equal(released.status, 200);
    const held = released.body.held_nodes.map(({ node_id }: { node_id: string }) => node_id);
    assert.ok(!held.includes(agent.node_id));
    agent.close();
  });
});
