import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { TrustBundle } from '@gpuaas/contract/node';
import { addNode } from '../../server/test/agent.ts';
import { secretsIn } from '../../server/test/canary.ts';
import { useChannel } from '../../server/test/channel.ts';
import { until } from '../../server/test/until.ts';
import { createAgent } from '../src/agent.ts';
import { enroll } from '../src/control-plane/enroll.ts';
import { createSimHost } from '../src/host/sim/sim-host.ts';
import { handlers } from '../src/tasks/index.ts';
import { domainName } from '../src/tasks/names.ts';
import { cleanUp, QUICK, temporaryFolder } from './agents.ts';
import { ALLOCATION, openTestHost, provision, startOf } from './slice.ts';

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
    return { node, state, lines, machine, host, folder, token: enrollment.token };
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

  it('every task that an agent ran is in its journal and in the records of the server, with one result, also after it was away', async (t) => {
    const { ask, rows, stateOf } = channel();
    const { node, state, machine } = await aHost(t);
    const ids: string[] = [];
    const probe = async (): Promise<void> => {
      ids.push(await ask(node.id, { kind: 'diag.health_probe', params: {} }));
    };
    const start = async () => {
      const agent = await machine.start();
      await agent.reached;
      return agent;
    };
    await start();
    await probe();
    await until('the first is done', async () => (await stateOf(ids[0] ?? '')).state === 'completed');
    // It goes away with tasks on their way to it, in its hands or with results that it has not reported.
    for (let count = 0; count < 5; count++) await probe();
    await machine.stop();
    await probe();
    const agent = await start();
    for (const id of ids) await until(`${id} is done`, async () => (await stateOf(id)).state === 'completed');
    await until('nothing in hand', () => agent.journaled_task_ids().length === 0);
    await machine.stop();

    type Entry = Readonly<{ e: string; task_id?: string; result?: Readonly<{ state: string; output: object | null }> }>;
    const entries = (await readFile(join(state, 'journal.jsonl'), 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Entry);
    const journaled = (kind: string) => entries.flatMap(({ e, task_id }) => (e === kind && task_id ? [task_id] : []));
    const recorded = await rows<{ id: string; state: string; output: object | null }>(
      'select id, state, output from node_tasks where node_id = $1 and started_at is not null order by id',
      [node.id],
    );
    for (const kind of ['begun', 'finished', 'acknowledged'])
      assert.deepEqual(
        journaled(kind).toSorted(),
        recorded.map(({ id }) => id),
        `each once: ${kind}`,
      );
    assert.deepEqual(
      recorded.map(({ id }) => id),
      ids.toSorted(),
    );
    const results = new Map(entries.flatMap(({ task_id, result }) => (task_id && result ? [[task_id, result]] : [])));
    for (const { id, state: end, output } of recorded)
      assert.deepEqual({ end, output }, { end: results.get(id)?.state, output: results.get(id)?.output });
  });

  it('no user data and no enrollment token is found on the host, in its journal, logs or state, once the task is over', async (t) => {
    const { ask, stateOf } = channel();
    const { node, state, folder, lines, machine, token } = await aHost(t);
    const canary = `canary${randomBytes(12).toString('hex')}`;
    const slots = await openTestHost(folder, { disk_bytes: 64 * 1024 ** 2 }).slots([0]);
    const agent = await machine.start();
    await agent.reached;
    // No bundle lease exists: the host refuses after the task, with its user data, is in the journal.
    const task = await ask(node.id, {
      kind: 'slice.vm_start',
      params: { ...startOf(slots), user_data: `#!/bin/sh\necho ${canary}\n` },
    });
    const isInFiles = async (secret: string): Promise<readonly string[]> => {
      const files = (await readdir(state, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
      const found = await Promise.all(
        files.map(async ({ parentPath, name }) => {
          const text = await readFile(join(parentPath, name), 'utf8').catch(() => '');
          return secretsIn(text, { secret }).map(() => name);
        }),
      );
      return found.flat();
    };
    await until('the task ends', async () => (await stateOf(task)).state === 'failed');
    await until('nothing in hand', () => agent.journaled_task_ids().length === 0);
    const journal = await readFile(join(state, 'journal.jsonl'), 'utf8');
    assert.ok(journal.includes(task), 'the journal has the task');
    await until('its user data to be removed', async () => (await isInFiles(canary)).length === 0);
    assert.deepEqual(await isInFiles(token), []);
    assert.deepEqual(secretsIn(lines.join(''), { canary, token }), []);
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
