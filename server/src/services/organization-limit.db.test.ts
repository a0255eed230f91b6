import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it, test } from 'node:test';
import {
  type CountedLimit,
  LIMIT_NAMES,
  LIMITS,
  type LimitName,
  type LimitValues,
  limitRefusal,
} from '@gpuaas/contract';
import { type Caller, startTestApp, type TestClock, type TestResponse, testClock } from '../../test/app.ts';
import type { TestAllocation } from '../../test/placement.ts';
import { newActive } from '../../test/scenarios-allocation.ts';
import { makeTenants, must, newSshKey, type Tenants } from '../../test/tenants.ts';

const MANY = 1_000_000;
const ROOM = 3;
const AT_ONCE = 8;
const newName = () => `n-${randomUUID().slice(0, 8)}`;

describe('limits that are counted', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  const limits = Object.fromEntries(LIMIT_NAMES.map((name) => [name, MANY])) as Record<LimitName, number>;
  let tenants: Tenants;
  let slice: TestAllocation;
  const limited: string[] = [];
  /** Invited users who have not accepted yet. */
  const invited: Readonly<{ user: Caller; token: string }>[] = [];
  let account: Readonly<{ id: string; client_secret: string }>;

  const inOrganization = (path: string) => `/api/v1/organizations/${tenants.acme.organization_id}${path}`;
  const inProject = (path: string) => `/api/v1/projects/${tenants.acme.ids.project_id}${path}`;
  const ticket = (kind: string) =>
    tenants.acme.owner.call('POST', inProject(`/allocations/${slice.id}/terminal-ticket`), { kind });
  const usedOf = async (name: CountedLimit): Promise<number> => {
    const { items } = must(await tenants.acme.owner.get(inOrganization('/limits')), 200).body;
    return items.find((one: Readonly<{ name: string }>) => one.name === name).used;
  };

  before(async () => {
    const clock = testClock();
    tenants = await makeTenants(t, await startTestApp(t, { limits: limits as LimitValues }, { clock }), clock);
    slice = await newActive(tenants);
    const policy = inOrganization('/access-policy');
    const { version } = must(await tenants.acme.owner.get(policy), 200).body;
    const recorded = { records_terminals: true };
    must(await tenants.acme.owner.call('PATCH', policy, recorded, { 'if-match': `"v${version}"` }), 200);
    const made = must(await tenants.acme.owner.post(inProject('/service-accounts'), { name: newName() }), 201).body;
    for (let n = 0; n < AT_ONCE + 1; n++) {
      const { id } = must(await tenants.acme.owner.post(inOrganization('/projects'), { name: newName() }), 201).body;
      limited.push(id);
      await tenants.sql.query('insert into quotas (organization_id, project_id, gpu_limit) values ($1, $2, 1)', [
        tenants.acme.organization_id,
        id,
      ]);
    }
    for (let n = 0; n < AT_ONCE + 1; n++) {
      const user = await tenants.test.user(newName());
      const asked = { email: user.me.email, role: 'viewer' };
      const { token } = must(await tenants.acme.owner.post(inOrganization('/invitations'), asked), 201).body;
      invited.push({ user, token });
    }
    account = { id: made.service_account.id, client_secret: made.client_secret };
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const TOKEN = { name: 'a token', scopes: ['read'], expires_in_s: 3600 };
  /** A limit without a way to reach it does not compile. */
  const ADD: Readonly<Record<CountedLimit, (n: number) => Promise<TestResponse>>> = {
    sessions: () => ticket('console'),
    recordings: () => ticket('terminal'),
    projects: () => tenants.acme.owner.post(inOrganization('/projects'), { name: newName() }),
    service_accounts: () => tenants.acme.owner.post(inProject('/service-accounts'), { name: newName() }),
    service_account_tokens: (n) =>
      n % 2 === 0
        ? tenants.acme.owner.post(inProject(`/service-accounts/${account.id}/tokens`), TOKEN)
        : tenants.test.bearer(null).call('POST', '/api/v1/auth/token', {
            grant_type: 'client_credentials',
            client_id: account.id,
            client_secret: account.client_secret,
          }),
    members: () => {
      const { user, token } = invited.pop() ?? assert.fail('every invitation is accepted');
      return user.post('/api/v1/invitations/accept', { token });
    },
    invitations: () =>
      tenants.acme.owner.post(inOrganization('/invitations'), { email: `${newName()}@example.com`, role: 'viewer' }),
    quota_requests: () =>
      tenants.acme.owner.post(inOrganization('/quota-requests'), {
        project_id: limited.pop(),
        gpu_limit: 2,
        reason: 'A larger run',
      }),
    organizations: () => tenants.acme.owner.post('/api/v1/organizations', { name: newName() }),
    personal_tokens: () => tenants.acme.owner.post('/api/v1/tokens', TOKEN),
    ssh_keys: () => tenants.acme.owner.post('/api/v1/ssh-keys', { name: newName(), public_key: newSshKey() }),
  };

  for (const name of Object.keys(ADD) as CountedLimit[])
    it(`simultaneous requests never exceed ${name}, and are refused with the next action`, async () => {
      limits[name] = (await usedOf(name)) + ROOM;
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => ADD[name](n)));
      const refused = answers.filter(({ status }) => status >= 300);
      assert.deepEqual(
        refused.map(({ status, body }) => [status, body.code, body.retryable, body.detail]),
        Array(AT_ONCE - ROOM).fill([409, 'limit_exceeded', false, limitRefusal(name, limits[name])]),
      );
      assert.equal(await usedOf(name), limits[name]);
      limits[name] = MANY;
      assert.ok((await ADD[name](0)).status < 300, 'a raised limit counts at once');
    });

  it('ended resources do not count', async () => {
    const before = await usedOf('invitations');
    const { body } = must(await ADD.invitations(0), 201);
    assert.equal(await usedOf('invitations'), before + 1);
    must(await tenants.acme.owner.call('DELETE', inOrganization(`/invitations/${body.invitation.id}`)), 204);
    assert.equal(await usedOf('invitations'), before);
    const tokens = await usedOf('personal_tokens');
    const made = must(await ADD.personal_tokens(0), 201).body;
    must(await tenants.acme.owner.call('DELETE', `/api/v1/tokens/${made.api_token.id}`), 204);
    assert.equal(await usedOf('personal_tokens'), tokens);
  });

  it('withdrawn quota requests count for a day', async () => {
    const used = await usedOf('quota_requests');
    await tenants.sql.query(
      "update quota_requests set state = 'withdrawn', decided_at = now() where organization_id = $1 and state = 'open'",
      [tenants.acme.organization_id],
    );
    assert.equal(await usedOf('quota_requests'), used);
    await tenants.sql.query(
      "update quota_requests set created_at = now() - interval '25 hours' where organization_id = $1",
      [tenants.acme.organization_id],
    );
    assert.equal(await usedOf('quota_requests'), 0);
  });

  it('an organization that its creator left still counts', async () => {
    const made = must(await ADD.organizations(0), 201).body;
    const used = await usedOf('organizations');
    await tenants.sql.query('delete from tenant_memberships where organization_id = $1', [made.id]);
    limits.organizations = used;
    assert.equal((await ADD.organizations(0)).body.code, 'limit_exceeded');
    limits.organizations = MANY;
  });

  it('every limit is shown with its current count', async () => {
    const { items } = must(await tenants.acme.owner.get(inOrganization('/limits')), 200).body;
    assert.deepEqual(
      items.map(({ name, max, used }: Readonly<{ name: string; max: number; used: number | null }>) => [
        name,
        max,
        used === null,
      ]),
      LIMIT_NAMES.map((name) => [name, MANY, LIMITS[name].kind !== 'rows']),
    );
  });
});

/** Allowances grow with time, so here the test controls it. */
const stillClock = (): TestClock => {
  let at = Date.now();
  return {
    now: () => new Date(at),
    advance: (ms) => {
      at += ms;
    },
  };
};

test('an organization has one request allowance for all its users and service accounts', async (t) => {
  const clock = stillClock();
  // More than creating the tenants takes.
  const max = 120;
  const env = { GPUAAS_LIMITS: `all=1000000,requests_per_minute=${max}` };
  const closers: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const close of closers) await close();
  });
  const last = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  const tenants = await makeTenants(last, await startTestApp(last, {}, { clock, env }), clock);
  clock.advance(120_000);
  const { acme, rival, actors } = tenants;
  const url = `/api/v1/projects/${acme.ids.project_id}`;
  for (let n = 0; n < max + 5; n++) assert.equal((await rival.owner.get(url)).status, 404);
  const callers = ['viewer', 'service_account'].map((name) => actors[name]?.caller ?? assert.fail(name));
  const answers: TestResponse[] = [];
  for (let n = 0; n < max; n++) answers.push(await ([acme.owner, ...callers][n % 3] ?? acme.owner).get(url));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  const refused = await acme.owner.get(url);
  assert.deepEqual(
    [refused.status, refused.body.code, refused.body.detail],
    [429, 'rate_limited', limitRefusal('requests_per_minute', max)],
  );
  assert.ok(Number(refused.headers['retry-after']) > 0);
  assert.equal((await rival.owner.get(`/api/v1/projects/${rival.ids.project_id}`)).status, 200);
  clock.advance(60_000);
  assert.equal((await acme.owner.get(url)).status, 200);
});

test('an organization has one allowance of session tickets for all its users; requests do not use it up', async (t) => {
  const clock = stillClock();
  const max = 3;
  const env = { GPUAAS_LIMITS: `all=1000000,tickets_per_minute=${max}` };
  const closers: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const close of closers) await close();
  });
  const last = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  const tenants = await makeTenants(last, await startTestApp(last, {}, { clock, env }), clock);
  const { acme, rival, actors } = tenants;
  const slice = await newActive(tenants);
  const allocation = `/api/v1/projects/${acme.ids.project_id}/allocations/${slice.id}`;
  const ask = (caller: Pick<typeof acme.owner, 'call'>) =>
    caller.call('POST', `${allocation}/terminal-ticket`, { kind: 'console' });
  clock.advance(60_000);
  const viewer = actors['viewer']?.caller ?? assert.fail('viewer');
  // Outsiders use up nothing of it.
  for (let n = 0; n < max + 1; n++) assert.equal((await ask(rival.owner)).status, 404);
  for (let n = 0; n < max; n++) must(await ask(n % 2 === 0 ? acme.owner : viewer), 201);
  for (const caller of [acme.owner, viewer]) {
    const refused = await ask(caller);
    assert.deepEqual(
      [refused.status, refused.body.code, refused.body.detail],
      [429, 'rate_limited', limitRefusal('tickets_per_minute', max)],
    );
    assert.ok(Number(refused.headers['retry-after']) > 0);
  }
  must(await acme.owner.get(allocation), 200);
  clock.advance(60_000);
  must(await ask(acme.owner), 201);
});
