import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { addNode, enrollAgent, type TestAgent } from '../../test/agent.ts';
import { useChannel } from '../../test/channel.ts';
import { startConsoleApp } from '../../test/console.ts';
import { asEnd, asRefused, joinedGateway } from '../../test/gateway.ts';
import { aCatalog, anAllocation, aSlot } from '../../test/placement.ts';
import { CACHE_OVER_MS, must } from '../../test/tenants.ts';
import { until } from '../../test/until.ts';
import { listNodesLacking, listQueuedTasks, lockQueuedTasks } from '../db/agent-task.ts';
import { PLATFORM } from '../db/client.ts';
import { redispatchTasks } from '../db/node-task.ts';
import type { IdentityChange } from '../domain/identity-change.ts';
import { createIdentityFile, identityFileOf } from '../ports/objects/identity-file.ts';
import { expireTasks } from '../reconcilers/expire-tasks.ts';

const WIPE = { kind: 'node.cleanup', params: { allocation_id: null, disks: [], slots: [] } };
const RESTORE = '/api/v1/admin/restore';
const LONG_AGO = '2020-01-01T00:00:00.000Z';
const NOTHING = {
  ...{ api_tokens: 0, service_account_secrets: 0, web_sessions: 0, terminal_sessions: 0, invitations: 0 },
  ...{ enrollments: 0, node_certificates: 0 },
};

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

  it('a time in the future is refused', async () => {
    const admin = await channel().test.admin();
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    assert.equal((await admin.post(RESTORE, { reason: 'x', older_than: tomorrow })).status, 400);
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

  it('each query for tasks leaves the held ones out, so that none relies on another that ran before the hold', async () => {
    const { database } = channel().test.db;
    const agent = await channel().join();
    const sent = await channel().ask(agent.node_id, WIPE);
    await until('it is sent', async () => (await received(agent)).includes(sent));
    await until('it is marked', async () => (await channel().stateOf(sent)).state === 'dispatched');
    const queued = await channel().ask(agent.node_id, WIPE);
    const lost = [{ node_id: agent.node_id, journaled_task_ids: [] }];
    /** As by a process that found or took them at this moment; nothing of it is kept. */
    const seen = () =>
      database
        .write(PLATFORM, async (tx) => {
          const found = (await listQueuedTasks(tx, [agent.node_id], 10)).get(agent.node_id) ?? [];
          const taken = (await lockQueuedTasks(tx, [queued])).map(({ id }) => id);
          const lacking = await listNodesLacking(tx, lost);
          const again = (await redispatchTasks(tx, lost, 0)).map(({ id }) => id);
          throw Object.assign(new Error('undone'), { seen: { found, taken, lacking, again } });
        })
        .catch((err: Error & { seen?: object }) => err.seen ?? assert.fail(err));
    const all = { found: [queued], taken: [queued], lacking: [agent.node_id], again: [sent] };
    assert.deepEqual(await seen(), all);
    await begin();
    assert.deepEqual(await seen(), { found: [], taken: [], lacking: [], again: [] });
    await findings(agent.node_id, 0);
    assert.equal((await release(agent.node_id)).status, 200);
    assert.deepEqual(await seen(), all);
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

  it('tasks that install SSH keys are held too, and the keys are listed', async () => {
    const agent = await channel().join();
    const { test } = channel();
    const sql = new Client({ connectionString: test.db.ownerUrl });
    await sql.connect();
    await aCatalog(sql);
    const slot = await aSlot(sql, agent.node_id, 0, { region_name: 'us-buffalo-1' });
    const { id } = await anAllocation(sql, { node: { id: agent.node_id, slot_ids: [slot] }, state: 'active' });
    const { me } = await test.user('gone');
    await sql.query(
      `insert into allocation_access_grants (id, organization_id, project_id, allocation_id, user_id, user_name, ssh_key_id, public_key,
         fingerprint, granted_by, correlation_id)
       select 'grt_' || substr(a.id, 5), a.organization_id, a.project_id, a.id, $2, 'gone', 'key_gone', 'ssh-ed25519 AAAA', 'SHA256:gone',
         $2, 'test' from allocations a where a.id = $1`,
      [id, me.id],
    );
    await sql.query('update nodes set occupancy = $2 where id = $1', [agent.node_id, 'sliced']);
    const status = await begin({ older_than: LONG_AGO });
    const held = status.held_nodes.find(({ node_id }: { node_id: string }) => node_id === agent.node_id);
    assert.deepEqual(held.ssh_keys, [
      { allocation_id: id, user_id: me.id, user_name: 'gone', fingerprint: 'SHA256:gone' },
    ]);
    const params = { allocation_id: id, username: null, ssh_public_keys: ['ssh-ed25519 AAAA'] };
    const install = await channel().ask(agent.node_id, { kind: 'allocation.install_authorized_keys', params });
    const probe = await channel().ask(agent.node_id);
    await until('the probe is sent', async () => (await received(agent)).includes(probe));
    assert.equal((await channel().stateOf(install)).state, 'queued');
    await findings(agent.node_id, 0);
    assert.equal((await release(agent.node_id)).status, 200);
    await until('the keys are installed', async () => (await received(agent)).includes(install));
    await sql.end();
    agent.close();
  });

  it('changes of identities since the backup are listed from the file outside the database', async () => {
    const { config } = channel().test.app.deps;
    const file = createIdentityFile<IdentityChange>(identityFileOf(config.audit_heads_file));
    const change = { at: '2026-01-01T00:00:00.000Z', action: 'organization.member.remove', target_kind: 'user' };
    const known = { ...change, target_id: 'usr_1', actor_id: 'usr_2', organization_id: 'org_lost' };
    await file.append([{ chain: 'org_lost', sequence: 9, ...known }]);
    const { restore } = await begin({ older_than: LONG_AGO });
    assert.deepEqual(
      restore.identity_changes.filter(
        ({ organization_id }: { organization_id: string }) => organization_id === 'org_lost',
      ),
      [known],
    );
  });

  it('certificates of nodes end only where the operator asks for it', async () => {
    const agent = await channel().join();
    assert.equal((await begin()).restore.ended.node_certificates, 0);
    assert.equal((await agent.wait({ wait_s: 0 })).status, 200);
    const { restore } = await begin({ ends_certificates: true });
    assert.ok(restore.ended.node_certificates >= 1);
    await until('the certificate is refused', () =>
      agent.wait({ wait_s: 0 }).then(
        ({ status }) => status !== 200,
        () => true,
      ),
    );
    agent.close();
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

  it('tokens, client secrets, invitations and enrollment tokens that are older end', async () => {
    const { test, url } = channel();
    const [admin, guest] = [await test.admin(), await test.user('guest')];
    const tokenOf = async (name: string) =>
      must(await admin.post('/api/v1/tokens', { name, scopes: ['read'], expires_in_s: 3600 }), 201).body.token;
    const old = test.bearer(await tokenOf('old'));
    assert.equal((await old.get('/api/v1/me')).status, 200);

    const accounts = `/api/v1/projects/${admin.project_id}/service-accounts`;
    const { service_account, client_secret } = must(await admin.post(accounts, { name: 'machine' }), 201).body;
    const rotate = async (): Promise<string> =>
      must(await admin.post(`${accounts}/${service_account.id}/secret/rotate`, { overlap_s: 600 }), 200).body
        .client_secret;
    const secrets = [client_secret, await rotate()];
    const useSecrets = async (all: readonly string[]) => {
      const statuses: number[] = [];
      for (const secret of all) {
        const asked = { grant_type: 'client_credentials', client_id: service_account.id, client_secret: secret };
        statuses.push((await test.bearer(null).call('POST', '/api/v1/auth/token', asked)).status);
      }
      return statuses;
    };
    assert.deepEqual(await useSecrets(secrets), [200, 200], 'the previous one counts for a while');

    const organization = must(await admin.post('/api/v1/organizations', { name: 'restored' }), 201).body.id;
    const invite = async (): Promise<string> =>
      must(
        await admin.post(`/api/v1/organizations/${organization}/invitations`, {
          email: guest.me.email,
          role: 'viewer',
        }),
        201,
      ).body.token;
    const accept = (token: string) => guest.post('/api/v1/invitations/accept', { token });
    const invited = await invite();
    const { enrollment } = await addNode(test);

    assert.deepEqual((await begin({ older_than: LONG_AGO, ends_certificates: true })).restore.ended, NOTHING);
    const { ended } = (await begin()).restore;
    await until('the cache of principals is over', async () => (await old.get('/api/v1/me')).status === 401);
    assert.deepEqual(await useSecrets(secrets), [401, 401]);
    assert.match((await accept(invited)).body.detail, /already revoked/);
    await assert.rejects(enrollAgent(url, enrollment), /nodeEnroll/);
    const counted = ['api_tokens', 'service_account_secrets', 'invitations', 'enrollments'];
    assert.deepEqual(
      counted.filter((kind) => ended[kind] < 1),
      [],
    );

    assert.equal((await test.bearer(await tokenOf('new')).get('/api/v1/me')).status, 200, 'newer ones work');
    assert.deepEqual(await useSecrets([await rotate()]), [200]);
    assert.equal((await accept(await invite())).status, 200);
    (await channel().join()).close();
  });
});

/** The last opened is closed first. */
const closing = (t: TestContext): Parameters<typeof startConsoleApp>[0] => {
  const closers: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const close of closers) await close();
  });
  return { after: (fn) => void closers.unshift(fn) };
};

test('after a restore, browsers sign in again, also at the embedded issuer', async (t) => {
  const at = await startConsoleApp(closing(t));
  const admin = await at.signed();
  await at.sql.query("update users set platform_role = 'superadmin'");
  at.clock.advance(CACHE_OVER_MS);
  const user = await at.signed('dev-user');
  const me = async () => (await user.call('GET', '/api/v1/me')).status;
  const signInPage = async () => (await user.browser.open('/auth/sign-in?return_to=/allocations')).text;
  assert.equal(await me(), 200);
  assert.doesNotMatch(await signInPage(), /name="password"/);
  const begin = async (body: object) => {
    const began = await admin.call(
      'POST',
      RESTORE,
      { reason: 'restored', ...body },
      { 'idempotency-key': randomUUID() },
    );
    assert.equal(began.status, 201, JSON.stringify(began.body));
    return began.body.restore.ended;
  };
  assert.deepEqual(await begin({ older_than: LONG_AGO }), NOTHING);
  assert.ok((await begin({})).web_sessions >= 2);
  at.clock.advance(CACHE_OVER_MS);
  assert.equal(await me(), 401);
  assert.match(await signInPage(), /name="password"/);
  assert.equal((await (await at.signed('dev-user')).call('GET', '/api/v1/me')).status, 200, 'a newer one works');
});

test('after a restore, older sessions of the gateway end and older tickets admit none', async (t) => {
  const at = await joinedGateway(closing(t));
  const stage = await at.stage();
  const { client } = await stage.session();
  const { ticket } = await stage.ticket();
  const admin = await at.test.admin();
  const begin = async (body: object) =>
    must(await admin.post(RESTORE, { reason: 'restored', ...body }), 201).body.restore.ended;
  assert.deepEqual(await begin({ older_than: LONG_AGO }), NOTHING);
  assert.equal((await begin({})).terminal_sessions, 2);
  assert.equal((await client.word('closed')).reason, 'revoked');
  assert.equal(asRefused(await stage.client(ticket)).status, 401);
  const fresh = await stage.ticket();
  asEnd(await stage.client(fresh.ticket)).socket.close();
});
