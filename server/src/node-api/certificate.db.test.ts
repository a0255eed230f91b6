import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '@gpuaas/kit';
import { anyone, callNodeApi, hostOf, newCsr, newKey, openAgent, type TestAgent } from '../../test/agent.ts';
import { testClock } from '../../test/app.ts';
import { useChannel } from '../../test/channel.ts';
import { until } from '../../test/until.ts';
import { readTrust } from '../agents/trust.ts';
import { PLATFORM } from '../db/client.ts';
import { insertCertificate } from '../db/node-certificate.ts';
import {
  createCa,
  type IssuedCertificate,
  type Issuer,
  issueNodeCertificate,
  openIssuer,
} from '../ports/trust/x509.ts';

const clock = testClock();

describe('certificates of agents', () => {
  const channel = useChannel({}, { clock });

  const platformCa = () => {
    const { test } = channel();
    return test.db.database.read(PLATFORM, (reader) => readTrust(reader, test.trustSecrets, silentLog()));
  };

  /** A certificate by `issuer` for an existing node. */
  const forge = async (issuer: Issuer, like: TestAgent, life: Readonly<{ from?: Date; life_s: number }>) => {
    const key = newKey();
    const issued = await issueNodeCertificate(issuer, {
      csr_pem: await newCsr(key),
      node_id: like.node_id,
      now: life.from ?? new Date(),
      life_s: life.life_s,
    });
    const private_key_pem = key.export({ type: 'pkcs8', format: 'pem' }).toString();
    return {
      issued,
      agent: openAgent(channel().url, { ...like, certificate_pem: issued.certificate_pem, private_key_pem }),
    };
  };

  const keep = async (issued: IssuedCertificate, like: TestAgent, caId: string): Promise<void> => {
    const [row] = await channel().rows<{ enrollment_id: string }>(
      'select enrollment_id from node_certificates where node_id = $1 limit 1',
      [like.node_id],
    );
    assert.ok(row);
    await channel().test.db.database.write(PLATFORM, (tx) =>
      insertCertificate(tx, { ...issued, node_id: like.node_id, ca_key_id: caId, ...row }),
    );
  };

  const deniedRows = (nodeId: string) =>
    channel().rows<{ policy: string }>(
      "select policy from audit_logs where action = 'node.connect' and result = 'denied' and target_id = $1",
      [nodeId],
    );

  it('a node cannot act as another, and the attempt is audited', async () => {
    const [one, other] = [await channel().join(), await channel().join()];
    const answer = await one.call(
      'taskStart',
      { attempt: 1 },
      { node_id: other.node_id, task_id: `tsk_${'0'.repeat(26)}` },
    );
    assert.equal(answer.status, 403);
    assert.equal(answer.headers['content-type'], 'application/problem+json; charset=utf-8');
    assert.equal(answer.headers['connection'], 'close');
    assert.deepEqual(await deniedRows(other.node_id), [{ policy: 'The certificate belongs to another node.' }]);
    for (const agent of [one, other]) agent.close();
  });

  it('without a certificate only enrollment and the bundle are accessible', async () => {
    const agent = await channel().join();
    const answer = await callNodeApi(
      channel().url,
      anyone(),
      'taskStart',
      { attempt: 1 },
      {
        node_id: agent.node_id,
        task_id: `tsk_${'0'.repeat(26)}`,
      },
    );
    assert.equal(answer.status, 403);
    assert.equal((await callNodeApi(channel().url, anyone(), 'trustBundleGet')).status, 200);
    agent.close();
  });

  it('a certificate of another CA, an unrecorded one and an expired one are refused', async () => {
    const like = await channel().join();
    const { ca } = await platformCa();
    const made = await createCa('Another user', new Date());
    const stranger = await forge(await openIssuer(made.public_pem, made.private_pem), like, { life_s: 3600 });
    const unknown = await forge(ca.issuer, like, { life_s: 3600 });
    const ended = await forge(ca.issuer, like, { from: new Date(Date.now() - 7_200_000), life_s: 3600 });
    await keep(ended.issued, like, ca.id);
    for (const { agent } of [stranger, unknown, ended]) {
      const answer = await agent.wait();
      assert.equal(answer.status, 403);
      agent.close();
    }
    assert.equal((await like.wait()).status, 200);
    like.close();
  });

  it('a certificate that expires while its connection is open is refused at the next request', async () => {
    const like = await channel().join();
    const { ca } = await platformCa();
    const { agent, issued } = await forge(ca.issuer, like, { life_s: 120 });
    await keep(issued, like, ca.id);
    assert.equal((await agent.wait()).status, 200);
    clock.advance(121_000);
    await until('the certificate is over', async () => {
      const answer = await agent.wait().catch(() => undefined);
      return answer === undefined || answer.status === 403;
    });
    for (const one of [agent, like]) one.close();
  });

  it('revoking ends open connections, and the certificate is refused afterwards', async () => {
    const { test, join } = channel();
    const agent = await join();
    await agent.wait();
    const resting = agent.wait({ wait_s: 15 });
    const ended = assert.rejects(resting, /ECONNRESET|socket hang up|aborted/);
    await until('the agent rests', () => (test.app.node_api?.dispatcher.size() ?? 0) > 0);
    const admin = await test.admin();
    const answer = await admin.post(`/api/v1/admin/nodes/${agent.node_id}/agent/revoke`, { reason: 'stolen' });
    assert.equal(answer.status, 200);
    assert.equal(answer.body.certificates[0].revoked_reason, 'stolen');
    await ended;
    const again = agent.again();
    assert.equal((await again.wait()).status, 403);
    assert.equal(
      (await again.call('certificateRenew', { csr_pem: await newCsr(newKey()), host: hostOf(agent.node_id) })).status,
      403,
    );
    again.close();
    agent.close();
  });

  /** Moves the certificates of a node to half of their lifetime. */
  const growOld = (agent: TestAgent) =>
    channel().change(
      "update node_certificates set not_before = not_before - interval '25 hours' where node_id = $1 and revoked_at is null",
      [agent.node_id],
    );
  const renew = async (agent: TestAgent) => {
    const key = newKey();
    const answer = await agent.call('certificateRenew', { csr_pem: await newCsr(key), host: hostOf(agent.node_id) });
    const private_key_pem = key.export({ type: 'pkcs8', format: 'pem' }).toString();
    return { answer, open: () => openAgent(channel().url, { ...answer.body, private_key_pem }) };
  };

  it('renewal issues a certificate for a new key, and using it ends the previous one shortly after', async () => {
    const agent = await channel().join();
    await growOld(agent);
    const { answer, open } = await renew(agent);
    assert.equal(answer.status, 200);
    assert.ok(Date.parse(answer.body.renew_after) < Date.parse(answer.body.not_after));
    const revoked = () =>
      channel().rows<{ revoked_reason: string }>(
        'select revoked_reason from node_certificates where node_id = $1 and revoked_at is not null',
        [agent.node_id],
      );
    clock.advance(31_000);
    assert.equal((await agent.wait()).status, 200, 'the new one was not used yet');
    const next = open();
    assert.equal((await next.wait()).status, 200);
    assert.equal((await agent.wait()).status, 200, 'what is under way comes to its end');
    assert.deepEqual(await revoked(), []);
    clock.advance(31_000);
    const old = agent.again();
    await until('the old one counts no more', async () => (await old.wait().catch(() => undefined))?.status === 403);
    assert.deepEqual(await revoked(), [{ revoked_reason: 'Replaced by a newer certificate.' }]);
    assert.equal((await next.wait()).status, 200);
    for (const one of [agent, old, next]) one.close();
  });

  it('a young certificate is not renewed, and an old one only a few times, with a retry time', async () => {
    const agent = await channel().join();
    const early = (await renew(agent)).answer;
    assert.deepEqual([early.status, early.body.code], [429, 'rate_limited']);
    assert.ok(Number(early.headers['retry-after']) > 11 * 3600, String(early.headers['retry-after']));
    await growOld(agent);
    const statuses: number[] = [];
    for (let n = 0; n < 6; n++) statuses.push((await renew(agent)).answer.status);
    assert.deepEqual(statuses, [200, 200, 200, 200, 429, 429], 'answers may get lost, but not without end');
    agent.close();
  });

  it('failed attempts of one address fill the audit log slowly', async () => {
    const agent = await channel().join();
    const before = (await channel().rows("select 1 as one from audit_logs where action = 'node.connect'")).length;
    for (let n = 0; n < 40; n++)
      await callNodeApi(
        channel().url,
        anyone(),
        'taskStart',
        { attempt: 1 },
        {
          node_id: agent.node_id,
          task_id: `tsk_${'0'.repeat(26)}`,
        },
      );
    const rows = (await channel().rows("select 1 as one from audit_logs where action = 'node.connect'")).length;
    assert.ok(rows - before <= 10, `${rows - before} rows`);
    agent.close();
  });
});
