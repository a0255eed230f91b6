import assert from 'node:assert/strict';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { TrustBundle } from '@gpuaas/contract/node';
import { addNode } from '../../server/test/agent.ts';
import { useChannel } from '../../server/test/channel.ts';
import { until } from '../../server/test/until.ts';
import { createAgent } from '../src/agent.ts';
import { enroll } from '../src/control-plane/enroll.ts';
import { createSimHost } from '../src/host/sim/sim-host.ts';
import { handlers } from '../src/tasks/index.ts';
import { domainName } from '../src/tasks/names.ts';
import { cleanUp, QUICK, temporaryFolder } from './agents.ts';
import { ALLOCATION, openTestHost, provision } from './slice.ts';

describe('the agent and the real node API', () => {
  const channel = useChannel();

  /** A host that is enrolled and not started yet. */
  const aHost = async (t: TestContext) => {
    const { test } = channel();
    const url = new URL(test.app.node_api?.url ?? '');
    const { node, enrollment } = await addNode(test);
    const folder = await temporaryFolder(t);
    const host = createSimHost({ dir: join(folder, 'host'), name: node.name, profile: 'dell-xe9680-h200' });
    const { boot_id, booted_at } = await host.system.facts();
    const state = join(folder, 'state');
    await enroll({
      url,
      ca_sha256: enrollment.ca_sha256,
      token: enrollment.token,
      state,
      hostname: 'j22u15',
      status: {
        agent_version: '0.1.0',
        boot_id,
        booted_at,
        kinds: [...host.kinds],
        host: await host.system.identity(),
      },
    });
    const lines: string[] = [];
    const config = {
      url,
      state,
      version: '0.1.0',
      patience: QUICK,
      write_log: (line: string) => void lines.push(line),
    };
    const machine = createAgent({ host, handlers, config: { ...config, reconcile: { interval_ms: 50 } } });
    cleanUp(t, () => machine.stop());
    return { node, state, lines, machine, host, folder };
  };

  it('a host is added, enrolls, discovers its topology and reports its health', async (t) => {
    const { ask, stateOf } = channel();
    const { node, lines, machine } = await aHost(t);
    const agent = await machine.start();
    await agent.reached;
    assert.equal(agent.node_id, node.id);

    const params = { accelerators: [], private_network: '10.100.0.0/24' };
    const ids = [
      await ask(agent.node_id, { kind: 'slice.topology_discover', params }),
      await ask(agent.node_id, { kind: 'diag.health_probe', params: {} }),
    ];
    for (const id of ids)
      await until(
        `${id} is done`,
        async () => !['queued', 'dispatched', 'running'].includes((await stateOf(id)).state),
      );
    for (const id of ids) assert.equal((await stateOf(id)).state, 'completed', lines.join(''));
    await until('nothing in hand', () => agent.journaled_task_ids().length === 0);
  });

  it('a VM without a claim is found, and removed when an operator names it', async (t) => {
    const { test, stateOf, change } = channel();
    const { node, folder, machine, host, state } = await aHost(t);
    // Created by an agent whose record is gone, as after a restore from a backup.
    const before = openTestHost(folder, { disk_bytes: 64 * 1024 ** 2 });
    await provision(before, await before.slots([0]));
    await rm(join(state, 'leases.json'));
    host.defineForeignDomain('somebodys');
    const agent = await machine.start();
    await agent.reached;
    await change("update nodes set state = 'active' where id = $1", [node.id]);
    const admin = await test.admin();
    const at = (rest: string): string => `/api/v1/admin/nodes/${node.id}/${rest}`;
    const found = async (): Promise<readonly string[]> => {
      const { status, body } = await admin.get(at('inventory'));
      return status === 200 ? body.findings.map(({ code }: { code: string }) => code) : [];
    };
    await until('both receive it', async () => (await found()).includes('orphan_vm'));
    assert.ok((await found()).includes('unknown_vm'));
    const why = { reason: 'It was left behind.' };
    assert.equal((await admin.post(at('vms/somebodys/remove'), why)).status, 409);
    assert.equal((await admin.post(at('vms/gone/remove'), why)).status, 404);
    const name = domainName(ALLOCATION);
    const { status, body } = await admin.post(at(`vms/${name}/remove`), why);
    assert.equal(status, 202);
    await until('it is removed', async () => (await stateOf(body.id)).state === 'completed');
    await until('the host receives the list without it', async () => !(await found()).includes('orphan_vm'));
    assert.deepEqual(
      host.state().domains.map((domain) => domain.name),
      ['somebodys'],
    );
    const images = (await admin.get(at('images'))).body.images;
    assert.equal(images.length, 1);
    assert.notEqual(images[0].last_used_at, null);
  });

  it('a host that was off while CA and signer were replaced recovers automatically and runs new tasks', async (t) => {
    const { ask, stateOf, change, test } = channel();
    const { node, state, lines, machine } = await aHost(t);
    await (await machine.start()).reached;
    await machine.stop();
    const admin = await test.admin();
    const keys = '/api/v1/admin/trust-keys';
    for (const purpose of ['node_ca', 'task_signer']) {
      const { id, version } = (await admin.post(keys, { purpose, reason: 'yearly' })).body;
      await until('it is created', async () => (await admin.get(`${keys}/${id}`)).body.state === 'staged');
      await change("update trust_keys set state_since = state_since - interval '1 minute' where id = $1", [id]);
      const moved = await admin.post(`${keys}/${id}/activate`, { reason: 'yearly' }, { 'if-match': `"v${version}"` });
      assert.equal(moved.status, 200, JSON.stringify(moved.body));
    }
    const task = await ask(node.id, { kind: 'diag.health_probe', params: {} });
    const agent = await machine.start();
    await agent.reached;
    await until('the task is done', async () => (await stateOf(task)).state === 'completed');
    assert.ok(!lines.join('').includes('unknown_signer'), 'nothing was refused on the way');
    const { ca_bundle_pem } = JSON.parse(await readFile(join(state, 'trust.json'), 'utf8')) as TrustBundle;
    assert.equal(ca_bundle_pem.split('BEGIN CERTIFICATE').length - 1, 2);
  });
});
