import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { api, isMutation, type Operation, type OperationId, type RoleName, roleHolds } from '@gpuaas/contract';
import { type Caller, startTestApp, type TestResponse, testClock } from '../../test/app.ts';
import { ask, assertProblem, idsOf, operations, type Parts, seen, tagged, urlOf } from '../../test/request.ts';
import { scenarios } from '../../test/scenarios.ts';
import { newStagedKey, newTask } from '../../test/scenarios-agent.ts';
import { newPrice } from '../../test/scenarios-catalog.ts';
import { newInventoried } from '../../test/scenarios-inventory.ts';
import { groupMembersOf } from '../../test/scenarios-site.ts';
import { newApprovedSlot, newDiscovered } from '../../test/scenarios-topology.ts';
import { newReleased } from '../../test/scenarios-wipe.ts';
import {
  type Actor,
  auditRowsOf,
  CACHE_OVER_MS,
  makeTenants,
  must,
  strangeId,
  type Tenants,
} from '../../test/tenants.ts';
import { compileOperation } from './validate.ts';

const guarded = operations.filter(([, operation]) => operation.access !== 'public');
const mutations = operations.filter(([, operation]) => isMutation(operation));

describe('every operation of the contract', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  /** The checked operations, to find the unchecked ones at the end. */
  const covered = { success: new Set<OperationId>(), denied: new Set<OperationId>(), unsigned: new Set<OperationId>() };
  let tenants: Tenants;

  before(async () => {
    const clock = testClock();
    tenants = await makeTenants(t, await startTestApp(t, {}, { clock }), clock);
  });
  after(async () => {
    for (const close of closers) await close();
  });

  /** The errors of every operation, by correlation ID: each must be found in the log. */
  const errors = new Map<string, string>();
  const assertRefused = (what: string, answer: TestResponse, statuses: readonly number[]): void => {
    assertProblem(what, answer, statuses);
    errors.set(answer.body.correlation_id, `${what} ${answer.status} ${answer.body.code}`);
  };

  const auditRows = (correlationId: string) => auditRowsOf(tenants, correlationId);

  /** An event stream never ends, so it is requested over a socket and closed after its head. */
  const openStream = async (caller: Caller, url: string, headers: Record<string, string>): Promise<TestResponse> => {
    const leave = new AbortController();
    const response = await fetch(`${tenants.test.app.url}${url}`, {
      headers: { authorization: `Bearer ${caller.token}`, ...headers },
      signal: leave.signal,
    });
    leave.abort();
    return { status: response.status, body: '', headers: Object.fromEntries(response.headers) };
  };

  const checkBody = (operation: Operation, answer: TestResponse): void => {
    const response = compileOperation(operation).response?.();
    if (response === undefined) {
      assert.equal(answer.body, '');
      return;
    }
    const bodies =
      operation.stream === 'application/jsonl'
        ? String(answer.body)
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line))
        : [answer.body];
    for (const body of bodies) assert.ok(response(body), JSON.stringify(response.errors));
  };

  describe('has a successful request', () => {
    for (const [id, operation] of operations)
      it(`${id} returns ${operation.status} as the contract says${isMutation(operation) ? ', with one audit row' : ''}`, async () => {
        const { as, ...parts } = await scenarios[id](tenants);
        tenants.clock.advance(CACHE_OVER_MS);
        const caller = as ?? tenants.test.bearer(null);
        const headers = tagged();
        const answer =
          operation.stream === 'text/event-stream'
            ? await openStream(caller, urlOf(operation, parts as Parts), headers)
            : await ask(caller, operation, parts as Parts, headers);
        assert.equal(answer.status, operation.status, JSON.stringify(answer.body));
        if (operation.stream !== 'text/event-stream') checkBody(operation, answer);
        if (operation.status === 202) must(await caller.get(answer.headers['location'] ?? 'no location'), 200);
        const rows = await auditRows(headers['x-correlation-id']);
        assert.deepEqual(
          rows.map((row) => [row.action, row.result, row.error_code]),
          isMutation(operation) ? [[operation.audit, 'success', null]] : [],
        );
        covered.success.add(id);
      });
  });

  describe('refuses an operator whose sign-in is old', () => {
    // A scenario begins a restore, which holds the nodes of the others.
    after(() => tenants.sql.query('update nodes set restore_hold_id = null'));

    for (const [id, operation] of operations.filter(
      ([, { freshSignIn, access }]) => freshSignIn === true && access === 'platform',
    ))
      it(`${id} is 401, changes nothing and leaves one denied audit row`, async () => {
        const { as: _, ...parts } = await scenarios[id](tenants);
        tenants.clock.advance(CACHE_OVER_MS);
        const stale = await tenants.test.admin({ auth_time: 1 });
        const headers = tagged();
        const answer = await ask(stale, operation, parts as Parts, headers);
        assertRefused(id, answer, [401]);
        assert.equal(answer.body.code, 'fresh_sign_in_required');
        const rows = await auditRows(headers['x-correlation-id']);
        assert.deepEqual(
          rows.map((row) => [row.action, row.result, row.error_code]),
          [[operation.audit, 'denied', 'fresh_sign_in_required']],
        );
        // Whatever an operation changes has an event, a run or a task of the same correlation ID, or a row of success.
        for (const table of ['outbox_events', 'workflow_runs', 'node_tasks']) {
          const left = await tenants.sql.query(`select from ${table} where correlation_id = $1`, [
            headers['x-correlation-id'],
          ]);
          assert.equal(left.rowCount, 0, table);
        }
      });
  });

  describe('refuses requests without sign-in', () => {
    const credentials: Record<string, () => Promise<string | null>> = {
      'no token': async () => null,
      'an expired token': () =>
        tenants.test.issuer.sign({ sub: 'acme-owner', exp: Math.floor(Date.now() / 1000) - 3600 }),
      'a token for another audience': () => tenants.test.issuer.sign({ sub: 'acme-owner', aud: 'another-api' }),
      'a token of another issuer': () =>
        tenants.test.issuer.sign({ sub: 'acme-owner', iss: 'https://elsewhere.example' }),
      'a token signed with an unpublished key': async () =>
        tenants.test.issuer.sign({ sub: 'acme-owner' }, { signer: await tenants.test.issuer.strangeSigner('key-1') }),
      'a token with alg none': async () => {
        const [, claims] = (await tenants.test.issuer.sign({ sub: 'acme-owner' })).split('.');
        return `${Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')}.${claims}.`;
      },
      'an expired API token': async () => {
        const made = await tenants.acme.owner.post('/api/v1/tokens', {
          name: 'old',
          scopes: ['all'],
          expires_in_s: 60,
        });
        const { api_token, token } = must(made, 201).body;
        await tenants.sql.query("update api_tokens set expires_at = now() - interval '1 second' where id = $1", [
          api_token.id,
        ]);
        return token;
      },
      'a revoked API token': async () => {
        const made = await tenants.acme.owner.post('/api/v1/tokens', {
          name: 'gone',
          scopes: ['all'],
          expires_in_s: 60,
        });
        const { api_token, token } = must(made, 201).body;
        must(await tenants.acme.owner.call('DELETE', `/api/v1/tokens/${api_token.id}`), 204);
        return token;
      },
    };
    for (const [name, make] of Object.entries(credentials))
      it(`${name} is 401 everywhere`, async () => {
        const caller = tenants.test.bearer(await make());
        for (const [id, operation] of guarded) {
          const answer = await ask(caller, operation, { params: idsOf(tenants.acme) });
          assertRefused(id, answer, [401]);
          assert.ok(answer.headers['www-authenticate'], id);
          covered.unsigned.add(id);
        }
      });

    it('public operations return the same with and without sign-in', async () => {
      const operation = api.wipeCertificateKeyList;
      const answers = await Promise.all(
        [tenants.test.bearer(null), tenants.test.bearer('no-token'), tenants.acme.owner].map((caller) =>
          ask(caller, operation, {}),
        ),
      );
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 200],
      );
      assert.deepEqual(answers[0]?.body, answers[2]?.body);
      covered.unsigned.add('wipeCertificateKeyList');
      covered.denied.add('wipeCertificateKeyList');
    });

    it('a wrong client secret is 401, the same as for an unknown account, and audited as denied', async () => {
      const operation = api.serviceAccountTokenIssue;
      const answers: TestResponse[] = [];
      for (const client_id of [tenants.acme.ids.service_account_id, strangeId('service_account')]) {
        const headers = tagged();
        const body = { grant_type: 'client_credentials', client_id, client_secret: 'gpuaas_cs_not-the-secret' };
        const answer = await ask(tenants.test.bearer(null), operation, { body }, headers);
        assertRefused('serviceAccountTokenIssue', answer, [401]);
        const rows = await auditRows(headers['x-correlation-id']);
        assert.deepEqual(
          rows.map((row) => [row.actor_kind, row.action, row.result]),
          [['anonymous', operation.audit, 'denied']],
        );
        answers.push(answer);
      }
      assert.deepEqual(answers.map(seen)[0], answers.map(seen)[1]);
      covered.unsigned.add('serviceAccountTokenIssue');
      covered.denied.add('serviceAccountTokenIssue');
    });
  });

  describe('is authorized by role', () => {
    const holdsAt = (actor: Actor, operation: Operation, level: RegExp): boolean =>
      actor.roles.some(
        (role) => level.test(role) && operation.permission !== null && roleHolds(role, operation.permission),
      );

    /** The rule: 404 for resources one may not see, 403 for operations one may not use. */
    const verdict = (actor: Actor, operation: Operation): 'allowed' | 403 | 404 => {
      switch (operation.access) {
        case 'platform':
          return holdsAt(actor, operation, /^platform:/) ? 'allowed' : 403;
        case 'tenant': {
          const belongs = actor.roles.some((role) => role.startsWith('tenant:'));
          return belongs ? (holdsAt(actor, operation, /^tenant:/) ? 'allowed' : 403) : 404;
        }
        case 'project': {
          const sees = actor.roles.some((role) => !role.startsWith('platform:') && roleHolds(role, 'project.read'));
          return sees ? (holdsAt(actor, operation, /^(tenant:|project:|service_account)/) ? 'allowed' : 403) : 404;
        }
        default: {
          const role: RoleName = actor.machine ? 'service_account' : 'user';
          return operation.permission !== null && roleHolds(role, operation.permission) ? 'allowed' : 403;
        }
      }
    };

    /** Required inputs of a read, besides acme's resources. */
    let readsNeed: Partial<Record<OperationId, Parts>> = {};
    before(async () => {
      const discovered = { params: { node_id: await newDiscovered(tenants) } };
      const { node_id, slot_id } = await newApprovedSlot(tenants);
      readsNeed = {
        adminNodeConvertPlan: { query: { to: 'slice' } },
        adminSitePlan: { body: { site: { version: 1 } } },
        adminGroupSyncPlan: { body: { members: await groupMembersOf(tenants) } },
        allocationEstimate: { body: { sku_name: 'h200-sxm-slice', region_name: 'us-buffalo-1', gpu_count: 1 } },
        adminPriceGet: { params: { price_id: (await newPrice(tenants)).id } },
        adminNodeDiscoveryGet: discovered,
        adminNodeTaskGet: { params: await newTask(tenants) },
        adminNodeDiscoveryFactsGet: discovered,
        adminNodeInventoryGet: { params: { node_id: await newInventoried(tenants) } },
        adminNodeSlotGet: { params: { node_id, slot_id } },
        adminNodeSlotProofList: { params: { node_id, slot_id } },
        allocationWipeCertificateGet: {
          params: { ...idsOf(tenants.acme), allocation_id: (await newReleased(tenants)).id },
        },
        adminTrustKeyGet: { params: { trust_key_id: (await newStagedKey(tenants)).id } },
        adminLogList: { query: { node_id } },
        traceGet: { query: { id: tenants.acme.ids.allocation_id } },
        adminTraceGet: { query: { id: node_id } },
      };
    });
    /** Resources of operators belong to no tenant; the refusal comes before the lookup. */
    const strange = {
      slot_id: strangeId('slot'),
      task_id: strangeId('node_task'),
      disk_ownership_id: strangeId('disk_ownership'),
      trust_key_id: strangeId('trust_key'),
      sign_up_request_id: strangeId('sign_up_request'),
      group_mapping_id: strangeId('group_mapping'),
      price_id: strangeId('price'),
      source: 'agent',
    };

    /** An allowed mutation is not executed: its body is refused, which happens only after authorization. */
    const assertVerdict = async (
      id: OperationId,
      operation: Operation,
      caller: Caller,
      expected: 'allowed' | 403 | 404,
    ) => {
      const headers = tagged();
      const parts = {
        params: { ...strange, ...idsOf(tenants.acme) },
        ...(isMutation(operation) ? { body: { no_such_field: 1 } } : readsNeed[id]),
      };
      if (expected === 'allowed') {
        const answer =
          operation.stream === 'text/event-stream'
            ? await openStream(caller, urlOf(operation, parts), headers)
            : await ask(caller, operation, { ...parts, if_match: 1 }, headers);
        if (isMutation(operation)) assertRefused(id, answer, [400]);
        else assert.equal(answer.status, 200, `${id}: ${JSON.stringify(answer.body)}`);
        return;
      }
      assertRefused(id, await ask(caller, operation, parts, headers), [expected]);
      const rows = await auditRows(headers['x-correlation-id']);
      assert.deepEqual(
        rows.map((row) => row.result),
        ['denied'],
        `${id}: one row for a denied call`,
      );
      covered.denied.add(id);
    };

    for (const name of [
      'owner',
      'admin',
      'member',
      'viewer',
      'project_admin',
      'project_member',
      'project_viewer',
      'service_account',
      'stranger',
      'ops',
      'superadmin',
    ])
      it(`${name} gets what its roles allow and nothing else`, async () => {
        const actor = tenants.actors[name];
        assert.ok(actor);
        for (const [id, operation] of guarded) {
          // The key in the path is the owner's: no other caller has it, allowed or not.
          if (id === 'sshKeyGet' && name !== 'owner' && !actor.machine) continue;
          await assertVerdict(id, operation, actor.caller, verdict(actor, operation));
        }
      });

    const tokenOf = async (caller: Caller, body: Readonly<Record<string, unknown>>): Promise<Caller> => {
      const made = await caller.post('/api/v1/tokens', { name: 'narrow', expires_in_s: 3600, ...body });
      return tenants.test.bearer(must(made, 201).body.token);
    };

    it('a token scoped to read is 403 on every mutation', async () => {
      const narrow = {
        tenant: await tokenOf(tenants.acme.owner, { scopes: ['read'] }),
        platform: await tokenOf(tenants.superadmin, { scopes: ['read'] }),
      };
      for (const [id, operation] of mutations)
        if (operation.access !== 'public')
          await assertVerdict(id, operation, operation.access === 'platform' ? narrow.platform : narrow.tenant, 403);
    });

    it('a token is 403 for everything outside its scopes', async () => {
      const narrow = {
        tenant: await tokenOf(tenants.acme.owner, { scopes: ['invitation.read'] }),
        platform: await tokenOf(tenants.superadmin, { scopes: ['invitation.*'] }),
      };
      for (const [id, operation] of guarded) {
        const caller = operation.access === 'platform' ? narrow.platform : narrow.tenant;
        await assertVerdict(id, operation, caller, operation.permission === 'invitation.read' ? 'allowed' : 403);
      }
    });

    it('a token bound to one project is 404 outside it, and 403 for platform and organization operations', async () => {
      const bound = {
        tenant: await tokenOf(tenants.acme.owner, { scopes: ['all'], project_id: tenants.acme.project_b_id }),
        platform: await tokenOf(tenants.superadmin, { scopes: ['all'], project_id: tenants.superadmin.project_id }),
      };
      const within = new Set([
        'self.read',
        'catalog.read',
        'self.ssh_key.read',
        'self.api_token.read',
        'self.api_token.create',
      ]);
      for (const [id, operation] of guarded) {
        const caller = operation.access === 'platform' ? bound.platform : bound.tenant;
        const isOwn = operation.access === 'self' && within.has(operation.permission ?? '');
        const expected =
          operation.access === 'tenant' || operation.access === 'project' ? 404 : isOwn ? 'allowed' : 403;
        await assertVerdict(id, operation, caller, expected);
      }
      const inside = await bound.tenant.get(`/api/v1/projects/${tenants.acme.project_b_id}`);
      assert.equal(inside.status, 200);
    });
  });

  it('is a route, and every route is an operation or a known page', async () => {
    const routes = tenants.test.app.http.printRoutes({ commonPrefix: false, includeHooks: false });
    const found: string[] = [];
    const stack: string[] = [];
    for (const line of routes.split('\n')) {
      const match = /^([│├└─\s]*)(\S*)(?: \(([A-Z, ]+)\))?$/.exec(line.replaceAll('\u00a0', ' '));
      if (!match?.[2]) continue;
      const depth = Math.floor((match[1] ?? '').length / 4);
      stack.splice(depth - 1);
      stack[depth - 1] = match[2];
      for (const method of match[3]?.split(', ') ?? []) found.push(`${method} ${stack.join('')}`);
    }
    const pages = [
      '/',
      '/healthz',
      '/readyz',
      '/metrics',
      '/.well-known/gpuaas',
      '/openapi.json',
      '/site.schema.json',
      '/llms.txt',
      '/docs',
      '/docs/redoc.js',
      '/docs/errors/:code',
      '/docs/start',
      '/auth/sign-in',
      '/auth/callback',
    ];
    const expected = [
      ...operations.map(([, { method, path }]) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
      ...pages.map((path) => `GET ${path}`),
      'POST /auth/sign-out',
    ];
    assert.deepEqual(found.toSorted(), expected.toSorted());
  });

  it('every error of every operation has a correlation ID that finds its log line, with its code', () => {
    const logged = new Set(
      tenants.test.logs.flatMap(({ correlation_id, operation, status, error_code }) =>
        error_code === undefined ? [] : [`${correlation_id} ${operation} ${status} ${error_code}`],
      ),
    );
    const named = [...errors].map(([correlationId, error]) => `${correlationId} ${error}`);
    assert.ok(named.length > guarded.length, String(named.length));
    assert.deepEqual(
      named.filter((line) => !logged.has(line)),
      [],
    );
  });

  it('the uncovered list is empty', () => {
    const missing = (set: ReadonlySet<OperationId>) => operations.map(([id]) => id).filter((id) => !set.has(id));
    assert.deepEqual(missing(covered.success), [], 'operations without a successful request');
    assert.deepEqual(missing(covered.unsigned), [], 'operations without a check of bad credentials');
    assert.deepEqual(missing(covered.denied), [], 'operations without a denied request');
    assert.deepEqual(
      mutations.filter(([, operation]) => operation.audit === null),
      [],
    );
    assert.deepEqual(
      operations.filter(([, { method, audit }]) => (method === 'GET') !== (audit === null)).map(([id]) => id),
      // They read a body and write nothing.
      ['allocationEstimate', 'adminSitePlan', 'adminGroupSyncPlan'],
      'operations that change something without an audit action',
    );
  });
});
