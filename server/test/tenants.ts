/**
 * Two tenants with one of everything, and a caller for every role: the setup of authorization tests. Created through
 * the API, except for resources that only the control plane creates.
 */
import { randomUUID } from 'node:crypto';
import { ID_PREFIXES, type RoleName } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { PLATFORM } from '../src/db/client.ts';
import { refreshSummary } from '../src/placement/summary.ts';
import { aGrant, aRecordedSession, aWebSession } from './access.ts';
import { type Caller, startTestApp, type TestApp, type TestClock, type TestResponse, testClock } from './app.ts';
import { aNode, anAllocation } from './placement.ts';

/** Longer than any authentication result is cached. */
export const CACHE_OVER_MS = 6_000;

export type Ids = Readonly<{
  organization_id: string;
  project_id: string;
  user_id: string;
  invitation_id: string;
  service_account_id: string;
  token_id: string;
  ssh_key_id: string;
  web_session_id: string;
  workflow_run_id: string;
  allocation_id: string;
  /** Of the allocation: an ended recorded terminal, and an SSH key grant. */
  session_id: string;
  access_grant_id: string;
  /** Open, for the second project. */
  quota_request_id: string;
  /** Not the tenant's: nodes belong to the platform. */
  node_id: string;
}>;

export type User = Awaited<ReturnType<TestApp['user']>>;

export type Tenant = Readonly<{ name: string; owner: User; organization_id: string; ids: Ids; project_b_id: string }>;

/** A caller with all its roles at the tenant and its project; `machine` is a service account. */
export type Actor = Readonly<{ caller: Caller; roles: readonly RoleName[]; machine: boolean }>;

const KEY_HEAD = Buffer.concat([Buffer.from([0, 0, 0, 11]), Buffer.from('ssh-ed25519'), Buffer.from([0, 0, 0, 32])]);
/** A new well-formed public key. */
export const newSshKey = (): string => {
  const point = Buffer.from(randomUUID().replaceAll('-', ''), 'utf8');
  return `ssh-ed25519 ${Buffer.concat([KEY_HEAD, point]).toString('base64')}`;
};

/** A well-formed id of nothing. */
export const strangeId = (kind: keyof typeof ID_PREFIXES): string => mintId(ID_PREFIXES[kind]);

export const must = (answer: TestResponse, status: number): TestResponse => {
  if (answer.status !== status)
    throw new Error(`expected ${status}, got ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer;
};

export type RunFacts = Readonly<{ organization_id: string; project_id: string; state: 'stuck' | 'pending' }>;

/** A run as the engine would have left it; no worker knows its workflow, so it does not change. */
export const insertRun = async (sql: Client, facts: RunFacts): Promise<string> => {
  const id = strangeId('workflow_run');
  const stuck = facts.state === 'stuck';
  await sql.query(
    `insert into workflow_runs (id, workflow, workflow_version, subject_id, organization_id, project_id, correlation_id,
       steps, step, state, state_reason, deadline_ms, deadline_at, finished_at, step_count, signals_pending)
     values ($1, 'unregistered', 1, $2, $3, $4, 'test', '{first,second}', 'first', $5, $6, 3600000,
       now() + interval '1 hour', $7, 1, 1)`,
    [
      id,
      randomUUID(),
      facts.organization_id,
      facts.project_id,
      facts.state,
      stuck ? 'The host is gone.' : null,
      stuck ? new Date() : null,
    ],
  );
  await sql.query(
    `insert into workflow_steps (run_id, sequence, organization_id, step, attempt, outcome, started_at, finished_at)
     values ($1, 1, $2, 'first', 1, 'stuck', now(), now())`,
    [id, facts.organization_id],
  );
  await sql.query(`insert into workflow_signals (run_id, organization_id, name) values ($1, $2, 'approve')`, [
    id,
    facts.organization_id,
  ]);
  return id;
};

type AskedFor = Readonly<{ organization_id: string; project_id: string; by: string }>;

export const insertQuotaRequest = async (
  sql: Client,
  { organization_id, project_id, by }: AskedFor,
): Promise<string> => {
  const id = strangeId('quota_request');
  await sql.query(
    `insert into quota_requests (id, organization_id, project_id, gpu_limit, reason, requested_by)
     values ($1, $2, $3, 8, 'A larger run', $4)`,
    [id, organization_id, project_id, by],
  );
  return id;
};

export type Join = Readonly<{ tenant: string; project?: string }>;

/** Makes a user a member of a tenant, and of its project when a role there is named. */
export const join = async (
  sql: Client,
  tenant: Pick<Tenant, 'organization_id'> & Readonly<{ ids: Pick<Ids, 'project_id'> }>,
  userId: string,
  roles: Join,
): Promise<void> => {
  await sql.query('insert into tenant_memberships (organization_id, user_id, role) values ($1, $2, $3)', [
    tenant.organization_id,
    userId,
    roles.tenant,
  ]);
  if (roles.project === undefined) return;
  await sql.query(
    'insert into project_memberships (project_id, organization_id, user_id, role) values ($1, $2, $3, $4)',
    [tenant.ids.project_id, tenant.organization_id, userId, roles.project],
  );
};

const makeTenant = async (test: TestApp, sql: Client, clock: TestClock, name: string): Promise<Tenant> => {
  const owner = await test.user(`${name}-owner`);
  const { id: organization_id } = must(await owner.post('/api/v1/organizations', { name }), 201).body;
  clock.advance(CACHE_OVER_MS);
  const projects = `/api/v1/organizations/${organization_id}/projects`;
  const project_id: string = must(await owner.get(projects), 200).body.items[0].id;
  const project_b_id: string = must(await owner.post(projects, { name: 'second' }), 201).body.id;
  const invited = await owner.post(`/api/v1/organizations/${organization_id}/invitations`, {
    email: 'someone@example.com',
    role: 'member',
  });
  const accounts = `/api/v1/projects/${project_id}/service-accounts`;
  const account = must(await owner.post(accounts, { name: 'machine' }), 201).body.service_account;
  const token = await owner.post(`${accounts}/${account.id}/tokens`, {
    name: 'long-lived',
    scopes: ['all'],
    expires_in_s: 3600,
  });
  const key = await owner.post('/api/v1/ssh-keys', { name: 'laptop', public_key: newSshKey() });
  const colleague = await test.user(`${name}-colleague`);
  const node = await aNode(sql);
  const allocation = await anAllocation(sql, { node, tenant: { organization_id, project_id }, state: 'active' });
  await test.db.database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
  const ids: Ids = {
    organization_id,
    project_id,
    user_id: colleague.me.id,
    invitation_id: must(invited, 201).body.invitation.id,
    service_account_id: account.id,
    token_id: must(token, 201).body.api_token.id,
    ssh_key_id: must(key, 201).body.id,
    web_session_id: await aWebSession(sql, owner.me.id),
    workflow_run_id: await insertRun(sql, { organization_id, project_id, state: 'stuck' }),
    allocation_id: allocation.id,
    session_id: await aRecordedSession(sql, allocation, owner.me),
    access_grant_id: await aGrant(sql, allocation, owner.me.id),
    quota_request_id: await insertQuotaRequest(sql, { organization_id, project_id: project_b_id, by: owner.me.id }),
    node_id: node.id,
  };
  const tenant = { name, owner, organization_id, ids, project_b_id };
  await join(sql, tenant, colleague.me.id, { tenant: 'member', project: 'member' });
  return tenant;
};

export type Tenants = Readonly<{
  test: TestApp;
  clock: TestClock;
  /** Signed in as the owner of the tables, past row-level security. */
  sql: Client;
  acme: Tenant;
  rival: Tenant;
  /** By role, relative to acme and its first project. */
  actors: Readonly<Record<string, Actor>>;
  superadmin: User;
}>;

export const auditRowsOf = async (tenants: Pick<Tenants, 'sql'>, correlationId: string) =>
  (await tenants.sql.query('select * from audit_logs where correlation_id = $1 order by id', [correlationId])).rows;

type TestLike = Readonly<{ after(fn: () => Promise<void>): void }>;

/** The tenants, with the usual setup of tests of acme. */
export const acmeStage = async (t: TestLike) => {
  const clock = testClock();
  const tenants = await makeTenants(t, await startTestApp(t, {}, { clock }), clock);
  return {
    tenants,
    owner: tenants.acme.owner,
    org: `/api/v1/organizations/${tenants.acme.organization_id}`,
    project: `/api/v1/projects/${tenants.acme.ids.project_id}`,
  };
};

export const makeTenants = async (t: TestLike, test: TestApp, clock: TestClock): Promise<Tenants> => {
  const sql = new Client({ connectionString: test.db.ownerUrl });
  await sql.connect();
  t.after(() => sql.end());
  const acme = await makeTenant(test, sql, clock, 'acme');
  const rival = await makeTenant(test, sql, clock, 'rival');
  const superadmin = await test.admin();

  const person = async (name: string, roles: readonly RoleName[], joined: Join): Promise<Actor> => {
    const user = await test.user(name);
    await join(sql, acme, user.me.id, joined);
    return { caller: user, roles, machine: false };
  };
  const ops = await test.user('ops');
  await sql.query("update users set platform_role = 'ops' where id = $1", [ops.me.id]);
  const machine = await acme.owner.post(
    `/api/v1/projects/${acme.ids.project_id}/service-accounts/${acme.ids.service_account_id}/tokens`,
    { name: 'actor', scopes: ['all'], expires_in_s: 3600 },
  );
  const actors: Record<string, Actor> = {
    owner: { caller: acme.owner, roles: ['tenant:owner'], machine: false },
    admin: await person('an-admin', ['tenant:admin'], { tenant: 'admin' }),
    member: await person('a-member', ['tenant:member'], { tenant: 'member' }),
    viewer: await person('a-viewer', ['tenant:viewer'], { tenant: 'viewer' }),
    project_admin: await person('pro-admin', ['tenant:member', 'project:admin'], {
      tenant: 'member',
      project: 'admin',
    }),
    project_member: await person('pro-member', ['tenant:member', 'project:member'], {
      tenant: 'member',
      project: 'member',
    }),
    project_viewer: await person('pro-viewer', ['tenant:member', 'project:viewer'], {
      tenant: 'member',
      project: 'viewer',
    }),
    service_account: {
      caller: test.bearer(must(machine, 201).body.token),
      roles: ['service_account'],
      machine: true,
    },
    stranger: { caller: rival.owner, roles: [], machine: false },
    ops: { caller: ops, roles: ['platform:ops'], machine: false },
    superadmin: { caller: superadmin, roles: ['platform:superadmin'], machine: false },
  };
  clock.advance(CACHE_OVER_MS);
  return { test, clock, sql, acme, rival, actors, superadmin };
};
