import assert from 'node:assert/strict';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { addNode, anyone, callNodeApi, enrollAgent, enrollBody, newCsr, newKey } from '../../test/agent.ts';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { until } from '../../test/until.ts';
import { ROLES } from '../config.ts';
import { PLATFORM } from '../db/client.ts';

describe('enrollment of agents', () => {
  let test: TestApp;
  let url: string;
  const closers: (() => Promise<void>)[] = [];
  before(async () => {
    test = await startTestApp({ after: (fn) => void closers.unshift(fn) }, { roles: ROLES });
    url = test.app.node_api?.url ?? '';
  });
  after(async () => {
    await assertInvariants(test.db.database);
    for (const close of closers) await close();
  });

  const rows = <R extends object>(text: string, values: readonly unknown[] = []): Promise<R[]> =>
    test.db.database.read(PLATFORM, async (reader) => (await reader.query<R>(text, values)).rows);

  it('a host with a token becomes a node: certificate for its id, then active with the first task poll', async () => {
    const { node, enrollment } = await addNode(test);
    assert.match(enrollment.token, /^gpe_[A-Za-z0-9_-]{43}$/);
    assert.equal(node.state, 'bootstrap_issued');
    const agent = await enrollAgent(url, enrollment);
    assert.equal(agent.node_id, node.id);
    const certificate = new X509Certificate(agent.certificate_pem);
    assert.equal(certificate.subjectAltName, `URI:spiffe://gpuaas/node/${node.id}`);
    assert.equal(Date.parse(certificate.validTo) - Date.now() <= 24 * 3_600_000, true);
    assert.equal(
      (await rows<{ state: string }>('select state from nodes where id = $1', [node.id]))[0]?.state,
      'enrolling',
    );
    assert.equal((await agent.wait()).status, 200);
    await until(
      'the platform noticed',
      async () =>
        (await rows<{ state: string }>('select state from nodes where id = $1', [node.id]))[0]?.state === 'active',
    );
    const admin = await test.admin();
    const seen = (await admin.get(`/api/v1/admin/nodes/${node.id}/agent`)).body;
    assert.equal(seen.is_connected, true);
    assert.equal(seen.certificates.length, 1);
    agent.close();
  });

  it('an unstorable message of one agent does not keep the others from being seen', async () => {
    const [odd, other] = await Promise.all([addNode(test), addNode(test)]);
    const agents = await Promise.all([odd, other].map(({ enrollment }) => enrollAgent(url, enrollment)));
    const [bad, good] = agents as [(typeof agents)[number], (typeof agents)[number]];
    const clock = '2016-12-31T23:59:60Z';
    for (const said of [
      { boot_id: 'a\0' },
      { agent_version: '\ud800' },
      { booted_at: '0000-01-01T00:00:00Z' },
      { clock },
    ])
      assert.equal((await bad.wait(said)).status, 400, JSON.stringify(said));
    assert.equal((await bad.wait({ booted_at: '2026-01-01T00:00:00+23:59' })).status, 200);
    assert.equal((await good.wait()).status, 200);
    const isActive = 'select id from nodes where id = any ($1) and state = $2';
    const ids = [odd.node.id, other.node.id];
    await until('both are seen', async () => (await rows(isActive, [ids, 'active'])).length === 2);
    for (const agent of agents) agent.close();
  });

  it('a token works once, and refusals are audited', async () => {
    const { node, enrollment } = await addNode(test);
    const body = await enrollBody(enrollment.token, newKey());
    const both = await Promise.all([1, 2].map(() => callNodeApi(url, anyone(), 'nodeEnroll', body)));
    assert.deepEqual(
      both.map((one) => one.status).sort((a, b) => a - b),
      [200, 403],
    );
    const again = await callNodeApi(url, anyone(), 'nodeEnroll', body);
    assert.equal(again.status, 403);
    assert.equal(again.body.code, 'permission_denied');
    assert.equal(again.headers['x-correlation-id'], again.body.correlation_id);
    const denied = await rows(
      "select 1 as one from audit_logs where action = 'node.enroll' and result = 'denied' and target_id = $1",
      [node.id],
    );
    assert.equal(denied.length, 2);
    assert.equal((await rows('select 1 as one from node_certificates where node_id = $1', [node.id])).length, 1);
  });

  it('expired, replaced and invented tokens are refused', async () => {
    const { node, enrollment } = await addNode(test);
    const ask = async (token: string) => callNodeApi(url, anyone(), 'nodeEnroll', await enrollBody(token, newKey()));
    assert.equal((await ask(`gpe_${'x'.repeat(43)}`)).status, 401);
    const admin = await test.admin();
    const next = await admin.post(`/api/v1/admin/nodes/${node.id}/enrollment`, { reason: 'lost' });
    assert.equal(next.status, 201);
    assert.match((await ask(enrollment.token)).body.detail, /replaced/);
    await test.db.database.write(PLATFORM, (tx) =>
      tx.query("update node_enrollments set expires_at = clock_timestamp() - interval '1 s' where node_id = $1", [
        node.id,
      ]),
    );
    const late = await ask(next.body.token);
    assert.equal(late.status, 403);
    assert.match(late.body.detail, /15 minutes/);
  });

  it('of a signing request only the key is used, and only from its owner', async () => {
    const { node, enrollment } = await addNode(test);
    const other = 'spiffe://gpuaas/node/nod_00000000000000000000000000';
    const ask = async (csr_pem: string) =>
      callNodeApi(url, anyone(), 'nodeEnroll', { ...(await enrollBody(enrollment.token, newKey())), csr_pem });
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    assert.equal((await ask(await newCsr(rsa))).status, 400);
    assert.equal(
      (await ask('-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n')).status,
      400,
    );
    const good = await newCsr(newKey(), [other]);
    const der = Buffer.from(good.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
    const at = der.length - 4;
    der[at] = (der[at] ?? 0) ^ 1;
    const forged = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
    assert.match((await ask(forged)).body.detail, /not signed by the key/);
    // A refused request does not use up the token.
    const answer = await ask(good);
    assert.equal(answer.status, 200);
    assert.equal(
      new X509Certificate(answer.body.certificate_pem).subjectAltName,
      `URI:spiffe://gpuaas/node/${node.id}`,
    );
    assert.equal(new X509Certificate(answer.body.certificate_pem).ca, false);
  });

  it('a host may use an Ed25519 key', async () => {
    const { enrollment } = await addNode(test);
    const key = generateKeyPairSync('ed25519').privateKey;
    assert.equal((await callNodeApi(url, anyone(), 'nodeEnroll', await enrollBody(enrollment.token, key))).status, 200);
  });

  it('enrolling again revokes the previous certificates and keeps the node state', async () => {
    const { node, enrollment } = await addNode(test);
    const first = await enrollAgent(url, enrollment);
    await first.wait();
    const admin = await test.admin();
    const next = (await admin.post(`/api/v1/admin/nodes/${node.id}/enrollment`, { reason: 'new disk' })).body;
    await until(
      'the platform noticed',
      async () =>
        (await rows<{ state: string }>('select state from nodes where id = $1', [node.id]))[0]?.state === 'active',
    );
    const second = await enrollAgent(url, next);
    assert.equal(
      (await rows<{ state: string }>('select state from nodes where id = $1', [node.id]))[0]?.state,
      'active',
    );
    const old = first.again();
    await until('the platform notices', async () => (await old.wait().catch(() => undefined))?.status === 403);
    assert.equal((await second.wait()).status, 200);
    for (const agent of [first, old, second]) agent.close();
  });

  it('concurrent creation, use and revocation of enrollment wait for each other', async () => {
    const admin = await test.admin();
    for (let n = 0; n < 5; n++) {
      const { node, enrollment } = await addNode(test);
      const body = await enrollBody(enrollment.token, newKey());
      const open = () => admin.post(`/api/v1/admin/nodes/${node.id}/enrollment`, { reason: 'again' });
      const [entered, ...answers] = await Promise.all([
        callNodeApi(url, anyone(), 'nodeEnroll', body),
        admin.post(`/api/v1/admin/nodes/${node.id}/agent/revoke`, { reason: 'stolen' }),
        open(),
        open(),
        open(),
      ]);
      assert.ok([200, 403].includes(entered?.status ?? 0), JSON.stringify(entered?.body));
      assert.deepEqual(
        answers.map((one) => one.status),
        [200, 201, 201, 201],
        JSON.stringify(answers.map((one) => one.body)),
      );
    }
  });

  it('the audit row of a new node names it', async () => {
    const { node } = await addNode(test);
    const [row] = await rows<{ metadata: { name: string } }>(
      "select metadata from audit_logs where action = 'node.create' and target_id = $1",
      [node.id],
    );
    assert.equal(row?.metadata.name, node.name);
  });
});
