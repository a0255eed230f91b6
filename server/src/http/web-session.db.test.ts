import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { type ConsoleApp, type Signed, startConsoleApp } from '../../test/console.ts';
import { CACHE_OVER_MS } from '../../test/tenants.ts';
import { until } from '../../test/until.ts';

describe('a signed-in browser', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let at: ConsoleApp;
  let user: Signed;
  let me: ReturnType<typeof JSON.parse>;

  before(async () => {
    at = await startConsoleApp(t);
    user = await at.signed();
    me = (await user.call('GET', '/api/v1/me')).body;
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const later = () => at.clock.advance(CACHE_OVER_MS);
  const status = async (call: Signed['call']) => (await call('GET', '/api/v1/me')).status;
  const change = (token: string, set: string) =>
    at.sql.query(`update web_sessions set ${set} where token_hash = sha256($1::text::bytea)`, [token]);
  const seenAt = async (token: string): Promise<{ idle_s: number; seen_s: number }> =>
    (
      await at.sql.query(
        `select extract(epoch from idle_expires_at - clock_timestamp())::float8 as idle_s,
           extract(epoch from clock_timestamp() - last_seen_at)::float8 as seen_s
         from web_sessions where token_hash = sha256($1::text::bytea)`,
        [token],
      )
    ).rows[0];

  it('reads and changes as its user, with an audit row for the user', async () => {
    const made = await user.call(
      'POST',
      '/api/v1/tokens',
      { name: 'ci', scopes: ['read'], expires_in_s: 7_776_000 },
      {
        'idempotency-key': randomUUID(),
      },
    );
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const days = (Date.parse(made.body.api_token.expires_at) - Date.now()) / 86_400_000;
    assert.ok(days > 89, 'a token outlives the sign-in that made it');
    const audit = await at.sql.query('select actor_kind, actor_id from audit_logs where correlation_id = $1', [
      made.headers['x-correlation-id'],
    ]);
    assert.deepEqual(audit.rows, [{ actor_kind: 'user', actor_id: me.id }]);
  });

  describe('blocks requests from other sites', () => {
    const body = { name: 'planted', scopes: ['all'], expires_in_s: 3600 };
    const post = (headers: Record<string, string | null>) =>
      user.call('POST', '/api/v1/tokens', body, { 'idempotency-key': randomUUID(), ...headers });

    const refusals: Readonly<Record<string, Readonly<{ headers: Record<string, string | null>; says: RegExp }>>> = {
      'without the console’s header': { headers: { 'x-gpuaas-console': null }, says: /x-gpuaas-console: 1/ },
      'with the header empty': { headers: { 'x-gpuaas-console': '' }, says: /x-gpuaas-console: 1/ },
      'from a foreign origin': { headers: { origin: 'https://evil.example' }, says: /evil\.example/ },
      'from an origin that hides itself': { headers: { origin: 'null' }, says: /only http:\/\/localhost/ },
      'across sites': { headers: { 'sec-fetch-site': 'cross-site' }, says: /Another site/ },
      'from a sibling domain': { headers: { 'sec-fetch-site': 'same-site' }, says: /Another site/ },
      'from the address bar': { headers: { 'sec-fetch-site': 'none' }, says: /Another site/ },
    };
    for (const [what, { headers, says }] of Object.entries(refusals))
      it(`a change ${what} is refused`, async () => {
        const answer = await post(headers);
        assert.deepEqual([answer.status, answer.body.code], [403, 'permission_denied']);
        assert.match(answer.body.detail, says);
      });

    it('a form of another site is refused, as the browser sends it', async () => {
      const form = { 'content-type': 'application/x-www-form-urlencoded', 'x-gpuaas-console': null };
      for (const [method, path] of [
        ['POST', '/api/v1/tokens'],
        ['POST', '/auth/sign-out'],
        ['POST', '/api/v1/organizations'],
      ] as const) {
        const answer = await user.call(method, path, 'name=x', {
          ...form,
          origin: 'https://evil.example',
          'sec-fetch-site': 'cross-site',
          'sec-fetch-mode': 'navigate',
        });
        assert.equal(answer.status, 403, path);
        assert.deepEqual(answer.headers['set-cookie'], undefined, path);
      }
      assert.equal(await status(user.call), 200, 'no user was signed out');
    });

    it('a preflight request gets no permission', async () => {
      const answer = await user.call('OPTIONS', '/api/v1/tokens', undefined, {
        origin: 'https://evil.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-gpuaas-console',
      });
      assert.notEqual(answer.status, 200);
      assert.deepEqual(
        Object.keys(answer.headers).filter((name) => name.startsWith('access-control')),
        [],
      );
    });

    it('a read is refused to pages of other sites, and accepted when a user opens the address', async () => {
      const get = (site: string, mode: string) =>
        user.call('GET', '/api/v1/me', undefined, {
          'x-gpuaas-console': null,
          origin: null,
          'sec-fetch-site': site,
          'sec-fetch-mode': mode,
        });
      const found: Record<string, number> = {};
      for (const [site, mode] of [
        ['cross-site', 'no-cors'],
        ['cross-site', 'cors'],
        ['same-site', 'cors'],
        ['cross-site', 'navigate'],
        ['none', 'navigate'],
        ['same-origin', 'cors'],
      ] as const)
        found[`${site} ${mode}`] = (await get(site, mode)).status;
      assert.deepEqual(found, {
        'cross-site no-cors': 403,
        'cross-site cors': 403,
        'same-site cors': 403,
        'cross-site navigate': 200,
        'none navigate': 200,
        'same-origin cors': 200,
      });
    });

    it('a client without browser headers is accepted with cookie and header alone', async () => {
      const answer = await post({ origin: null, 'sec-fetch-site': null, 'sec-fetch-mode': null });
      assert.equal(answer.status, 201);
    });

    it('a bearer token needs none of it, and overrides the cookie', async () => {
      const { token } = (await user.call('POST', '/api/v1/tokens', body, { 'idempotency-key': randomUUID() })).body;
      const foreign = { 'x-gpuaas-console': null, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
      const answer = await user.call('GET', '/api/v1/me', undefined, { ...foreign, authorization: `Bearer ${token}` });
      assert.deepEqual([answer.status, answer.body.credential.kind], [200, 'api_token']);
      const wrong = await user.call('GET', '/api/v1/me', undefined, { authorization: 'Bearer nonsense' });
      assert.equal(wrong.status, 401, 'a bad header is not saved by a good cookie');
      const crossed = await user.call('GET', '/api/v1/me', undefined, {
        cookie: null,
        authorization: `Bearer ${user.token}`,
      });
      assert.equal(crossed.status, 401, 'a cookie’s value is no bearer token');
      assert.equal(await status(at.holder(token)), 401, 'a bearer token is no session');
    });
  });

  it('leaves no response in a cache, in a browser or on the way', async () => {
    const project = me.projects[0].id;
    for (const path of [
      '/api/v1/me',
      `/api/v1/projects/${project}`,
      '/api/v1/admin/nodes',
      '/api/v1/nothing',
      '/gone',
    ]) {
      const { headers } = await user.call('GET', path);
      assert.equal(headers['cache-control'], 'no-store', path);
    }
  });

  it('ends after the idle time', async () => {
    const { token, call } = await at.signed();
    assert.equal(await status(call), 200);
    await change(token, "idle_expires_at = clock_timestamp() - interval '1 second'");
    later();
    const answer = await call('GET', '/api/v1/me');
    assert.deepEqual([answer.status, answer.body.code], [401, 'unauthenticated']);
    assert.match(answer.body.detail, /Sign in again/);
  });

  it('ends at its maximum duration, regardless of use', async () => {
    const { token, call } = await at.signed();
    await change(
      token,
      `expires_at = clock_timestamp() + interval '90 seconds', idle_expires_at = clock_timestamp() + interval '60 seconds',
       last_seen_at = clock_timestamp() - interval '2 minutes'`,
    );
    assert.equal(await status(call), 200);
    await until('its use is written down', async () => (await seenAt(token)).seen_s < 60);
    const { idle_s } = await seenAt(token);
    assert.ok(idle_s > 61 && idle_s <= 90, `never beyond its end: ${idle_s}`);
    await change(token, 'expires_at = clock_timestamp(), idle_expires_at = clock_timestamp()');
    later();
    assert.equal(await status(call), 401);
  });

  it('is extended by use, which is stored once a minute; unattended requests do not count as use', async () => {
    const { token, call } = await at.signed();
    const project = (await call('GET', '/api/v1/me')).body.projects[0].id;
    await change(token, "last_seen_at = clock_timestamp() - interval '10 minutes'");
    await change(token, "idle_expires_at = clock_timestamp() + interval '10 minutes'");
    assert.equal(await status(call), 200);
    assert.ok((await seenAt(token)).seen_s > 60, 'within the minute nothing is written');
    at.clock.advance(61_000);
    for (const path of ['/api/v1/me', '/api/v1/admin/nodes'])
      await call('GET', path, undefined, { 'x-gpuaas-unattended': '1' });
    await at.signed();
    assert.ok((await seenAt(token)).seen_s > 60, 'requests of the page without a user do not count as use');
    const leave = new AbortController();
    const stream = await fetch(`${at.origin}/api/v1/projects/${project}/events/stream`, {
      headers: { cookie: `gpuaas_session=${token}`, accept: 'text/event-stream' },
      signal: leave.signal,
    });
    assert.equal(stream.status, 200, 'a stream opens with the cookie');
    await until('its use is written down', async () => (await seenAt(token)).seen_s < 60);
    assert.ok((await seenAt(token)).idle_s > 28_000);
    leave.abort();
  });

  it('is listed newest first, marks the calling session, and can be signed out from another browser', async () => {
    const first = await at.signed('dev-admin');
    const second = await at.signed('dev-admin');
    const list = async (call: Signed['call'], query = '') =>
      (await call('GET', `/api/v1/web-sessions${query}`)).body as {
        items: { id: string; is_current: boolean; user_agent: string; source_ip: string }[];
        next_cursor: string | null;
      };
    const { items } = await list(second.call);
    assert.deepEqual(
      items.map(({ is_current }) => is_current),
      [true, false],
    );
    assert.deepEqual([items[0]?.source_ip, items[0]?.user_agent], ['127.0.0.1', 'node']);
    assert.ok(!JSON.stringify(items).includes(first.token));
    const page = await list(second.call, '?limit=1');
    assert.deepEqual((await list(second.call, `?limit=1&cursor=${page.next_cursor}`)).items[0]?.id, items[1]?.id);
    assert.equal(
      (await list(user.call)).items.some(({ id }) => id === items[0]?.id),
      false,
      'only one’s own',
    );
    const path = `/api/v1/web-sessions/${items[1]?.id}`;
    assert.equal((await user.call('DELETE', path)).status, 404);
    assert.equal((await second.call('DELETE', path)).status, 204);
    later();
    assert.deepEqual([await status(first.call), await status(second.call)], [401, 200]);
    assert.equal((await second.call('DELETE', path)).status, 404);
  });

  it('has its streams ended when it is signed out', async () => {
    const { call, token } = await at.signed();
    const project = (await call('GET', '/api/v1/me')).body.projects[0].id;
    const stream = await fetch(`${at.origin}/api/v1/projects/${project}/events/stream`, {
      headers: { cookie: `gpuaas_session=${token}`, accept: 'text/event-stream' },
    });
    assert.equal((await call('POST', '/auth/sign-out')).status, 200);
    later();
    assert.doesNotMatch(await stream.text(), /keep-alive/, 'it ends at the first look');
  });
});
