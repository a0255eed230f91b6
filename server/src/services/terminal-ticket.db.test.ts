import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { aSession } from '../../test/access.ts';
import { type Caller, startTestApp, type TestResponse, testClock } from '../../test/app.ts';
import { type AllocationFacts, aNode, anAllocation, type TestAllocation } from '../../test/placement.ts';
import { newActive } from '../../test/scenarios-allocation.ts';
import { auditRowsOf, CACHE_OVER_MS, makeTenants, must, type Tenants } from '../../test/tenants.ts';
import { SESSIONS_MAX } from '../domain/session.ts';

describe('a ticket', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let tenants: Tenants;
  let slice: TestAllocation;

  before(async () => {
    const clock = testClock();
    tenants = await makeTenants(t, await startTestApp(t, {}, { clock }), clock);
    slice = await newActive(tenants);
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const path = (id: string) => `/api/v1/projects/${tenants.acme.ids.project_id}/allocations/${id}/terminal-ticket`;
  const ask = (caller: Caller, body: unknown, id = slice.id): Promise<TestResponse> =>
    caller.call('POST', path(id), body);
  const actor = (name: string): Caller => tenants.actors[name]?.caller ?? assert.fail(name);
  const rowOf = async (answer: TestResponse) =>
    (
      await tenants.sql.query(
        `select *, extract(epoch from ticket_expires_at - created_at)::float8 as ticket_s,
           extract(epoch from expires_at - created_at)::float8 as session_s from terminal_sessions where id = $1`,
        [must(answer, 201).body.session_id],
      )
    ).rows[0];
  const inState = async (facts: Omit<AllocationFacts, 'node' | 'tenant'>): Promise<string> => {
    const { organization_id, project_id } = tenants.acme.ids;
    return (
      await anAllocation(tenants.sql, {
        node: await aNode(tenants.sql),
        tenant: { organization_id, project_id },
        ...facts,
      })
    ).id;
  };
  const setPolicy = async (change: Readonly<Record<string, unknown>>): Promise<void> => {
    const url = `/api/v1/organizations/${tenants.acme.organization_id}/access-policy`;
    const { version } = must(await tenants.acme.owner.get(url), 200).body;
    must(await tenants.acme.owner.call('PATCH', url, change, { 'if-match': `"v${version}"` }), 200);
  };
  const tokenOf = async (body: Readonly<Record<string, unknown>>): Promise<Caller> =>
    tenants.test.bearer(
      must(await tenants.acme.owner.post('/api/v1/tokens', { name: 'for sessions', ...body }), 201).body.token,
    );

  it('is stored only as its hash, for half a minute, and returned with the gateway address', async () => {
    const answer = await ask(tenants.acme.owner, { kind: 'forward', port: 8888, cols: 120 });
    const { ticket, url } = must(answer, 201).body;
    assert.match(ticket, /^[A-Za-z0-9_-]{43}$/);
    assert.equal(url, `${tenants.test.app.deps.config.gateway.public_url}/v1/stream`);
    assert.equal(answer.headers['cache-control'], 'no-store');
    const row = await rowOf(answer);
    assert.deepEqual(row.ticket_hash, createHash('sha256').update(ticket).digest());
    assert.deepEqual(
      [row.state, row.kind, row.port, row.cols, row.rows, row.is_writable, row.principal_id, row.node_id],
      ['ticketed', 'forward', 8888, 120, 24, true, tenants.acme.owner.me.id, slice.node_id],
    );
    assert.ok(Math.abs(row.ticket_s - 30) < 1);
    assert.ok(Math.abs(row.session_s - 14_400) < 1);
    const audited = await auditRowsOf(tenants, answer.headers['x-correlation-id'] ?? '');
    assert.deepEqual([audited[0].action, audited[0].target_id], ['allocation.session.ticket', row.id]);
    assert.ok(!JSON.stringify([audited, row]).includes(ticket), 'the ticket stands nowhere');
  });

  it('names a port exactly for a forward', async () => {
    for (const body of [{ kind: 'forward' }, { kind: 'ssh', port: 22 }]) {
      const answer = await ask(tenants.acme.owner, body);
      assert.deepEqual([answer.status, answer.body.errors[0].pointer], [400, '/body/port']);
    }
  });

  it('is for a read-only console only, where the role or the scopes allow nothing more', async () => {
    const narrow = await tokenOf({ scopes: ['allocation.read', 'allocation.session.create'], expires_in_s: 3600 });
    for (const caller of [actor('viewer'), actor('project_viewer'), narrow]) {
      const console = must(await ask(caller, { kind: 'console' }), 201);
      assert.equal(console.body.is_writable, false);
      assert.equal((await rowOf(console)).is_writable, false);
      for (const body of [{ kind: 'terminal' }, { kind: 'ssh' }, { kind: 'forward', port: 80 }])
        assert.equal((await ask(caller, body)).status, 403);
    }
    for (const name of ['project_member', 'project_admin', 'admin'])
      assert.equal(must(await ask(actor(name), { kind: 'console' }), 201).body.is_writable, true);
  });

  it('is for a read-only console until the slice is active, whoever asks', async () => {
    for (const state of ['requested', 'provisioning'] as const) {
      const booting = await inState({ state });
      const early = await ask(tenants.acme.owner, { kind: 'console' }, booting);
      assert.deepEqual([must(early, 201).body.is_writable, (await rowOf(early)).is_writable], [false, false]);
    }
    assert.equal(must(await ask(tenants.acme.owner, { kind: 'console' }), 201).body.is_writable, true);
  });

  it('is issued to service accounts exactly where the organization allows them', async () => {
    const machine = actor('service_account');
    const refused = await ask(machine, { kind: 'ssh' });
    assert.equal(refused.status, 403);
    assert.match(refused.body.detail, /access policy/);
    await setPolicy({ allows_service_accounts: true });
    const row = await rowOf(await ask(machine, { kind: 'ssh' }));
    assert.deepEqual([row.principal_kind, row.credential_id !== null], ['service_account', true]);
    await setPolicy({ allows_service_accounts: false });
  });

  it('is refused for unreachable targets, with the next action', async () => {
    const metal = await inState({ shape: 'baremetal', state: 'active' });
    assert.equal((await ask(tenants.acme.owner, { kind: 'terminal' }, metal)).status, 201);
    assert.equal((await ask(tenants.acme.owner, { kind: 'console' }, metal)).status, 409);
    const early = await inState({ state: 'provisioning' });
    assert.equal((await ask(tenants.acme.owner, { kind: 'console' }, early)).status, 201);
    assert.equal((await ask(tenants.acme.owner, { kind: 'ssh' }, early)).status, 409);
    const off = await inState({ state: 'active', name: 'asleep' });
    await tenants.sql.query("update allocations set power_state = 'off' where id = $1", [off]);
    const refused = await ask(tenants.acme.owner, { kind: 'ssh' }, off);
    assert.equal(refused.status, 409);
    assert.match(refused.body.detail, /gpuaas allocation start asleep/);
  });

  it('ends its session with its token, and with the sign-in where the policy requires it', async () => {
    const token = await tokenOf({ scopes: ['all'], expires_in_s: 600 });
    const byToken = await rowOf(await ask(token, { kind: 'ssh' }));
    assert.ok(byToken.session_s < 601 && byToken.credential_id !== null, `${byToken.session_s}`);
    const before = await rowOf(await ask(tenants.acme.owner, { kind: 'ssh' }));
    assert.ok(before.session_s > 14_000 && before.credential_id === null);
    await setPolicy({ ends_with_sign_in: true, session_max_s: 86_400 });
    const bounded = await rowOf(await ask(tenants.acme.owner, { kind: 'ssh' }));
    assert.equal(bounded.expires_at, bounded.credential_expires_at);
    await setPolicy({ ends_with_sign_in: false, session_max_s: 300 });
    assert.ok(Math.abs((await rowOf(await ask(tenants.acme.owner, { kind: 'ssh' }))).session_s - 300) < 1);
    await setPolicy({ session_max_s: 14_400 });
  });

  it('states that a terminal is recorded where it is, and records nothing else', async () => {
    await setPolicy({ records_terminals: true });
    const terminal = await ask(tenants.acme.owner, { kind: 'terminal' });
    assert.match(must(terminal, 201).body.notice, /is recorded/);
    assert.equal((await rowOf(terminal)).is_recorded, true);
    const ssh = await ask(tenants.acme.owner, { kind: 'ssh' });
    assert.deepEqual([ssh.body.notice, (await rowOf(ssh)).is_recorded], [null, false]);
    await setPolicy({ records_terminals: false });
  });

  it('is for a recorded terminal only, where the policy forbids unrecorded access', async () => {
    await setPolicy({ requires_recording: true });
    const terminal = await ask(tenants.acme.owner, { kind: 'terminal' });
    assert.match(must(terminal, 201).body.notice, /is recorded/);
    assert.equal((await rowOf(terminal)).is_recorded, true);
    for (const body of [{ kind: 'ssh' }, { kind: 'console' }, { kind: 'forward', port: 8080 }]) {
      const refused = await ask(tenants.acme.owner, body);
      assert.deepEqual([refused.status, refused.body.code], [403, 'policy_denied'], body.kind);
      assert.match(refused.body.detail, /^The access policy of the organization forbids .*gpuaas terminal/);
      assert.doesNotMatch(refused.body.help ?? '', /for a role/);
    }
    await setPolicy({ requires_recording: false });
  });

  it('follows a project that is stricter than its organization; a project that is not changes nothing', async () => {
    const path = `/api/v1/projects/${tenants.acme.ids.project_id}`;
    const setProject = async (body: object) => {
      const { version } = must(await tenants.acme.owner.get(path), 200).body;
      return must(await tenants.acme.owner.call('PATCH', path, body, { 'if-match': `"v${version}"` }), 200).body;
    };
    assert.equal((await setProject({ requires_recording: true })).requires_recording, true);
    const refused = await ask(tenants.acme.owner, { kind: 'ssh' });
    assert.deepEqual([refused.status, refused.body.code], [403, 'policy_denied']);
    assert.match(refused.body.detail, /^This project forbids .*admin of the project/);
    assert.equal((await rowOf(await ask(tenants.acme.owner, { kind: 'terminal' }))).is_recorded, true);
    await setProject({ requires_recording: false, records_terminals: true });
    assert.equal((await rowOf(await ask(tenants.acme.owner, { kind: 'terminal' }))).is_recorded, true);
    must(await ask(tenants.acme.owner, { kind: 'ssh' }), 201);
    await setProject({ records_terminals: false });
    await setPolicy({ requires_recording: true });
    assert.match((await ask(tenants.acme.owner, { kind: 'ssh' })).body.detail, /policy of the organization/);
    await setPolicy({ requires_recording: false });
    must(await ask(tenants.acme.owner, { kind: 'ssh' }), 201);
  });

  it('is refused above the session limit of an allocation; ended and unused ones do not count', async () => {
    const full = await newActive(tenants);
    const first = await aSession(tenants.sql, full, { state: 'open', principal_id: 'usr_x' });
    await tenants.sql.query(
      `insert into terminal_sessions select (jsonb_populate_record(s, jsonb_build_object('id', s.id || n))).*
       from terminal_sessions s, generate_series(2, $2) n where s.id = $1`,
      [first, SESSIONS_MAX],
    );
    const refused = await ask(tenants.acme.owner, { kind: 'ssh' }, full.id);
    assert.deepEqual([refused.status, refused.body.code], [409, 'conflict']);
    await tenants.sql.query(
      "update terminal_sessions set state = 'ticketed', ticket_expires_at = now() - interval '1 second' where id = $1",
      [first],
    );
    assert.equal((await ask(tenants.acme.owner, { kind: 'ssh' }, full.id)).status, 201);
    assert.equal((await ask(tenants.acme.owner, { kind: 'ssh' }, full.id)).status, 409);
    tenants.clock.advance(CACHE_OVER_MS);
  });
});

it('tickets are limited per principal, separately from other requests', async (t) => {
  const test = await startTestApp(t, { ticket_rate_per_minute: 2 });
  const [one, other] = [await test.user('one'), await test.user('other')];
  const ask = (caller: typeof one) =>
    caller.call('POST', `/api/v1/projects/${caller.project_id}/allocations/alc_${'0'.repeat(26)}/terminal-ticket`, {
      kind: 'ssh',
    });
  const statuses = [await ask(one), await ask(one), await ask(one), await ask(other)].map(({ status }) => status);
  assert.deepEqual(statuses, [404, 404, 429, 404]);
  assert.ok(Number((await ask(one)).headers['retry-after']) > 0);
  assert.equal((await one.get('/api/v1/me')).status, 200);
});
