import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { describe, it } from 'node:test';
import type { SignedTask } from '@gpuaas/contract/node';
import { hostOf, newCsr, newKey, openAgent, shownBy, type TestAgent } from '../../test/agent.ts';
import { useChannel } from '../../test/channel.ts';
import { until } from '../../test/until.ts';
import { endGrace } from '../reconcilers/end-grace.ts';

const KEYS = '/api/v1/admin/trust-keys';
const because = { reason: 'yearly' };

describe('rotation of the keys of the agent channel', () => {
  const channel = useChannel();

  const move = async (id: string, verb: string) => {
    const admin = await channel().test.admin();
    const { version } = (await admin.get(`${KEYS}/${id}`)).body;
    return admin.post(`${KEYS}/${id}/${verb}`, because, { 'if-match': `"v${version}"` });
  };
  const stage = async (purpose: string): Promise<string> => {
    const admin = await channel().test.admin();
    const made = await admin.post(KEYS, { purpose, ...because });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    await until('the node API has created it', async () => {
      const { state } = (await admin.get(`${KEYS}/${made.body.id}`)).body;
      return state === 'staged';
    });
    return made.body.id;
  };
  /** Time passes until agents know a staged key. */
  const pass = (id: string) =>
    channel().change("update trust_keys set state_since = state_since - interval '1 minute' where id = $1", [id]);
  const activeOf = async (purpose: string): Promise<string> =>
    (
      await channel().rows<{ id: string }>("select id from trust_keys where purpose = $1 and state = 'active'", [
        purpose,
      ])
    )[0]?.id ?? '';
  /** Once the listener knows that this CA signs now. */
  const renew = async (agent: TestAgent, ca: string): Promise<TestAgent> => {
    const key = newKey();
    const private_key_pem = key.export({ type: 'pkcs8', format: 'pem' }).toString();
    const csr_pem = await newCsr(key);
    let renewed = agent;
    await until('certificates are of the new CA', async () => {
      const { status, body } = await agent.call('certificateRenew', { csr_pem, host: hostOf(agent.node_id) });
      // Until then a certificate this young is not renewed.
      if (status === 429) return false;
      renewed = openAgent(channel().url, { ...body, private_key_pem });
      return new X509Certificate(renewed.certificate_pem).issuer.includes(ca);
    });
    return renewed;
  };
  const count = (pem: string): number => pem.split('BEGIN CERTIFICATE').length - 1;

  it('a new CA is trusted beside the old one before it signs, and no connection drops when it does', async () => {
    const { join, url, test } = channel();
    const agent = await join();
    const old = await activeOf('node_ca');
    const resting = agent.wait({ wait_s: 15 });
    await until('the agent rests', () => (test.app.node_api?.dispatcher.size() ?? 0) > 0);
    const next = await stage('node_ca');
    const told = await resting;
    assert.notEqual(told.body.trust_version, agent.trust.version, 'agents are notified at once');
    const trust = (await agent.call('trustBundleGet')).body;
    assert.equal(count(trust.ca_bundle_pem), 2);
    assert.match((await shownBy(url)).issuer, new RegExp(old));

    assert.equal((await move(next, 'activate')).status, 409, 'agents need time to hear of it');
    await pass(next);
    const informed = openAgent(url, { ...agent, trust });
    const across = informed.wait({ wait_s: 15 });
    await until('the agent rests', () => (test.app.node_api?.dispatcher.size() ?? 0) > 0);
    assert.equal((await move(next, 'activate')).status, 200);
    assert.equal((await across).status, 200, 'the poll that rested was answered, not dropped');
    assert.match(
      (await shownBy(url)).issuer,
      new RegExp(old),
      'of the CA that everyone knows, until its grace is over',
    );
    // The old certificate is still valid, on old connections and on new ones.
    assert.equal((await informed.wait()).status, 200);
    const reconnected = informed.again();
    assert.equal((await reconnected.wait()).status, 200);

    const renewed = await renew(reconnected, next);
    assert.equal((await renewed.wait()).status, 200);
    assert.equal((await move(old, 'retire')).status, 200);
    const late = informed.again();
    await until(
      'the old CA is trusted no more',
      async () => (await late.wait().catch(() => undefined))?.status === 403,
    );
    await until('the listener shows a certificate of the new CA', async () =>
      (await shownBy(url)).issuer.includes(next),
    );
    assert.equal((await renewed.wait()).status, 200);
    for (const one of [agent, informed, reconnected, renewed, late]) one.close();
  });

  it('an agent offline during CA rotation reconnects automatically until the grace period ends', async () => {
    const { join, url, test, change } = channel();
    const [away, lost, here] = [await join(), await join(), await join()];
    const old = await activeOf('node_ca');
    for (const agent of [away, lost, here]) assert.equal((await agent.wait()).status, 200);
    const next = await stage('node_ca');
    await pass(next);
    const readBundle = async () => (await here.call('trustBundleGet')).body;
    await until('agents are notified', async () => count((await readBundle()).ca_bundle_pem) === 2);
    const trust = await readBundle();
    const informed = openAgent(url, { ...here, trust });
    assert.equal((await informed.wait()).status, 200);
    const versionOf = async (agent: TestAgent) =>
      (
        await channel().rows<{ trust_version: string }>('select trust_version from node_agents where node_id = $1', [
          agent.node_id,
        ])
      )[0]?.trust_version;
    for (const agent of [away, lost, informed])
      await until(
        'it is written down what the agent knows',
        async () => (await versionOf(agent)) === agent.trust.version,
      );
    const behind = await channel().rows('select node_id from node_agents where trust_version <> $1', [trust.version]);
    const activated = await move(next, 'activate');
    assert.equal(activated.body.nodes_without_key, behind.length, 'the operator sees how many do not have it');
    assert.ok(behind.length >= 2);

    // Node's TLS client of an agent that knows the old root only.
    assert.equal(count(away.trust.ca_bundle_pem), 1);
    const back = away.again();
    const answer = await back.wait();
    assert.equal(answer.status, 200);
    assert.notEqual(answer.body.trust_version, away.trust.version, 'it is asked to fetch the bundle');
    const renewed = await renew(back, next);
    assert.equal(count(renewed.trust.ca_bundle_pem), 2);
    assert.equal((await renewed.wait()).status, 200);

    // A host added meanwhile gets the root of the listener's certificate.
    const added = await join();
    assert.equal((await added.wait()).status, 200);

    await change('update trust_keys set retires_at = clock_timestamp() where id = $1', [old]);
    await endGrace({ database: test.db.database });
    await until('the listener shows a certificate of the new CA', async () =>
      (await shownBy(url)).issuer.includes(next),
    );
    assert.equal((await renewed.again().wait()).status, 200);
    await assert.rejects(lost.again().wait(), /unable to|self-signed|verify/, 'it must be enrolled again');
    for (const agent of [away, lost, here, informed, back, renewed, added]) agent.close();
  });

  it('tasks are signed with the new signer immediately, and the old one is trusted during its grace', async () => {
    const { join, ask, change, test } = channel();
    const agent = await join();
    const old = await activeOf('task_signer');
    const signerOf = async (): Promise<string | undefined> => {
      await ask(agent.node_id);
      let tasks: readonly SignedTask[] = [];
      await until('the task is handed out', async () => {
        tasks = (await agent.wait({ wait_s: 5 })).body.tasks;
        return tasks.length > 0;
      });
      return tasks.at(-1)?.signer_id;
    };
    assert.equal(await signerOf(), old);
    const next = await stage('task_signer');
    await pass(next);
    assert.equal((await move(next, 'activate')).status, 200);
    assert.equal(await signerOf(), next);
    const signers = async () =>
      (await agent.call('trustBundleGet')).body.task_signers.map((one: { signer_id: string; state: string }) => [
        one.signer_id,
        one.state,
      ]);
    await until('the bundle shows', async () => (await signers()).length === 2);
    assert.deepEqual(await signers(), [
      [next, 'active'],
      [old, 'grace'],
    ]);
    await change('update trust_keys set retires_at = clock_timestamp() where id = $1', [old]);
    await endGrace({ database: test.db.database });
    await until('the old signer is gone', async () => (await signers()).length === 1);
    agent.close();
  });

  it('the signing key cannot be revoked, and any other can be revoked immediately', async () => {
    const active = await activeOf('task_signer');
    assert.equal((await move(active, 'revoke')).status, 409);
    assert.equal((await move(active, 'retire')).status, 409);
    const staged = await stage('task_signer');
    assert.equal((await move(staged, 'revoke')).body.state, 'revoked');
    assert.equal((await move(staged, 'activate')).status, 409);
  });

  it('of two operators with the same version one gets the error that the key has changed', async () => {
    const admin = await channel().test.admin();
    const id = await stage('node_ca');
    const ask = () => admin.post(`${KEYS}/${id}/retire`, because, { 'if-match': '"v1"' });
    const answers = await Promise.all([ask(), ask()]);
    assert.deepEqual(
      answers.map((one) => one.status).sort((a, b) => a - b),
      [200, 412],
    );
  });
});
