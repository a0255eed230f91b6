import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { Client } from 'pg';
import { type Caller, startTestApp, testClock } from '../../test/app.ts';
import { platformSecrets, scanDatabase, secretsIn } from '../../test/canary.ts';
import { joinedGateway } from '../../test/gateway.ts';
import { settle, truth } from '../../test/host.ts';
import { aNode, anAllocation } from '../../test/placement.ts';
import { ask, operations, type Parts, paramsOf } from '../../test/request.ts';
import { scenarios } from '../../test/scenarios.ts';
import { CACHE_OVER_MS, makeTenants, must } from '../../test/tenants.ts';
import { until } from '../../test/until.ts';
import { ensureTrustKeys } from '../agents/trust.ts';
import { PLATFORM } from '../db/client.ts';
import type { NodeTaskRow } from '../db/node-task.ts';
import { refreshSummary } from '../placement/summary.ts';

const TOKEN = { name: 'c', scopes: ['read'], expires_in_s: 600 };
const canary = (): string => `canary${randomBytes(12).toString('hex')}`;

it('no secret is found in a dump, a log line, an event, an audit row or a response', async (t) => {
  const closers: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const close of closers) await close();
  });
  const clock = testClock();
  const held = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  const env = { GPUAAS_METRICS_TOKEN: canary(), GPUAAS_OIDC_CONSOLE_CLIENT_SECRET: canary() };
  const at = await joinedGateway(held, {}, { clock, env });
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
  const token = must(await user.post('/api/v1/tokens', TOKEN), 201).body;
  const accounts = `/api/v1/projects/${tenant.project_id}/service-accounts`;
  const account = must(await user.post(accounts, { name: 'robot' }), 201).body;
  const account_path = `${accounts}/${account.service_account.id}`;
  const exchange = () => {
    const { client_secret, service_account } = account;
    const form = { grant_type: 'client_credentials', client_id: service_account.id, client_secret };
    const type = 'application/x-www-form-urlencoded';
    return test
      .bearer(null)
      .call('POST', '/api/v1/auth/token', `${new URLSearchParams(form)}`, { 'content-type': type });
  };
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
  // The worker, which this test does without, creates the signer of wipe certificates.
  const { secrets: sealing } = test.app.deps;
  await test.db.database.write(PLATFORM, (tx) => ensureTrustKeys(tx, { secrets: sealing, clock }));
  const bearer = user.token ?? '';
  const secrets = {
    refused,
    launched,
    ticket,
    bearer,
    kept,
    requested,
    shown,
    token: token.token,
    client_secret: account.client_secret,
    invitation: invitation.token,
    enrollment: enrollment.token,
    account_token: must(await user.post(`${account_path}/tokens`, TOKEN), 201).body.token,
    account_access: must(await exchange(), 200).body.access_token,
    ...(await platformSecrets(sql, test.app)),
  };
  for (const name of ['node_ca', 'task_signer', 'certificate_signer', 'trust key 1', 'platform key 1'])
    assert.ok(name in secrets, name);
  for (const [name, secret] of Object.entries(secrets)) assert.ok(secret?.length > 16, `${name} is a secret`);

  for (const { body } of answers) assert.deepEqual(secretsIn(JSON.stringify(body), secrets), []);
  // Some scenarios wait for workflows. The reinstall above was done without a worker, whose tasks nothing would answer.
  await startTestApp(held, { roles: ['gpuaas-provisioning-worker'] }, { db: test.db, clock, logs: test.logs });
  // What the test made has these ids; the scenarios have made one of everything else.
  const tenants = await makeTenants(held, test, clock);
  const made: Readonly<Record<string, string>> = {
    ...tenant,
    allocation_id: id,
    node_id: node.id,
    service_account_id: account.service_account.id,
    invitation_id: invitation.invitation.id,
  };
  const without: string[] = [];
  const reads = operations.filter(([, { method, stream }]) => method === 'GET' && stream !== 'text/event-stream');
  for (const [operation_id, operation] of reads) {
    const { as, ...scenario } = await scenarios[operation_id](tenants);
    const parts = scenario as Parts;
    clock.advance(CACHE_OVER_MS);
    const scan = async (caller: Caller, request: Parts) => {
      const answer = await ask(caller, operation, request);
      assert.deepEqual(secretsIn(JSON.stringify(answer), secrets), [], operation_id);
      return answer;
    };
    const answer = await scan(as ?? test.bearer(null), parts);
    assert.equal(answer.status, operation.status, `${operation_id}: ${JSON.stringify(answer.body)}`);
    const names = paramsOf(operation);
    if (as === null || !names.every((name) => name in made)) continue;
    const own = Object.fromEntries(names.map((name) => [name, made[name] ?? '']));
    const query = parts.query?.['id'] === undefined ? parts.query : { ...parts.query, id };
    const request = { ...parts, params: own, ...(query === undefined ? {} : { query }) };
    const { status } = await scan(operation.access === 'platform' ? admin : user, request);
    if (status !== operation.status) without.push(operation_id);
  }
  // Nothing of this test was released, and its nodes reported no hardware.
  assert.deepEqual(without.toSorted(), [
    ...['adminNodeDiscoveryFactsGet', 'adminNodeDiscoveryGet', 'adminNodeInventoryGet'],
    'allocationWipeCertificateGet',
  ]);
  const metrics = await test.bearer(env.GPUAAS_METRICS_TOKEN).get('/metrics');
  assert.deepEqual([metrics.status, secretsIn(JSON.stringify(metrics), secrets)], [200, []]);
  assert.deepEqual(await scanDatabase(sql, secrets), []);
  assert.deepEqual(secretsIn(JSON.stringify(test.logs), secrets), []);
  // Only the tenant can read its terminal output.
  const recording = await user.get(
    `/api/v1/projects/${tenant.project_id}/allocations/${stage.allocation.id}/sessions/${session.session_id}/recording`,
  );
  assert.deepEqual([recording.status, secretsIn(String(recording.body), secrets)], [200, ['shown']]);
});
