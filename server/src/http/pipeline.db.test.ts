import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { startTestApp, type TestApp } from '../../test/app.ts';

type User = Awaited<ReturnType<TestApp['user']>>;

describe('the pipeline', () => {
  const closers: (() => Promise<void>)[] = [];
  let test: TestApp;
  let ada: User;
  let owner: Client;

  before(async () => {
    test = await startTestApp({ after: (fn) => void closers.unshift(fn) });
    ada = await test.user('ada');
    owner = new Client({ connectionString: test.db.ownerUrl });
    await owner.connect();
  });
  after(async () => {
    await owner.end();
    for (const close of closers) await close();
  });

  const projects = () => `/api/v1/organizations/${ada.organization_id}/projects`;
  const auditRows = async (correlationId: string) =>
    (await owner.query('select * from audit_logs where correlation_id = $1', [correlationId])).rows;

  it('first sign-in creates a personal organization with a default project', () => {
    assert.equal(ada.me.organizations.length, 1);
    assert.equal(ada.me.organizations[0].role, 'owner');
    assert.equal(ada.me.projects[0].name, 'default');
    assert.equal(ada.me.platform_role, null);
  });

  it('two simultaneous first requests create one user', async () => {
    const token = await test.issuer.sign({
      sub: 'twin',
      name: 'Twin',
      email: 'twin@example.com',
      email_verified: true,
    });
    const answers = await Promise.all(Array.from({ length: 8 }, () => test.bearer(token).get('/api/v1/me')));
    assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([200]));
    assert.equal(new Set(answers.map((answer) => answer.body.id)).size, 1);
  });

  it('a mutation commits with exactly one audit row that names actor, policy and correlation id', async () => {
    const correlation = `test-${randomUUID()}`;
    const made = await ada.post(projects(), { name: 'audited' }, { 'x-correlation-id': correlation });
    assert.equal(made.status, 201);
    assert.equal(made.headers['x-correlation-id'], correlation);
    assert.equal((await ada.get(made.headers['location'] ?? '')).body.id, made.body.id);
    const rows = await auditRows(correlation);
    assert.equal(rows.length, 1);
    assert.deepEqual(
      [rows[0].action, rows[0].result, rows[0].actor_id, rows[0].target_id, rows[0].policy, rows[0].organization_id],
      ['project.create', 'success', ada.me.id, made.body.id, 'tenant:owner holds project.create', ada.organization_id],
    );
  });

  it('a refused mutation changes nothing and is audited too', async () => {
    const correlation = `test-${randomUUID()}`;
    assert.equal((await ada.post(projects(), { name: 'twice' })).status, 201);
    const again = await ada.post(projects(), { name: 'twice' }, { 'x-correlation-id': correlation });
    assert.equal(again.status, 409);
    assert.equal(again.body.code, 'already_exists');
    const rows = await auditRows(correlation);
    assert.deepEqual([rows.length, rows[0].result, rows[0].error_code], [1, 'failure', 'already_exists']);
  });

  it('an organization is visible to its creator immediately, although roles are cached', async () => {
    await ada.get(`/api/v1/organizations/${ada.organization_id}`);
    const made = await ada.post('/api/v1/organizations', { name: 'at-once' });
    assert.equal((await ada.get(`/api/v1/organizations/${made.body.id}`)).status, 200);
    const me = await ada.get('/api/v1/me');
    assert.equal(me.body.organizations.find((row: { id: string }) => row.id === made.body.id).role, 'owner');
  });

  it('an unreadable body is audited like any other refusal', async () => {
    for (const [body, code] of [
      ['{"name":', 'invalid_request'],
      ['{"name":"a","name":"b"}', 'invalid_request'],
      [`{"name":"${'a'.repeat(1024 * 1024)}"}`, 'payload_too_large'],
    ] as const) {
      const correlation = `test-${randomUUID()}`;
      const answer = await ada.post(projects(), body, { 'x-correlation-id': correlation });
      assert.equal(answer.body.code, code);
      const rows = await auditRows(correlation);
      assert.deepEqual(
        [rows.length, rows[0].result, rows[0].error_code, rows[0].actor_id],
        [1, 'failure', code, ada.me.id],
      );
    }
  });

  describe('idempotency', () => {
    it('the same key and body give the same response and one effect', async () => {
      const key = randomUUID();
      const first = await ada.post(projects(), { name: 'once' }, { 'idempotency-key': key });
      const second = await ada.post(projects(), { name: 'once' }, { 'idempotency-key': key });
      assert.deepEqual([first.status, second.status], [201, 201]);
      assert.deepEqual(second.body, first.body);
      assert.equal(second.headers['idempotency-replayed'], 'true');
    });

    it('the same key with another body is 422', async () => {
      const key = randomUUID();
      await ada.post(projects(), { name: 'first-body' }, { 'idempotency-key': key });
      const other = await ada.post(projects(), { name: 'second-body' }, { 'idempotency-key': key });
      assert.deepEqual([other.status, other.body.code], [422, 'idempotency_key_reused']);
    });

    it('a missing key is 400 and a malformed one too', async () => {
      const missing = await ada.call('POST', projects(), { name: 'keyless' });
      assert.deepEqual([missing.status, missing.body.code], [400, 'idempotency_key_missing']);
      const malformed = await ada.call(
        'POST',
        projects(),
        { name: 'keyless' },
        { 'idempotency-key': 'a b c d e f g h' },
      );
      assert.deepEqual([malformed.status, malformed.body.code], [400, 'invalid_request']);
    });

    it('a key that is still in flight is 409 and may be retried', async () => {
      const key = randomUUID();
      const answers = await Promise.all(
        Array.from({ length: 6 }, () => ada.post(projects(), { name: 'race' }, { 'idempotency-key': key })),
      );
      const created = answers.filter((answer) => answer.status === 201);
      const busy = answers.filter((answer) => answer.status === 409);
      assert.equal(created.length + busy.length, answers.length);
      assert.equal(new Set(created.map((answer) => answer.body.id)).size, 1);
      for (const answer of busy)
        assert.deepEqual([answer.body.code, answer.body.retryable], ['idempotency_in_flight', true]);
    });

    it('a stored response is returned to all concurrent requests with its key', async () => {
      const key = { 'idempotency-key': randomUUID() };
      const first = await ada.post(projects(), { name: 'asked-often' }, key);
      const again = await Promise.all(
        Array.from({ length: 8 }, () => ada.post(projects(), { name: 'asked-often' }, key)),
      );
      for (const answer of again) assert.deepEqual([answer.status, answer.body.id], [201, first.body.id]);
    });

    it('another tenant may use the same key', async () => {
      const key = randomUUID();
      const bob = await test.user('bob');
      const mine = await ada.post(projects(), { name: 'shared-key' }, { 'idempotency-key': key });
      const theirs = await bob.post(
        `/api/v1/organizations/${bob.organization_id}/projects`,
        { name: 'shared-key' },
        { 'idempotency-key': key },
      );
      assert.deepEqual([mine.status, theirs.status], [201, 201]);
      assert.notEqual(mine.body.id, theirs.body.id);
    });

    it('a secret is replayed to its owner and is not stored in plain text', async () => {
      const key = randomUUID();
      const body = { name: 'ci', scopes: ['read'], expires_in_s: 3600 };
      const first = await ada.post('/api/v1/tokens', body, { 'idempotency-key': key });
      const second = await ada.post('/api/v1/tokens', body, { 'idempotency-key': key });
      assert.equal(second.body.token, first.body.token);
      const secret = String(first.body.token).slice('gpuaas_pat_'.length);
      for (const table of ['idempotency_keys', 'api_tokens', 'audit_logs', 'outbox_events']) {
        const found = await owner.query(
          `select count(*)::int as n from ${table} t where position($1 in t::text) > 0 or position($2 in t::text) > 0`,
          [secret, Buffer.from(secret).toString('hex')],
        );
        assert.equal(found.rows[0].n, 0, table);
      }
      assert.equal(JSON.stringify(test.logs).includes(secret), false);
    });
  });

  describe('optimistic concurrency', () => {
    it('an update needs the ETag it read, and a stale one is 412', async () => {
      const made = await ada.post(projects(), { name: 'versioned' });
      const path = `/api/v1/projects/${made.body.id}`;
      const read = await ada.get(path);
      assert.equal(read.headers['etag'], '"v1"');
      assert.equal((await ada.call('GET', path, undefined, { 'if-none-match': '"v1"' })).status, 304);
      assert.equal((await ada.call('PATCH', path, { display_name: 'A' })).status, 428);
      assert.equal((await ada.call('PATCH', path, { display_name: 'A' }, { 'if-match': '"v1"' })).status, 200);
      const stale = await ada.call('PATCH', path, { display_name: 'B' }, { 'if-match': '"v1"' });
      assert.deepEqual([stale.status, stale.body.code], [412, 'precondition_failed']);
      assert.match(stale.body.detail, /"v2"/);
    });
  });

  describe('pages', () => {
    it('return every row once in a stable order', async () => {
      const grace = await test.user('grace');
      const path = `/api/v1/organizations/${grace.organization_id}/projects`;
      for (let n = 0; n < 7; n++) assert.equal((await grace.post(path, { name: `p-${n}` })).status, 201);
      const seen: string[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page = await grace.get(`${path}?limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`);
        assert.equal(page.status, 200);
        seen.push(...page.body.items.map((item: { id: string }) => item.id));
        cursor = page.body.next_cursor;
      }
      assert.equal(seen.length, 8);
      assert.deepEqual(seen, [...new Set(seen)].sort());
    });

    it("another tenant's cursor is 404 and a malformed one 400", async () => {
      const grace = await test.user('grace');
      const page = await grace.get(`/api/v1/organizations/${grace.organization_id}/projects?limit=1`);
      const foreign = await ada.get(`${projects()}?cursor=${page.body.next_cursor}`);
      assert.deepEqual([foreign.status, foreign.body.code], [404, 'not_found']);
      for (const cursor of ['x', 'bnVsbA', Buffer.from('["projectList","",{}]').toString('base64url'), '%00'])
        assert.equal((await ada.get(`${projects()}?cursor=${cursor}`)).status, 400, cursor);
    });
  });

  it('an unknown path is 404 and a wrong method 405, in the same envelope', async () => {
    const missing = await ada.get('/api/v1/nothing');
    assert.deepEqual([missing.status, missing.body.code], [404, 'not_found']);
    const wrong = await ada.call('DELETE', '/api/v1/me');
    assert.deepEqual([wrong.status, wrong.body.code, wrong.headers['allow']], [405, 'method_not_allowed', 'GET']);
    for (const answer of [missing, wrong]) assert.ok(answer.body.correlation_id);
  });

  it('a caller over its limit is 429 with Retry-After, and others are not affected', async () => {
    const closing: (() => Promise<void>)[] = [];
    const small = await startTestApp({ after: (fn) => void closing.unshift(fn) }, { rate_limit_per_minute: 3 });
    try {
      const [one, two] = [await small.user('one'), await small.user('two')];
      const statuses: number[] = [];
      for (let n = 0; n < 4; n++) statuses.push((await one.get('/api/v1/regions')).status);
      assert.ok(statuses.includes(429));
      const refused = await one.get('/api/v1/regions');
      assert.equal(refused.body.code, 'rate_limited');
      assert.ok(Number(refused.headers['retry-after']) > 0);
      assert.equal((await two.get('/api/v1/regions')).status, 200);
    } finally {
      for (const close of closing) await close();
    }
  });
});
