import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { Client } from 'pg';
import { scanDatabase, secretsIn } from '../../test/canary.ts';
import { joinedGateway } from '../../test/gateway.ts';
import { settle, truth } from '../../test/host.ts';
import { aNode, anAllocation } from '../../test/placement.ts';
import { TEST_KEYS, testSecrets } from '../../test/secrets.ts';
import { must } from '../../test/tenants.ts';
import { until } from '../../test/until.ts';
import { PLATFORM } from '../db/client.ts';
import type { NodeTaskRow } from '../db/node-task.ts';
import { SEALED_TO } from '../domain/sealed.ts';
import { refreshSummary } from '../placement/summary.ts';

const canary = (): string => `canary${randomBytes(12).toString('hex')}`;

it('no secret is found in a dump, a log line, an event, an audit row or a response', async (t) => {
  const closers: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const close of closers) await close();
  });
  const at = await joinedGateway({ after: (fn) => void closers.unshift(fn) });
  const { test } = at;
  const sql = new Client({ connectionString: test.db.ownerUrl });
  await sql.connect();
  closers.unshift(() => sql.end());
  const stage = await at.stage();
  const { user } = stage;
  const admin = await test.admin();

  // User data: stored, requested for a reinstall, and carried to a host by tasks.
  const [kept, requested, shown] = [canary(), canary(), canary()];
  const tenant = { organization_id: user.organization_id, project_id: user.project_id };
  const node = await aNode(sql);
  const { id } = await anAllocation(sql, { node, tenant, state: 'active' });
  await test.db.database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
  const allocation = `/api/v1/projects/${tenant.project_id}/allocations/${id}`;
  must(await user.post(`${allocation}/reinstall`, { user_data: `#!/bin/sh\necho ${kept}\n` }), 202);
  const taken: string[] = [];
  const answer = (task: NodeTaskRow) => {
    taken.push(JSON.stringify(task.params));
    return truth(task);
  };
  await settle(test.db.database, { answer });
  assert.ok(
    taken.some((params) => params.includes(kept)),
    'the host gets it',
  );
  assert.equal(must(await user.get(allocation), 200).body.power.state, 'on');
  must(await user.post(`${allocation}/reinstall`, { user_data: `#!/bin/sh\necho ${requested}\n` }), 202);

  // The output of a terminal.
  const session = await stage.session({ is_recorded: true });
  session.host.socket.send(Buffer.from(`password: ${shown}\r\n`));
  await session.client.received(10);
  session.host.socket.close(1000);
  await session.client.closed();
  await until('the recording is kept', async () => {
    const { rows } = await sql.query('select from terminal_recordings where session_id = $1', [session.session_id]);
    return rows.length > 0;
  });

  // Credentials that are shown once.
  const token = must(await user.post('/api/v1/tokens', { name: 'c', scopes: ['read'], expires_in_s: 600 }), 201).body;
  const account = must(
    await user.post(`/api/v1/projects/${tenant.project_id}/service-accounts`, { name: 'robot' }),
    201,
  ).body;
  const invitation = must(
    await user.post(`/api/v1/organizations/${tenant.organization_id}/invitations`, {
      email: 'guest@example.com',
      role: 'member',
    }),
    201,
  ).body;
  const enrollment = must(
    await admin.post(`/api/v1/admin/nodes/${stage.agent.node_id}/enrollment`, { reason: 'test' }),
    201,
  ).body;
  // A launch whose user data is refused, and one that is accepted or not as there is capacity.
  const [refused, launched] = [canary(), canary()];
  const launch = (user_data: string, more: object = {}) =>
    user.post(`/api/v1/projects/${tenant.project_id}/allocations`, {
      ...{
        name: `c-${randomBytes(4).toString('hex')}`,
        sku_name: 'h200-sxm-slice',
        region_name: 'us-buffalo-1',
        gpu_count: 1,
      },
      ...{ user_data, ...more },
    });
  const answers = [
    await launch(`#!/bin/sh\necho ${refused}\n`, { no_such_field: refused }),
    await launch(`echo ${refused}`.repeat(9000)),
    await launch(`#!/bin/sh\necho ${launched}\n`),
    await test.bearer(`gpt_${refused}`).get('/api/v1/me'),
  ];
  for (const [index, { status, body }] of answers.entries())
    assert.ok(
      index === 2 ? status < 500 : status >= 400 && status < 500,
      `${index}: ${status} ${JSON.stringify(body)}`,
    );
  const { ticket } = await stage.ticket();
  const trust = await sql.query<{ id: string; sealed_private_key: Buffer }>(
    "select id, sealed_private_key from trust_keys where purpose = 'task_signer' and state = 'active'",
  );
  const [signer] = trust.rows;
  assert.ok(signer);
  const bearer = user.token ?? '';
  const secrets = {
    refused,
    launched,
    ticket,
    bearer,
    signer:
      testSecrets('trust', TEST_KEYS.trust_keys)
        .open(signer.sealed_private_key, SEALED_TO.trust_key(signer.id))
        .split('\n')[1] ?? '',
    kept,
    requested,
    shown,
    token: token.token,
    client_secret: account.client_secret,
    invitation: invitation.token,
    enrollment: enrollment.token,
    platform_key: Buffer.from(test.app.deps.config.platform_keys.get(1) ?? '').toString('base64'),
  };
  for (const [name, secret] of Object.entries(secrets)) assert.ok(secret?.length > 16, `${name} is a secret`);

  assert.deepEqual(await scanDatabase(sql, secrets), []);
  assert.deepEqual(secretsIn(JSON.stringify(test.logs), secrets), []);
  for (const { body } of answers) assert.deepEqual(secretsIn(JSON.stringify(body), secrets), []);
  const reads = [
    ...['', '/timeline', '/sessions'].map((rest) => ({ as: user, path: `${allocation}${rest}` })),
    { as: user, path: `/api/v1/projects/${tenant.project_id}/service-accounts` },
    { as: user, path: `/api/v1/organizations/${tenant.organization_id}/audit-logs?limit=200` },
    { as: user, path: `/api/v1/organizations/${tenant.organization_id}/invitations` },
    { as: user, path: '/api/v1/tokens' },
    ...[node.id, stage.agent.node_id].map((one) => ({ as: admin, path: `/api/v1/admin/nodes/${one}/tasks?limit=200` })),
    { as: admin, path: '/api/v1/admin/audit-logs?limit=200' },
    { as: admin, path: '/api/v1/admin/workflow-runs?limit=200' },
    { as: admin, path: `/api/v1/admin/trace?id=${id}` },
  ];
  for (const { as, path } of reads) {
    const response = await as.get(path);
    assert.equal(response.status, 200, `${path}: ${JSON.stringify(response.body)}`);
    assert.deepEqual(secretsIn(JSON.stringify(response.body), secrets), [], path);
  }
  // Only the tenant can read its terminal output.
  const recording = await user.get(
    `/api/v1/projects/${tenant.project_id}/allocations/${stage.allocation.id}/sessions/${session.session_id}/recording`,
  );
  assert.deepEqual([recording.status, secretsIn(String(recording.body), secrets)], [200, ['shown']]);
});
