import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ALLOCATION_STATES } from '@gpuaas/contract';
import { Client } from 'pg';
import { startTestApp } from '../../test/app.ts';
import { settle } from '../../test/host.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode } from '../../test/placement.ts';
import { must } from '../../test/tenants.ts';
import { until } from '../../test/until.ts';
import { PLATFORM } from '../db/client.ts';
import { refreshSummary } from '../placement/summary.ts';

const REGION = 'us-buffalo-1';
const LAUNCH = { sku_name: 'h200-sxm-slice', region_name: REGION, gpu_count: 1 };

type Closing = Readonly<{ after(fn: () => Promise<void>): void }>;

/** The API alone, with one free node. */
const startWorld = async (t: Closing) => {
  const open: Client[] = [];
  const test = await startTestApp(t, { roles: ['gpuaas-api'] });
  t.after(async () => void (await Promise.all(open.map((client) => client.end()))));
  const { database } = test.db;
  const connect = async (): Promise<Client> => {
    const client = new Client({ connectionString: test.db.ownerUrl });
    await client.connect();
    open.push(client);
    return client;
  };
  const sql = await connect();
  const owner = await test.user('owner');
  const node = await aNode(sql, { region_name: REGION });
  await database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
  return { database, connect, sql, owner };
};

/** A separate project for each test. */
const newProject = async ({ database, connect, sql, owner }: Awaited<ReturnType<typeof startWorld>>, name: string) => {
  const projects = `/api/v1/organizations/${owner.organization_id}/projects`;
  const { id } = must(await owner.post(projects, { name }), 201).body;
  const path = `/api/v1/projects/${id}`;
  const launch = (name: string) => owner.post(`${path}/allocations`, { ...LAUNCH, name });
  const remove = () => owner.call('DELETE', path);
  /** Waits until `n` database sessions wait for a lock. */
  const blocked = (n: number) =>
    until(`${n} waiting for a lock`, async () => {
      const { rows } = await sql.query<{ n: number }>(
        `select count(*)::int as n from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and pid <> pg_backend_pid()`,
      );
      return (rows[0]?.n ?? 0) >= n;
    });
  return { database, connect, owner, id, path, launch, remove, blocked };
};

describe('a project', () => {
  const closers: (() => Promise<void>)[] = [];
  let world: Awaited<ReturnType<typeof startWorld>>;
  before(async () => {
    world = await startWorld({ after: (fn) => void closers.unshift(fn) });
  });
  after(async () => {
    for (const close of closers) await close();
  });

  it('is kept while an allocation of it has a claim, and deleted once the last is released', async () => {
    const { database, owner, path, launch, remove } = await newProject(world, 'kept');
    const made = must(await launch('train'), 202).body;
    const kept = must(await remove(), 409).body;
    assert.equal(kept.code, 'conflict');
    assert.match(kept.detail, /holds 1 allocation \(train\)/);
    const shown = must(await owner.get(path), 200).body.actions;
    assert.deepEqual(
      shown.find(({ name }: { name: string }) => name === 'delete'),
      { name: 'delete', allowed: false, reason: kept.detail },
    );
    await settle(database);
    must(await owner.post(`${path}/allocations/${made.id}/release`, {}), 202);
    assert.match(must(await remove(), 409).body.detail, /wait for the cleanup/);
    await settle(database);
    must(await remove(), 204);
    must(await launch('late'), 404);
    await assertInvariants(database);
  });

  it('is kept while an allocation of it has not ended, whether or not it has a claim', async () => {
    const { owner, id, remove } = await newProject(world, 'unclaimed');
    await world.sql.query(
      `insert into allocations (id, organization_id, project_id, name, capacity_shape, sku_name, region_name, gpu_count,
         state, requested_by, activated_at, release_requested_at, released_at, correlation_id)
       select 'alc_' || left(md5(state), 26), $1, $2, replace(state, '_', '-'), 'gpu_slice', $3, $4, 1,
         state, $5, now(), now(), case when state = 'released' then now() end, 'cor_unclaimed'
       from unnest($6::text[]) state`,
      [owner.organization_id, id, LAUNCH.sku_name, REGION, owner.me.id, ALLOCATION_STATES],
    );
    const take = (state: string) =>
      world.sql.query('delete from allocations where project_id = $1 and name = $2', [id, state.replace('_', '-')]);
    // Three are named, in alphabetical order.
    for (const state of ['active', 'provisioning', 'release_failed', 'releasing', 'requested']) {
      assert.match(must(await remove(), 409).body.detail, new RegExp(`\\(${state.replace('_', '-')}\\b`));
      await take(state);
    }
    must(await remove(), 204);
    for (const state of ['released', 'failed']) await take(state);
  });

  it('is kept while a run or a session of a released allocation has not ended', async () => {
    const { owner, id, launch, path, remove } = await newProject(world, 'unended');
    const made = must(await launch('train'), 202).body;
    await settle(world.database);
    must(await owner.post(`${path}/allocations/${made.id}/release`, {}), 202);
    await settle(world.database);
    const values = [made.id, owner.organization_id, id];
    await world.sql.query(
      `insert into workflow_runs (id, workflow, workflow_version, subject_id, organization_id, project_id, correlation_id, steps,
         step, deadline_ms, deadline_at)
       values ('wfr_unended', 'stop-slice', 1, $1, $2, $3, 'cor_unended', '{x}', 'x', 1000, now() + interval '1 hour')`,
      values,
    );
    assert.match(must(await remove(), 409).body.detail, /holds 1 allocation \(train\)/);
    await world.sql.query("delete from workflow_runs where id = 'wfr_unended'");
    await world.sql.query(
      `insert into terminal_sessions (id, organization_id, project_id, allocation_id, node_id, kind, is_writable, state,
         principal_id, principal_kind, principal_name, gateway_url, ticket_expires_at, correlation_id, expires_at)
       select 'ses_unended', $2, $3, $1, node_id, 'ssh', true, 'open', requested_by, 'user', 'x', 'http://gateway', now(),
         'cor_unended', now() from allocations where id = $1`,
      values,
    );
    assert.match(must(await remove(), 409).body.detail, /holds 1 allocation \(train\)/);
    await world.sql.query("delete from terminal_sessions where id = 'ses_unended'");
    must(await remove(), 204);
    await assertInvariants(world.database);
  });

  it('keeps its organization: no server role may delete one, nor the owner one that has projects', async () => {
    const { owner } = world;
    const { rows } = await world.sql.query(
      `select has_table_privilege('gpuaas_app', 'organizations', 'delete') as may_delete,
         exists (select from pg_attribute where attrelid = 'organizations'::regclass and attname = 'deleted_at') as can_be_marked`,
    );
    assert.deepEqual(rows, [{ may_delete: false, can_be_marked: false }]);
    await assert.rejects(
      world.sql.query('delete from organizations where id = $1', [owner.organization_id]),
      /violates foreign key constraint/,
    );
  });

  it('that is being deleted accepts no launch: the launch waits and finds it deleted', async () => {
    const { database, connect, id, launch, blocked } = await newProject(world, 'deleting');
    const deletion = await connect();
    await deletion.query('begin');
    await deletion.query('select from projects where id = $1 for update', [id]);
    const launching = launch('race');
    await blocked(1);
    await deletion.query('update projects set deleted_at = now() where id = $1', [id]);
    await deletion.query('commit');
    assert.equal(must(await launching, 404).body.code, 'not_found');
    await assertInvariants(database);
  });

  it('that is being deleted takes neither a member nor a service account: they wait and find it deleted', async () => {
    const { connect, id, path, owner, blocked } = await newProject(world, 'closing');
    const deletion = await connect();
    await deletion.query('begin');
    await deletion.query('select from projects where id = $1 for update', [id]);
    const member = owner.call('PUT', `${path}/members/${owner.me.id}`, { role: 'viewer' });
    const account = owner.post(`${path}/service-accounts`, { name: 'robot' });
    await blocked(2);
    await deletion.query('update projects set deleted_at = now() where id = $1', [id]);
    await deletion.query('commit');
    for (const answer of [await member, await account]) assert.equal(must(answer, 404).body.code, 'not_found');
    const { rows } = await world.sql.query(
      `select (select count(*)::int from project_memberships where project_id = $1) as members,
         (select count(*)::int from service_accounts where project_id = $1) as accounts`,
      [id],
    );
    assert.deepEqual(rows, [{ members: 0, accounts: 0 }]);
  });

  it('with a launch in progress is not deleted: the deletion waits and finds the claim', async () => {
    const { database, connect, id, launch, remove, blocked } = await newProject(world, 'launching');
    const holder = await connect();
    await holder.query('begin');
    await holder.query('select from projects where id = $1 for key share', [id]);
    const removing = remove();
    await blocked(1);
    // A launch takes the same lock as the holder, so the waiting deletion does not block it.
    must(await launch('race'), 202);
    await holder.query('commit');
    assert.match(must(await removing, 409).body.detail, /race/);
    await assertInvariants(database);
  });
});
