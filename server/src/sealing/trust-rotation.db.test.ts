/** The trust key, which seals the CA of hosts and the signers of tasks, is rotated while node APIs use what it seals. */
import assert from 'node:assert/strict';
import { createPublicKey, randomBytes, verify, X509Certificate } from 'node:crypto';
import { it } from 'node:test';
import { type SignedTask, taskTreeBytes } from '@gpuaas/contract/node';
import { addNode, enrollAgent, hostOf, payloadOf, type TestAgent } from '../../test/agent.ts';
import { startTestApp } from '../../test/app.ts';
import { openChannel } from '../../test/channel.ts';
import { testDatabase } from '../../test/database.ts';
import { must } from '../../test/tenants.ts';
import { until } from '../../test/until.ts';
import { PLATFORM } from '../db/client.ts';
import type { KeyRing } from '../ports/secrets/secrets.ts';

const [ONE, TWO] = [randomBytes(32), randomBytes(32)];
const BOTH: KeyRing = new Map([
  [1, ONE],
  [2, TWO],
]);
const NEW: KeyRing = new Map([[2, TWO]]);

const assertSigned = (task: SignedTask, { trust, node_id }: TestAgent): void => {
  const signer = trust.task_signers.find((one: { signer_id: string }) => one.signer_id === task.signer_id);
  const bytes = taskTreeBytes(task.payload, task.proof);
  const key = createPublicKey(signer.public_key_pem);
  assert.ok(bytes !== null && verify(null, bytes, key, Buffer.from(task.signature, 'base64')));
  assert.equal(payloadOf(task).node_id, node_id);
};

const assertIssued = (certificate_pem: string, { trust }: Pick<TestAgent, 'trust'>): void => {
  const ca = new X509Certificate(trust.ca_bundle_pem);
  assert.ok(new X509Certificate(certificate_pem).verify(ca.publicKey));
};

it('tasks are signed and certificates issued while the trust key is rotated, and after it', async (t) => {
  const db = await testDatabase(t);
  const nodeApi = async (trust_keys: KeyRing, reseal_ms: number) => {
    const options = { db, intervals_ms: { 'reseal-trust': reseal_ms } };
    const { app } = await startTestApp(t, { roles: ['gpuaas-node-api'], trust_keys }, options);
    assert.ok(app.node_api);
    return app.node_api.url;
  };
  // The first one does not seal again by itself, so that the time between rotation and sealing lasts as long as it must.
  const first = await nodeApi(BOTH, 3_600_000);
  const test = await startTestApp(t, { roles: ['gpuaas-api', 'gpuaas-provisioning-worker'] }, { db });
  const admin = await test.admin();
  const keys = '/api/v1/admin/platform-keys';
  const version = async (number: number) =>
    must(await admin.get(`${keys}?kind=trust`), 200).body.items.find(
      (one: { version: number }) => one.version === number,
    );

  /** Journaled by their agents: others would be sent again. */
  const taken: string[] = [];
  const getsTask = async (url: string, agent: TestAgent): Promise<void> => {
    const { ask } = openChannel(test, url);
    const id = await ask(agent.node_id);
    const { status, body } = await agent.wait({ wait_s: 15, journaled_task_ids: taken });
    assert.equal(status, 200, JSON.stringify(body));
    const [task, ...more] = body.tasks as SignedTask[];
    assert.ok(task);
    assert.deepEqual([payloadOf(task).task_id, more.length], [id, 0]);
    assertSigned(task, agent);
    taken.push(id);
  };
  const join = async (url: string): Promise<TestAgent> => {
    const { node, enrollment } = await addNode(test);
    const agent = await enrollAgent(url, enrollment, hostOf(node.id));
    t.after(() => agent.close());
    assertIssued(agent.certificate_pem, agent);
    await getsTask(url, agent);
    return agent;
  };

  const old = await join(first);
  must(await admin.post(`${keys}/rotate`, { kind: 'trust', reason: 'yearly' }), 202);
  assert.deepEqual([(await version(1)).state, (await version(1)).sealed_values], ['retiring', 2]);
  await join(first);
  await getsTask(first, old);
  // A process that starts now opens what the old version sealed; it seals everything again.
  const second = await nodeApi(BOTH, 100);
  await join(second);
  await until('every value has the new version', async () => (await version(1)).sealed_values === 0);
  for (const url of [first, second]) await join(url);
  await test.db.database.write(PLATFORM, (tx) =>
    tx.query(
      "update platform_keys set state_since = state_since - interval '2 minutes' where kind = 'trust' and version = 1",
    ),
  );
  await until('the old version is retired', async () => (await version(1)).state === 'retired');
  assert.equal((await version(2)).sealed_values, 2);
  await getsTask(first, old);
  // Without the old key, with the same CA and signer: hosts notice nothing.
  const third = await nodeApi(NEW, 100);
  const last = await join(third);
  assert.deepEqual(last.trust.task_signers, old.trust.task_signers);
  assert.equal(last.trust.ca_bundle_pem, old.trust.ca_bundle_pem);
});
