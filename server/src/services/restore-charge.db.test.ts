/** What an allocation costs that a restored database still charges although its host had ended it. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Client } from 'pg';
import { startTestApp } from '../../test/app.ts';
import { settle } from '../../test/host.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { type AllocationFacts, aNode, anAllocation } from '../../test/placement.ts';
import { must } from '../../test/tenants.ts';
import { PLATFORM } from '../db/client.ts';
import { refreshSummary } from '../placement/summary.ts';

/** The API alone. Allocations have been active for an hour, at 450 cents. */
const world = async (t: TestContext) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const test = await startTestApp(t, { roles: ['gpuaas-api'] });
  const { database, ownerUrl } = test.db;
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const owner = await test.user('owner');
  const admin = await test.admin();
  const tenant = { organization_id: owner.organization_id, project_id: owner.project_id };
  const make = async (facts: Omit<AllocationFacts, 'node'> = {}) => {
    const node = await aNode(sql);
    const made = await anAllocation(sql, { node, tenant, ...facts });
    await database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
    return made;
  };
  const usageOf = async (id: string) =>
    (
      await sql.query('select id, started_at, ended_at, cost_minor::int from usage_records where allocation_id = $1', [
        id,
      ])
    ).rows[0];
  /** A time after the start of the charge. */
  const minutesIn = async (id: string, minutes: number): Promise<string> =>
    new Date(Date.parse((await usageOf(id)).started_at) + minutes * 60_000).toISOString();
  const restore = async () => must(await admin.post('/api/v1/admin/restore', { reason: 'restored' }), 201);
  const forceRelease = (id: string, charge_until?: string) =>
    admin.post(`/api/v1/admin/allocations/${id}/force-release`, { reason: 'gone from the host', charge_until });
  const path = `/api/v1/projects/${tenant.project_id}`;
  return { test, database, sql, make, usageOf, minutesIn, restore, forceRelease, path };
};
type World = Awaited<ReturnType<typeof world>>;

const isCheckedIn = async ({ database, sql }: World): Promise<void> => {
  await sql.query('update nodes set restore_hold_id = null');
  await settle(database);
  await assertInvariants(database);
};

describe('an allocation that its host ended before the restore', () => {
  it('is charged until then, and the audit row has both costs', async (t) => {
    const w = await world(t);
    const { id } = await w.make({ state: 'active' });
    await w.restore();
    const until = await w.minutesIn(id, 20);
    const { allocation } = must(await w.forceRelease(id, until), 202).body;
    assert.deepEqual([allocation.state, allocation.cost_so_far.amount_minor], ['releasing', 150]);
    assert.equal((await w.usageOf(id)).ended_at, until);
    const { rows } = await w.sql.query(
      "select metadata from audit_logs where target_id = $1 and action = 'allocation.force_release'",
      [id],
    );
    const { charge_until, cost_minor_before, cost_minor } = rows[0].metadata;
    assert.deepEqual([charge_until, cost_minor_before, cost_minor], [until, 450, 150]);
    await isCheckedIn(w);
  });

  it('is charged until then also where its tenant has released it since, and once however often that is repeated', async (t) => {
    const w = await world(t);
    const { id } = await w.make({ state: 'active' });
    await w.restore();
    const owner = await w.test.user('owner');
    must(await owner.post(`${w.path}/allocations/${id}/release`, {}), 202);
    assert.equal((await w.usageOf(id)).cost_minor, 450);
    const until = await w.minutesIn(id, 40);
    for (let again = 0; again < 2; again++) {
      must(await w.forceRelease(id, until), 202);
      assert.equal((await w.usageOf(id)).cost_minor, 300);
    }
    assert.equal((await w.forceRelease(id, await w.minutesIn(id, 41))).status, 400, 'a charge never grows again');
    await isCheckedIn(w);
  });

  it('keeps its charge and its state where the time is refused', async (t) => {
    const w = await world(t);
    const { id } = await w.make({ state: 'active' });
    const within = await w.minutesIn(id, 20);
    assert.match(must(await w.forceRelease(id, within), 409).body.detail, /not held by a restore/);
    const requested = await w.make({ state: 'requested' });
    await w.restore();
    assert.match(must(await w.forceRelease(requested.id, within), 409).body.detail, /never charged/);
    for (const outside of [await w.minutesIn(id, -1), await w.minutesIn(id, 120), '9989-08-14T05:25:19.462Z']) {
      const { errors } = must(await w.forceRelease(id, outside), 400).body;
      assert.equal(errors[0].pointer, '/body/charge_until');
    }
    assert.equal((await w.usageOf(id)).ended_at, null);
    const stateOf = async (one: string) =>
      (await w.sql.query('select state from allocations where id = $1', [one])).rows[0].state;
    assert.deepEqual([await stateOf(id), await stateOf(requested.id)], ['active', 'requested']);
  });

  it('has a closed record whose change in any other way the database refuses', async (t) => {
    const w = await world(t);
    const { id } = await w.make({ state: 'active' });
    await w.restore();
    const until = await w.minutesIn(id, 20);
    must(await w.forceRelease(id, until), 202);
    const change = (set: string) => w.sql.query(`update usage_records set ${set} where allocation_id = $1`, [id]);
    for (const set of [
      "ended_at = ended_at + interval '1 minute'",
      "ended_at = ended_at - interval '1 minute'",
      'cost_minor = 1, gpu_count = gpu_count + 1',
    ])
      await assert.rejects(change(set), /is closed/, set);
    await w.sql.query('update nodes set restore_hold_id = null');
    await assert.rejects(change('cost_minor = 1'), /is closed/, 'after the node was released');
  });
});
