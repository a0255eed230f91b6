import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ID_PREFIXES, isMutation, type Operation } from '@gpuaas/contract';
import { Client } from 'pg';
import { type Caller, startTestApp, type TestResponse, testClock } from '../../test/app.ts';
import { ask, assertProblem, idsOf, operations, type Parts, paramsOf, seen, tagged } from '../../test/request.ts';
import { scenarios } from '../../test/scenarios.ts';
import { auditRowsOf, makeTenants, strangeId, type Tenant, type Tenants } from '../../test/tenants.ts';

const KINDS = {
  organization_id: 'organization',
  project_id: 'project',
  user_id: 'user',
  invitation_id: 'invitation',
  service_account_id: 'service_account',
  token_id: 'api_token',
  ssh_key_id: 'ssh_key',
  workflow_run_id: 'workflow_run',
  allocation_id: 'allocation',
  session_id: 'terminal_session',
  access_grant_id: 'access_grant',
  quota_request_id: 'quota_request',
  web_session_id: 'web_session',
} as const;
/** Names of the catalog, which every tenant sees. */
const SHARED = ['sku_name', 'image_name'];
const tested = new Set<string | undefined>(Object.values(KINDS));
const kindOf = (name: string) => KINDS[name as keyof typeof KINDS];

type Field = Readonly<{ name: string; kind: (typeof KINDS)[keyof typeof KINDS]; isList: boolean }>;
/** The fields that are ids of which a tenant has one. */
const idsIn = (properties: object | undefined): Field[] =>
  Object.entries(properties ?? {}).flatMap(([name, field]) => {
    const { pattern, items } = field as { pattern?: string; items?: { pattern?: string } };
    const prefix = /^\^([a-z]{3})_/.exec(pattern ?? items?.pattern ?? '')?.[1];
    const kind = Object.values(KINDS).find((one) => ID_PREFIXES[one] === prefix);
    return kind === undefined ? [] : [{ name, kind, isList: pattern === undefined }];
  });
const ofTenants = operations.filter(([, { access }]) => access !== 'platform');
const withIds = ofTenants.flatMap(([id, operation]) =>
  idsIn(operation.body?.properties).map((field) => ({ id, operation, field })),
);
const withIdsInQuery = ofTenants.flatMap(([id, operation]) =>
  idsIn(operation.query?.properties).map((field) => ({ id, operation, field })),
);
const withCursor = ofTenants.filter(
  ([, { access, query }]) => access !== 'public' && query !== undefined && 'cursor' in query.properties,
);
/** The name of the id of this kind in the ids of a tenant. */
const nameOf = (kind: Field['kind']): string => Object.entries(KINDS).find(([, one]) => one === kind)?.[0] ?? '';

const PAIR_CURSORS = ['eventList', 'organizationEventList', 'capacityList', 'allocationTimeline'];
/** As the list gives it to this owner: a user, an organization or a project. */
const cursorOf = (id: string, owner: string): string =>
  Buffer.from(JSON.stringify([id, owner, ...(PAIR_CURSORS.includes(id) ? ['1'] : []), 'a'])).toString('base64url');
const ownerKindOf = ({ access }: Operation) =>
  access === 'self' ? 'user' : access === 'tenant' ? 'organization' : 'project';
const ownerOf = (operation: Operation, tenant: Tenant): string =>
  operation.access === 'self' ? tenant.owner.me.id : (tenant.ids[`${ownerKindOf(operation)}_id`] ?? '');

describe("another tenant's ids behave like ids that do not exist", () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let tenants: Tenants;

  before(async () => {
    const clock = testClock();
    tenants = await makeTenants(t, await startTestApp(t, {}, { clock }), clock);
  });
  after(async () => {
    for (const close of closers) await close();
  });

  it('every parameter in the paths of tenants is an id of a tenant that is tested, or a shared name', () => {
    const names = operations.flatMap(([, operation]) => (operation.access === 'platform' ? [] : paramsOf(operation)));
    assert.deepEqual([...new Set(names)].sort(), [...Object.keys(KINDS), ...SHARED].sort());
  });

  /** Everything a tenant owns, except append-only data. */
  const digestOf = async (tenant: Tenant): Promise<string> => {
    const { rows } = await tenants.sql.query<{ t: string }>(
      `select c.table_name as t from information_schema.columns c join information_schema.tables using (table_schema, table_name)
       where c.table_schema = 'public' and c.column_name = 'organization_id' and table_type = 'BASE TABLE'
         and c.table_name not in ('audit_logs', 'outbox_events') order by 1`,
    );
    const parts: string[] = [];
    for (const { t } of rows)
      parts.push(
        (
          await tenants.sql.query(
            `select $2 || coalesce(string_agg(md5((to_jsonb(x) - 'last_used_at')::text), ',' order by x::text), '') as d from ${t} x where organization_id = $1`,
            [tenant.organization_id, t],
          )
        ).rows[0].d,
      );
    const own = (table: string) =>
      tenants.sql.query(
        `select to_jsonb(x) - 'last_used_at' - 'idle_expires_at' as x from ${table} x where user_id = $1 order by id`,
        [tenant.owner.me.id],
      );
    return JSON.stringify([parts, (await own('ssh_keys')).rows, (await own('web_sessions')).rows]);
  };

  for (const [id, operation] of operations.filter(
    ([, operation]) => operation.access !== 'platform' && paramsOf(operation).some((name) => name in KINDS),
  ))
    it(`${id}: 404 with the same text`, async () => {
      const { as, ...rest } = await scenarios[id](tenants);
      const parts = rest as Parts;
      const names = paramsOf(operation).filter((name) => name in KINDS);
      const theirs: Readonly<Record<string, string>> = tenants.rival.ids;
      const before = await digestOf(tenants.rival);
      // Each id alone, and all together.
      for (const swapped of [...names.map((name) => [name]), names]) {
        const params = (value: (name: string) => string) => ({
          ...parts.params,
          ...Object.fromEntries(swapped.map((name) => [name, value(name)])),
        });
        const headers = tagged();
        const foreign = await ask(
          as ?? tenants.test.bearer(null),
          operation,
          { ...parts, params: params((n) => theirs[n] ?? '') },
          headers,
        );
        const nothing = await ask(as ?? tenants.test.bearer(null), operation, {
          ...parts,
          params: params((n) => strangeId(kindOf(n))),
        });
        assertProblem(`${id} with their ${swapped}`, foreign, [404]);
        assert.deepEqual(seen(foreign), seen(nothing), `${id} with their ${swapped}`);
        const rows = await auditRowsOf(tenants, headers['x-correlation-id']);
        if (isMutation(operation)) assert.equal(rows.length, 1);
        for (const row of rows) assert.notEqual(row.organization_id, tenants.rival.organization_id);
      }
      assert.equal(await digestOf(tenants.rival), before);
    });

  it('in a body: every operation of tenants with an id in its body is tested', () => {
    const kinds = new Map(Object.entries(ID_PREFIXES).map(([kind, prefix]) => [prefix as string, kind]));
    const named = operations.flatMap(([, { access, body }]) =>
      access === 'platform' ? [] : [...JSON.stringify(body ?? {}).matchAll(/"\^([a-z]{3})_\[/g)],
    );
    const untested = named.map(([, prefix = '']) => kinds.get(prefix)).filter((kind) => !tested.has(kind));
    assert.deepEqual(untested, []);
    const found = withIds.map(({ id, field }) => `${id}.${field.name}`);
    for (const one of ['apiTokenCreate.project_id', 'allocationCreate.ssh_key_ids', 'accessGrantCreate.ssh_key_id'])
      assert.ok(found.includes(one), `${one}: ${found}`);
  });

  for (const { id, operation, field } of withIds)
    it(`in a body: ${field.name} of ${id} is theirs or nothing, with the same response`, async () => {
      const name = nameOf(field.kind);
      const { as, ...rest } = await scenarios[id](tenants);
      const parts = rest as Parts & { body?: object };
      const before = await digestOf(tenants.rival);
      const send = (value: string, headers = {}) =>
        ask(
          as ?? tenants.test.bearer(null),
          operation,
          { ...parts, body: { ...parts.body, [field.name]: field.isList ? [value] : value } },
          headers,
        );
      const headers = tagged();
      const foreign = await send((tenants.rival.ids as Readonly<Record<string, string>>)[name] ?? '', headers);
      const strange = strangeId(field.kind);
      const nothing = await send(strange);
      assert.ok(foreign.status >= 400 && foreign.status < 500, `${foreign.status} ${JSON.stringify(foreign.body)}`);
      // A response may repeat the id that it was given.
      const text = (answer: typeof foreign, value: string) => JSON.stringify(seen(answer)).replaceAll(value, 'ID');
      assert.equal(
        text(foreign, (tenants.rival.ids as Readonly<Record<string, string>>)[name] ?? ''),
        text(nothing, strange),
      );
      for (const row of await auditRowsOf(tenants, headers['x-correlation-id']))
        assert.notEqual(row.organization_id, tenants.rival.organization_id);
      assert.equal(await digestOf(tenants.rival), before);
    });

  it('in a body: a token cannot be bound to their project', async () => {
    const tokens = (project_id: string) =>
      tenants.acme.owner.post('/api/v1/tokens', { name: 'x', scopes: ['read'], expires_in_s: 60, project_id });
    const foreign = await tokens(tenants.rival.ids.project_id);
    assert.equal(foreign.status, 404);
    assert.deepEqual(seen(foreign), seen(await tokens(strangeId('project'))));
  });

  it('in a path below this tenant: their user cannot be added to our project', async () => {
    const put = (user_id: string) =>
      tenants.acme.owner.call('PUT', `/api/v1/projects/${tenants.acme.ids.project_id}/members/${user_id}`, {
        role: 'admin',
      });
    const foreign = await put(tenants.rival.owner.me.id);
    assert.equal(foreign.status, 404);
    assert.deepEqual(seen(foreign), seen(await put(strangeId('user'))));
  });

  it('in a query: their project in our audit log gives no rows', async () => {
    for (const path of ['audit-logs', 'audit-logs/export']) {
      const url = `/api/v1/organizations/${tenants.acme.organization_id}/${path}?project_id=${tenants.rival.ids.project_id}`;
      const answer = await tenants.acme.owner.get(url);
      assert.equal(answer.status, 200);
      assert.deepEqual(path === 'audit-logs' ? answer.body.items : answer.body, path === 'audit-logs' ? [] : '');
    }
  });

  it('in a query: their organization as a filter is refused to tenants', async () => {
    const url = `/api/v1/projects/${tenants.acme.ids.project_id}/workflow-runs?organization_id=${tenants.rival.organization_id}`;
    assert.equal((await tenants.acme.owner.get(url)).status, 400);
    const admin = `/api/v1/admin/audit-logs?organization_id=${tenants.rival.organization_id}`;
    assert.equal((await tenants.acme.owner.get(admin)).status, 403);
  });

  it('in a cursor: theirs is 404 in every list', async () => {
    for (const [id, operation] of withCursor) {
      const cursor = cursorOf(id, ownerOf(operation, tenants.rival));
      const answer = await ask(tenants.acme.owner, operation, { params: idsOf(tenants.acme), query: { cursor } });
      assertProblem(id, answer, [404]);
    }
  });
});

describe('a request for an id of another tenant does the work of one for an id that does not exist', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  let tenants: Tenants;
  const { query } = Client.prototype;
  let sent: string[] = [];
  let compared = 0;

  before(async () => {
    const clock = testClock();
    tenants = await makeTenants(t, await startTestApp(t, { roles: ['gpuaas-api'] }, { clock }), clock);
    // Response times on a busy machine say little; the statements that are sent say what a time could tell.
    Client.prototype.query = function (this: Client, ...given: unknown[]) {
      const [first] = given as [string | { text?: string }];
      sent.push(typeof first === 'string' ? first : (first.text ?? ''));
      return (query as (...all: unknown[]) => unknown).apply(this, given);
    } as typeof query;
  });
  after(async () => {
    Client.prototype.query = query;
    for (const close of closers) await close();
  });

  const theirs = (name: string): string => (tenants.rival.ids as Readonly<Record<string, string>>)[name] ?? '';

  /** One of the responses, and the same statements for what does not exist and for what another tenant has. */
  const areSame = async (
    send: (value: string) => Promise<TestResponse>,
    statuses: readonly number[],
    strange: string,
    foreign: string,
  ): Promise<void> => {
    const statementsOf = async (value: string): Promise<string[]> => {
      sent = [];
      const { status, body } = await send(value);
      assert.ok(statuses.includes(status), `${status} ${JSON.stringify(body)}`);
      return sent;
    };
    await statementsOf(strange);
    await statementsOf(foreign);
    // A statement of a background loop may come between; a difference of the requests is in every round.
    let rounds: [string[], string[]][] = [];
    const isSame = ([one, other]: [string[], string[]]): boolean => JSON.stringify(one) === JSON.stringify(other);
    for (let round = 0; round < 10 && !rounds.some(isSame); round++)
      rounds = [...rounds, [await statementsOf(strange), await statementsOf(foreign)]];
    if (!rounds.some(isSame)) assert.deepEqual(rounds[0]?.[1], rounds[0]?.[0]);
    compared += rounds.flat(2).length;
  };
  /** Of requests that reach the database. A cursor of another owner is refused before. */
  const compareAll = async (...given: Parameters<typeof areSame>): Promise<void> => {
    const before = compared;
    await areSame(...given);
    assert.ok(compared > before, 'statements are seen');
  };

  /** Their scenarios wait for a worker, which would send statements of its own. */
  const WITHOUT_WORKER: Readonly<Record<string, Parts & Readonly<{ as?: Caller }>>> = {
    allocationUpdate: { body: { tags: { team: 'vision' } }, if_match: 1 },
    allocationWipeCertificateGet: {},
  };
  const walled = operations.flatMap(([id, operation]) =>
    operation.access === 'platform'
      ? []
      : paramsOf(operation).flatMap((name) => (name in KINDS ? [{ id, operation, name }] : [])),
  );
  for (const { id, operation, name } of walled)
    it(`${id}: the same statements for ${name}`, async () => {
      const { as, ...rest } = WITHOUT_WORKER[id] ?? (await scenarios[id](tenants));
      const parts = rest as Parts;
      await compareAll(
        (value) =>
          ask(as ?? tenants.acme.owner, operation, {
            ...parts,
            params: { ...idsOf(tenants.acme), ...parts.params, [name]: value },
          }),
        [404],
        strangeId(kindOf(name)),
        theirs(name),
      );
    });

  for (const { id, operation, field } of withIds)
    it(`${id}: the same statements for ${field.name} in the body`, async () => {
      const { as, ...rest } = await scenarios[id](tenants);
      const parts = rest as Parts & { body?: object };
      await compareAll(
        (value) =>
          ask(as ?? tenants.acme.owner, operation, {
            ...parts,
            body: { ...parts.body, [field.name]: field.isList ? [value] : value },
          }),
        [400, 401, 404, 409, 422],
        strangeId(field.kind),
        theirs(nameOf(field.kind)),
      );
    });

  for (const { id, operation, field } of withIdsInQuery)
    it(`${id}: the same statements and the same response for ${field.name} in the query`, async () => {
      const { as, ...rest } = await scenarios[id](tenants);
      const parts = rest as Parts;
      const send = (value: string) =>
        ask(as ?? tenants.acme.owner, operation, { ...parts, query: { ...parts.query, [field.name]: value } });
      const [strange, foreign] = [strangeId(field.kind), theirs(nameOf(field.kind))];
      const [nothing, other] = [await send(strange), await send(foreign)];
      const text = ({ status, body }: typeof nothing): string =>
        status < 300 ? JSON.stringify(body) : JSON.stringify(seen({ status, body, headers: {} }));
      assert.equal(text(other).replaceAll(foreign, 'ID'), text(nothing).replaceAll(strange, 'ID'));
      await compareAll(send, [200, 404], strange, foreign);
    });

  for (const [id, operation] of withCursor)
    it(`${id}: the same statements for a cursor`, () =>
      areSame(
        (cursor) => ask(tenants.acme.owner, operation, { params: idsOf(tenants.acme), query: { cursor } }),
        [404],
        cursorOf(id, strangeId(ownerKindOf(operation))),
        cursorOf(id, ownerOf(operation, tenants.rival)),
      ));
});
