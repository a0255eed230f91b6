import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Browser } from '../../test/browser.ts';
import { type ConsoleApp, sessionOf, startConsoleApp } from '../../test/console.ts';
import { CACHE_OVER_MS } from '../../test/tenants.ts';

describe('signing in with a browser', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let at: ConsoleApp;

  before(async () => {
    at = await startConsoleApp(t);
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const auditOf = async (sessionId: string) =>
    (
      await at.sql.query(
        'select actor_kind, actor_id, action, result, organization_id, metadata from audit_logs where target_id = $1 order by id',
        [sessionId],
      )
    ).rows;
  const rowOf = async (token: string) =>
    (await at.sql.query('select * from web_sessions where token_hash = sha256($1::text::bytea)', [token])).rows[0];
  /** A browser returning from the issuer, with the address that it was sent to. */
  const onTheWayBack = async (path = '/auth/sign-in') => {
    const browser = new Browser(at.origin);
    const begun = await browser.open(path);
    const page = await browser.open(begun.leftTo ?? begun.url);
    const back = await browser.submit(page, { username: 'dev-user', password: 'correct horse battery' });
    assert.ok(back.leftTo?.startsWith(`${at.origin}/auth/callback?`), back.text);
    return { browser, callback: back.leftTo ?? '' };
  };

  it('leads to the requested page with an HttpOnly cookie, and creates the user as a token would', async () => {
    const browser = at.browser();
    const page = await at.signIn(browser, 'dev-admin', '/auth/sign-in?return_to=%2Fnodes%3Fstate%3Dactive%23n1');
    assert.equal(page.leftTo, `${at.origin}/nodes?state=active#n1`);
    const cookie = browser.cookies.get('gpuaas_session /');
    assert.match(cookie?.value ?? '', /^gpuaas_ws_[A-Za-z0-9_-]{43}$/);
    assert.equal(cookie?.attributes, 'Path=/; Max-Age=86400; HttpOnly; SameSite=Lax');
    assert.deepEqual(
      [...browser.cookies.keys()].filter((name) => name.includes('sign_in')),
      [],
      'nothing of the sign-in is left',
    );
    const me = await at.holder(cookie?.value ?? '')('GET', '/api/v1/me');
    assert.deepEqual(
      [me.status, me.body.email, me.body.platform_role, me.body.credential.kind, me.body.credential.scopes],
      [200, 'dev-admin@gpuaas.local', 'superadmin', 'web_session', ['all']],
    );
    const row = await rowOf(cookie?.value ?? '');
    assert.equal(me.body.credential.expires_at, row.expires_at);
    assert.deepEqual([row.user_id, row.source_ip], [me.body.id, '127.0.0.1']);
    assert.ok(!JSON.stringify(row).includes(cookie?.value ?? 'none'), 'only the hash is kept');
    const [audit] = await auditOf(row.id);
    assert.deepEqual(
      [audit.actor_kind, audit.actor_id, audit.action, audit.result, audit.organization_id],
      ['user', me.body.id, 'web_session.create', 'success', me.body.organizations[0].id],
    );
  });

  it('stores the sign-in in progress in a sealed cookie for ten minutes', async () => {
    const browser = new Browser(at.origin, /^$/);
    const { leftTo, status, headers } = await browser.open('/auth/sign-in');
    assert.deepEqual([status, headers.get('cache-control')], [303, 'no-store']);
    const asked = new URL(leftTo ?? '').searchParams;
    assert.deepEqual(
      [
        asked.get('code_challenge_method'),
        asked.get('client_id'),
        asked.get('redirect_uri'),
        asked.get('response_type'),
      ],
      ['S256', 'gpuaas-console', `${at.origin}/auth/callback`, 'code'],
    );
    const [[name, cookie] = ['', undefined]] = [...browser.cookies].filter(([key]) =>
      key.startsWith('gpuaas_sign_in_'),
    );
    assert.match(name, / \/$/);
    assert.equal(cookie?.attributes, 'Path=/; Max-Age=600; HttpOnly; SameSite=Lax');
    assert.ok(!Buffer.from(cookie?.value ?? '', 'base64url').includes(asked.get('state') ?? ''), 'it cannot be read');
  });

  it('never redirects to another site, for any return address', async () => {
    for (const wanted of [
      'https://evil.example/',
      '//evil.example',
      '/\\evil.example',
      '/\t/evil.example',
      '/.//evil.example',
      '/%5c/../\\evil.example',
      'javascript:alert(1)',
      '/auth/sign-in',
      'evil.example',
      '\\\\evil.example',
      `/${'a'.repeat(3000)}`,
    ]) {
      const browser = at.browser();
      const page = await at.signIn(browser, 'dev-user', `/auth/sign-in?${new URLSearchParams({ return_to: wanted })}`);
      assert.equal(page.leftTo, `${at.origin}/`, wanted);
    }
    const twice = await at.signIn(at.browser(), 'dev-user', '/auth/sign-in?return_to=/a&return_to=//evil.example');
    assert.equal(twice.leftTo, `${at.origin}/`);
  });

  it('never adopts a planted session, and ends it', async () => {
    const attacker = await at.signed('dev-admin');
    const { id } = await rowOf(attacker.token);
    const victim = at.browser();
    victim.cookies.set('gpuaas_session /', { value: attacker.token, path: '/', attributes: '' });
    await at.signIn(victim, 'dev-user');
    const token = sessionOf(victim) ?? '';
    assert.notEqual(token, attacker.token);
    assert.equal((await at.holder(token)('GET', '/api/v1/me')).body.email, 'dev-user@gpuaas.local');
    assert.equal(await rowOf(attacker.token), undefined);
    assert.deepEqual(
      (await auditOf(id)).map((row) => [row.action, row.actor_kind]),
      [
        ['web_session.create', 'user'],
        ['web_session.revoke', 'system'],
      ],
    );
    at.clock.advance(CACHE_OVER_MS);
    assert.equal((await attacker.call('GET', '/api/v1/me')).status, 401);

    const made = at.browser();
    const planted = `gpuaas_ws_${'a'.repeat(43)}`;
    made.cookies.set('gpuaas_session /', { value: planted, path: '/', attributes: '' });
    await at.signIn(made, 'dev-user');
    assert.notEqual(sessionOf(made), planted);
    assert.equal((await at.holder(planted)('GET', '/api/v1/me')).status, 401);
  });

  it('gives a user who signs in again a new cookie for the same session; the old one is invalid', async () => {
    const first = await at.signed();
    const before = await rowOf(first.token);
    const again = await first.browser.open('/auth/sign-in');
    assert.equal(again.leftTo, `${at.origin}/`, 'the issuer does not ask again');
    const token = sessionOf(first.browser) ?? '';
    assert.notEqual(token, first.token);
    assert.equal((await rowOf(token)).id, before.id);
    at.clock.advance(CACHE_OVER_MS);
    assert.equal((await first.call('GET', '/api/v1/me')).status, 401);
    assert.deepEqual(
      (await auditOf(before.id)).map((row) => [row.action, row.metadata.is_renewed]),
      [
        ['web_session.create', false],
        ['web_session.create', true],
      ],
    );
  });

  it('shows a page with cause, correlation id and a link to start again for every failure', async () => {
    const { browser, callback } = await onTheWayBack('/auth/sign-in?return_to=/launch');
    const stranger = await new Browser(at.origin).open(callback);
    assert.equal(stranger.status, 400);
    assert.match(stranger.text, /started in another browser/);
    assert.ok(stranger.text.includes(stranger.headers.get('x-correlation-id') ?? 'none'));
    assert.match(stranger.text, /<a href="\/auth\/sign-in\?return_to=%2F">Sign in again<\/a>/);
    assert.doesNotMatch(stranger.text, /<script|\bat .*\.ts:/);
    assert.match(stranger.headers.get('content-security-policy') ?? '', /default-src 'none'.*frame-ancestors 'none'/);
    assert.equal(stranger.headers.get('cache-control'), 'no-store');

    const other = await onTheWayBack();
    const mixed = new URL(callback);
    mixed.searchParams.set('state', new URL(other.callback).searchParams.get('state') ?? '');
    const cookie = browser.cookieHeader('/auth/callback');
    assert.equal(
      (await new Browser(at.origin).open(mixed.href, { headers: { cookie } })).status,
      400,
      'a foreign state',
    );

    const good = await browser.open(callback);
    assert.equal(good.leftTo, `${at.origin}/launch`);
    assert.equal((await browser.open(callback)).status, 400, 'used twice');
    const replay = await new Browser(at.origin).open(callback, { headers: { cookie } });
    assert.equal(replay.status, 400, 'used twice with what the browser had then');
    assert.match(replay.text, /already used/);
    assert.match(replay.text, /return_to=%2Flaunch/);
    assert.equal(
      replay.headers.getSetCookie().some((line) => line.startsWith('gpuaas_session=')),
      false,
    );
  });

  it('refuses a user whom the issuer refused', async () => {
    const browser = at.browser();
    const form = await browser.open('/auth/sign-in?return_to=/launch');
    const denied = await browser.submit(form, {}, 'cancel');
    assert.equal(denied.status, 403);
    assert.match(denied.text, /cancelled/);
    assert.equal(sessionOf(browser), undefined);
  });

  it('shows the refusal of the sign-up policy, and a session to a person who waits for approval', async () => {
    const isKnown = "exists (select from users where email = 'dev-user@gpuaas.local')";
    await at.sql.query(
      "update users set subject = 'earlier', email = 'earlier@gpuaas.local' where subject = 'dev-user'",
    );
    await at.sql.query("update site_policy set sign_up = 'closed', contact = 'ops@example.com'");
    const closed = at.browser();
    const page = await at.signIn(closed);
    assert.deepEqual([page.status, sessionOf(closed)], [403, undefined]);
    assert.match(page.text, /<h1>You have no account here<\/h1>/);
    assert.match(page.text, /Sign-up is closed: no new accounts are created here\. Ask ops@example\.com\./);
    assert.match(page.text, /prompt=login/, 'another account may be admitted');
    assert.deepEqual((await at.sql.query(`select ${isKnown} as is_known`)).rows, [{ is_known: false }]);

    await at.sql.query("update site_policy set sign_up = 'invited'");
    assert.match((await at.signIn(at.browser())).text, /no pending invitation for dev-user@gpuaas\.local/);

    await at.sql.query("update site_policy set sign_up = 'approved'");
    const waiting = await at.signed();
    const me = await waiting.call('GET', '/api/v1/me');
    assert.deepEqual([me.body.state, me.body.sign_up_request.state], ['pending', 'pending']);
    assert.equal((await waiting.call('GET', '/api/v1/skus')).status, 403);

    await at.sql.query("update site_policy set sign_up = 'open', contact = null");
    const admitted = await at.signed();
    const { body } = await admitted.call('GET', '/api/v1/me');
    assert.deepEqual([body.state, body.organizations.length], ['active', 1]);
  });

  it('names the setting of the first superadmin on the refusal, only while there is none', async () => {
    await at.sql.query(
      "update users set subject = 'another', email = 'another@gpuaas.local' where subject = 'dev-user'",
    );
    await at.sql.query("update site_policy set sign_up = 'invited'");
    await at.sql.query("update users set platform_role = 'ops' where platform_role = 'superadmin'");
    const early = await at.signIn(at.browser());
    assert.deepEqual([early.status, /GPUAAS_SUPERADMIN_EMAILS/.test(early.text)], [403, true]);
    assert.match(early.text, /doc\/operations\/setup\.md/);

    await at.sql.query("update users set platform_role = 'superadmin' where platform_role = 'ops'");
    const later = await at.signIn(at.browser());
    assert.deepEqual([later.status, /GPUAAS_SUPERADMIN_EMAILS/.test(later.text)], [403, false]);
    await at.sql.query("update site_policy set sign_up = 'open'");
    await at.signed();
  });

  it('refuses a disabled account on the page, at the session and in the list of sessions', async () => {
    const open = await at.signed();
    await at.sql.query("update users set state = 'disabled' where email = 'dev-user@gpuaas.local'");
    at.clock.advance(CACHE_OVER_MS);
    const refused = await open.call('GET', '/api/v1/me');
    assert.deepEqual([refused.status, refused.body.detail], [401, 'This account is disabled.']);
    const browser = at.browser();
    const page = await at.signIn(browser);
    assert.deepEqual([page.status, sessionOf(browser)], [403, undefined]);
    assert.match(page.text, /This account is disabled\./);
    assert.match(page.text, /prompt=login/, 'another user may sign in');
    const { rows } = await at.sql.query(
      `select actor_kind, actor_id = target_id as is_own, target_kind, result, error_code, policy from audit_logs
       where action = 'web_session.create' and correlation_id = $1`,
      [page.headers.get('x-correlation-id')],
    );
    assert.deepEqual(rows, [
      {
        actor_kind: 'user',
        is_own: true,
        target_kind: 'user',
        result: 'denied',
        error_code: 'unauthenticated',
        policy: 'This account is disabled.',
      },
    ]);
    await at.sql.query("update users set state = 'active' where email = 'dev-user@gpuaas.local'");
    at.clock.advance(CACHE_OVER_MS);
    assert.equal((await open.call('GET', '/api/v1/me')).status, 200);
  });

  it('starts at the published host name, because cookies belong to one host', async () => {
    const { port } = new URL(at.origin);
    const answer = await fetch(`http://127.0.0.1:${port}/auth/sign-in?return_to=/launch`, { redirect: 'manual' });
    assert.equal(answer.headers.get('location'), `${at.origin}/auth/sign-in?return_to=/launch`);
    assert.deepEqual(answer.headers.getSetCookie(), []);
  });

  it('does not fill the browser with abandoned sign-ins', async () => {
    const browser = new Browser(at.origin);
    for (let n = 0; n < 9; n++) await browser.open('/auth/sign-in');
    const left = [...browser.cookies.keys()].filter((name) => name.startsWith('gpuaas_sign_in_'));
    assert.ok(left.length > 0 && left.length <= 5, left.join());
  });

  it('ends the least recently used sessions of a user who signs in endlessly', async () => {
    const { token, browser } = await at.signed();
    const { id, user_id } = await rowOf(token);
    await at.sql.query(
      `insert into web_sessions (id, user_id, token_hash, last_seen_at, idle_expires_at, expires_at)
       select 'wse_many' || n, $1, sha256(n::text::bytea), now() - n * interval '1 minute', now() + interval '1 hour', now() + interval '1 hour'
       from generate_series(1, 110) n`,
      [user_id],
    );
    await browser.open('/auth/sign-in');
    const { rows } = await at.sql.query('select id from web_sessions where user_id = $1', [user_id]);
    const left = new Set(rows.map((row) => row.id));
    assert.equal(left.size, 100);
    assert.ok(left.has(id) && left.has('wse_many1') && !left.has('wse_many110'));
    const [ended] = await auditOf('wse_many110');
    assert.deepEqual([ended.action, ended.actor_kind], ['web_session.revoke', 'system']);
    await at.sql.query("delete from web_sessions where id like 'wse\\_many%'");
  });

  it('signs out: the session is deleted, the cookie cleared, and the issuer gets the return address', async () => {
    const { browser, token, call } = await at.signed();
    const { id } = await rowOf(token);
    const page = await call('POST', '/auth/sign-out');
    assert.equal(page.status, 200);
    const url = new URL(page.body.redirect_to);
    assert.equal(url.pathname, '/oidc/session/end');
    assert.equal(url.searchParams.get('post_logout_redirect_uri'), `${at.origin}/`);
    assert.match(url.searchParams.get('id_token_hint') ?? '', /^ey/);
    assert.deepEqual(page.headers['set-cookie'], ['gpuaas_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax']);
    assert.equal(await rowOf(token), undefined);
    assert.deepEqual(
      (await auditOf(id)).map((row) => row.action),
      ['web_session.create', 'web_session.revoke'],
    );
    at.clock.advance(CACHE_OVER_MS);
    assert.equal((await call('GET', '/api/v1/me')).status, 401);
    assert.deepEqual((await call('POST', '/auth/sign-out')).body, { redirect_to: '/signed-out' }, 'twice is once');
    for (const [type, body] of [
      ['application/json', ''],
      ['application/json', '{"x":'],
      ['text/plain', 'x'],
    ] as const)
      assert.equal((await call('POST', '/auth/sign-out', body, { 'content-type': type })).status, 200, type);
    const confirm = await browser.open(url.href);
    const left = await browser.submit(confirm, {}, 'logout');
    assert.equal(left.leftTo, `${at.origin}/`);
    const asked = await browser.open('/auth/sign-in');
    assert.match(asked.text, /<label for="username">/, 'the issuer has forgotten it too');
  });

  // Last, because tokens from the issuer's own clock are expired for the server from here on.
  it('ends a sign-in that took too long', async () => {
    const late = await onTheWayBack();
    at.clock.advance(600_000);
    const page = await late.browser.open(late.callback);
    assert.deepEqual([page.status, sessionOf(late.browser)], [400, undefined]);
    assert.match(page.text, /timed out/);
  });
});
