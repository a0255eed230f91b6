import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ID_PREFIXES, isMutation, type Operation } from '@gpuaas/contract';
import { Client } from 'pg';
import { type Caller, startTestApp, testClock } from '../../test/app.ts';
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

  type Field = Readonly<{ name: string; kind: keyof typeof ID_PREFIXES; isList: boolean }>;
  /** The ids in the body of an operation of which a tenant has one. */
  const idsInBody = (operation: Operation): Field[] =>
    Object.entries(operation.body?.properties ?? {}).flatMap(([name, field]) => {
      const { pattern, items } = field as { pattern?: string; items?: { pattern?: string } };
      const prefix = /^\^([a-z]{3})_/.exec(pattern ?? items?.pattern ?? '')?.[1];
      const kind = Object.values(KINDS).find((one) => ID_PREFIXES[one] === prefix);
      return kind === undefined ? [] : [{ name, kind, isList: pattern === undefined }];
    });
  const withIds = operations.flatMap(([id, operation]) =>
    operation.access === 'platform' ? [] : idsInBody(operation).map((field) => ({ id, operation, field })),
  );

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
      const name = Object.entries(KINDS).find(([, kind]) => kind === field.kind)?.[0] ?? '';
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
    for (const [id, operation] of operations) {
      if (operation.query === undefined || !('cursor' in operation.query.properties)) continue;
      if (operation.access === 'platform' || operation.access === 'public') continue;
      const owner =
        operation.access === 'self'
          ? tenants.rival.owner.me.id
          : tenants.rival.ids[`${operation.access === 'tenant' ? 'organization' : 'project'}_id`];
      const isPair = ['eventList', 'organizationEventList', 'capacityList', 'allocationTimeline'].includes(id);
      const cursor = Buffer.from(JSON.stringify([id, owner, ...(isPair ? ['1'] : []), 'a'])).toString('base64url');
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
      const statementsOf = async (value: string): Promise<string[]> => {
        sent = [];
        const answer = await ask(as ?? tenants.acme.owner, operation, {
          ...parts,
          params: { ...idsOf(tenants.acme), ...parts.params, [name]: value },
        });
        assert.equal(answer.status, 404);
        return sent;
      };
      const [strange, theirs] = [
        strangeId(kindOf(name)),
        (tenants.rival.ids as Readonly<Record<string, string>>)[name] ?? '',
      ];
      await statementsOf(strange);
      await statementsOf(theirs);
      // A statement of a background loop may come between; a difference of the requests is in every round.
      let rounds: [string[], string[]][] = [];
      const isSame = ([one, other]: [string[], string[]]): boolean => JSON.stringify(one) === JSON.stringify(other);
      for (let round = 0; round < 10 && !rounds.some(isSame); round++)
        rounds = [...rounds, [await statementsOf(strange), await statementsOf(theirs)]];
      assert.ok(
        rounds.every(([nothing]) => nothing.length > 0),
        'statements are seen',
      );
      if (!rounds.some(isSame)) assert.deepEqual(rounds[0]?.[1], rounds[0]?.[0]);
    });
});
