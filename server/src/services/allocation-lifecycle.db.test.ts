import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { Client } from 'pg';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { settle, truth } from '../../test/host.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { type AllocationFacts, aNode, anAllocation } from '../../test/placement.ts';
import { must } from '../../test/tenants.ts';
import { PLATFORM } from '../db/client.ts';
import { refreshSummary } from '../placement/summary.ts';
import { DUE_REASON, releaseDue } from '../reconcilers/release-due.ts';
import { startRelease } from '../workflows/start-cleanup.ts';

/** The API alone: workers run when a test starts them. */
const world = async (t: TestContext) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const test: TestApp = await startTestApp(t, { roles: ['gpuaas-api'] });
  const sql = new Client({ connectionString: test.db.ownerUrl });
  await sql.connect();
  open.push(sql);
  const owner = await test.user('owner');
  const admin = await test.admin();
  const tenant = { organization_id: owner.organization_id, project_id: owner.project_id };
  const make = async (facts: Omit<AllocationFacts, 'node'> = {}) => {
    const node = await aNode(sql);
    const made = await anAllocation(sql, { node, tenant, ...facts });
    await test.db.database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
    return made;
  };
  const path = `/api/v1/projects/${tenant.project_id}`;
  return { test, database: test.db.database, sql, owner, admin, make, path };
};

describe('releasing through the API', () => {
  it('is refused while protected, accepted once unprotected, and accepted again while releasing', async (t) => {
    const { sql, owner, make, path, database } = await world(t);
    const { id } = await make({ state: 'active', is_protected: true });
    const url = `${path}/allocations/${id}/release`;
    const refused = must(await owner.post(url, {}), 409).body;
    assert.match(refused.detail, /protected/);
    await sql.query('update allocations set is_protected = false where id = $1', [id]);
    const first = must(await owner.post(url, {}), 202).body;
    const second = must(await owner.post(url, {}), 202).body;
    assert.equal(first.state, 'releasing');
    assert.deepEqual([second.version, second.release_requested_at], [first.version, first.release_requested_at]);
    assert.equal(first.cost_so_far.amount_minor, 450);
    await settle(database);
    const ended = must(await owner.get(`${path}/allocations/${id}`), 200).body;
    assert.equal(ended.state, 'released');
    assert.equal(ended.cost_so_far.amount_minor, 450, 'cleanup is not charged');
    must(await owner.post(url, {}), 409);
    must(await owner.post(`${path}/allocations/alc_${'0'.repeat(26)}/release`, {}), 404);
  });

  it('leaves one audit row with the tenant, and one idempotent response', async (t) => {
    const { sql, owner, make, path } = await world(t);
    const { id } = await make({ state: 'active' });
    const key = { 'idempotency-key': randomUUID() };
    const once = must(await owner.post(`${path}/allocations/${id}/release`, {}, key), 202).body;
    const again = must(await owner.post(`${path}/allocations/${id}/release`, {}, key), 202).body;
    assert.deepEqual(again, once);
    const { rows } = await sql.query(
      "select action, result, metadata ->> 'replayed' as replayed from audit_logs where target_id = $1 and policy <> 'test' order by id",
      [id],
    );
    assert.deepEqual(rows, [
      { action: 'allocation.release', result: 'success', replayed: null },
      { action: 'allocation.release', result: 'success', replayed: 'true' },
    ]);
  });
});

describe('usage through the API', () => {
  it('shows running allocations at their price so far and ended ones at their final cost', async (t) => {
    const { owner, make, path } = await world(t);
    const running = await make({ state: 'active', gpu_count: 2, price_minor: 100 });
    const ended = await make({ state: 'active' });
    must(await owner.post(`${path}/allocations/${ended.id}/release`, {}), 202);
    const { items } = must(await owner.get(`${path}/usage`), 200).body;
    assert.deepEqual(
      items.map((item: { allocation_id: string; cost: object; ended_at: string | null }) => [
        item.allocation_id,
        item.cost,
        item.ended_at === null,
      ]),
      [
        [ended.id, { amount_minor: 450, currency: 'USD' }, false],
        [running.id, { amount_minor: 200, currency: 'USD' }, true],
      ],
    );
    const filtered = must(await owner.get(`${path}/usage?allocation_id=${running.id}&limit=1`), 200).body;
    assert.equal(filtered.items.length, 1);
    assert.equal(filtered.next_cursor, null);
    const paged = must(await owner.get(`${path}/usage?limit=1`), 200).body;
    const next = must(await owner.get(`${path}/usage?limit=1&cursor=${paged.next_cursor}`), 200).body;
    assert.deepEqual(
      [...paged.items, ...next.items].map((item: { allocation_id: string }) => item.allocation_id),
      [ended.id, running.id],
    );
  });
});

describe('operators', () => {
  it('see shape, node and claims of every tenant, by state, node and organization', async (t) => {
    const { admin, owner, make } = await world(t);
    const slice = await make({ state: 'active', gpu_count: 2 });
    const whole = await make({ state: 'requested', shape: 'baremetal' });
    const { items } = must(await admin.get('/api/v1/admin/allocations'), 200).body;
    assert.deepEqual(
      items.map((item: { allocation: { id: string }; claims: unknown[] }) => [item.allocation.id, item.claims.length]),
      [
        [whole.id, 1],
        [slice.id, 2],
      ],
    );
    const one = must(await admin.get(`/api/v1/admin/allocations/${whole.id}`), 200).body;
    assert.deepEqual(
      [one.node_id, one.allocation.capacity_shape, one.claims[0].claim_kind, one.claims[0].released_at],
      [whole.node_id, 'baremetal', 'node_exclusive', null],
    );
    const only = async (query: string) =>
      must(await admin.get(`/api/v1/admin/allocations?${query}`), 200).body.items.map(
        (item: { allocation: { id: string } }) => item.allocation.id,
      );
    assert.deepEqual(await only('state=active'), [slice.id]);
    assert.deepEqual(await only(`node_id=${whole.node_id}`), [whole.id]);
    assert.deepEqual(await only(`organization_id=${slice.organization_id}`), [whole.id, slice.id]);
    must(await owner.get('/api/v1/admin/allocations'), 403);
  });

  it('release protected allocations, with an audited reason, and still only proof frees them', async (t) => {
    const { admin, sql, make, database } = await world(t);
    const made = await make({ state: 'active', is_protected: true });
    const url = `/api/v1/admin/allocations/${made.id}/force-release`;
    const answer = must(await admin.post(url, { reason: 'Host is due for repair' }), 202).body;
    assert.equal(answer.allocation.state, 'releasing');
    assert.deepEqual(
      answer.claims.map((claim: { released_at: null }) => claim.released_at),
      [null],
    );
    await settle(database);
    const ended = must(await admin.get(`/api/v1/admin/allocations/${made.id}`), 200).body;
    assert.equal(ended.allocation.state, 'released');
    assert.match(ended.claims[0].wipe_proof_id, /^wpf_/);
    const { rows } = await sql.query(
      `select a.organization_id, a.metadata, r.correlation_id = a.correlation_id as is_its_run from audit_logs a
       join workflow_runs r on r.id = a.metadata ->> 'workflow_run_id' where a.target_id = $1 and a.actor_kind = 'user'`,
      [made.id],
    );
    const [row] = rows;
    assert.deepEqual(
      [row.organization_id, row.metadata.reason, row.metadata.from_state, row.is_its_run],
      [made.organization_id, 'Host is due for repair', 'active', true],
    );
  });

  it('restart a blocked cleanup; confirming that nothing runs skips the stop and frees nothing', async (t) => {
    const { admin, sql, make, database } = await world(t);
    const made = await make({ state: 'release_failed' });
    const url = `/api/v1/admin/allocations/${made.id}/force-cleanup`;
    const body = { reason: 'Seen on the console', runtime_verified_absent: true };
    const answer = must(await admin.post(url, body), 202).body;
    assert.deepEqual([answer.allocation.state, answer.claims[0].released_at], ['releasing', null]);
    const slots = async () =>
      (await sql.query('select status from node_resource_slots where id = any ($1)', [made.slot_ids])).rows;
    assert.deepEqual(await slots(), [{ status: 'cleaning' }]);
    const kinds = await settle(database, { answer: (task) => ({ ...truth(task), network_detached: false }) });
    assert.deepEqual([...new Set(kinds)], ['slice.cleanup'], 'the stop is skipped');
    assert.deepEqual(await slots(), [{ status: 'cleanup_blocked' }], 'a lie frees nothing');
    must(await admin.post(url, { ...body, runtime_verified_absent: false }), 202);
    await settle(database);
    assert.deepEqual(await slots(), [{ status: 'available' }]);
    assert.match(must(await admin.post(url, body), 409).body.detail, /released and needs no cleanup/);
    const active = await make({ state: 'active' });
    must(await admin.post(`/api/v1/admin/allocations/${active.id}/force-cleanup`, body), 409);
  });
});

describe('a cleanup whose host has later generations than a restored database', () => {
  it('continues from the host’s generations once an operator confirmed exactly those', async (t) => {
    const { admin, sql, make, database } = await world(t);
    const made = await make({ state: 'release_failed', gpu_count: 2 });
    const [first = '', second = ''] = made.slot_ids;
    const url = `/api/v1/admin/allocations/${made.id}/force-cleanup`;
    const given = (host_generation: number) => ({ slot_id: first, host_generation });
    const body = (...adopted_generations: readonly { slot_id: string; host_generation: number }[]) => ({
      reason: 'Restored; looked at the host',
      runtime_verified_absent: false,
      adopted_generations,
    });
    const refused = must(await admin.post(url, body(given(7))), 409).body;
    assert.match(refused.detail, /has not reported/, 'only the host says what it knows');

    await sql.query('update node_resource_slots set host_generation = 7 where id = $1', [first]);
    const seen = await admin.get(`/api/v1/admin/nodes/${made.node_id}/resource-slots/${first}`);
    assert.equal(seen.body.host_generation, 7);
    for (const wrong of [body(given(6)), body(given(8)), body(given(7), { slot_id: second, host_generation: 7 })])
      assert.match(must(await admin.post(url, wrong), 412).body.detail, /slot \d: 7\)/);
    const { rows } = await sql.query('select generation from node_resource_slots where id = $1', [first]);
    assert.ok(rows[0].generation < 7, 'a refused confirmation changes nothing');

    must(await admin.post(url, body(given(7))), 202);
    const generations: (number | undefined)[] = [];
    await settle(database, {
      answer: (task) => {
        const slots = task.params['slots'] as { slot_id: string; generation: number }[];
        generations.push(slots.find(({ slot_id }) => slot_id === first)?.generation);
        return truth(task);
      },
    });
    assert.deepEqual(generations, [8, 8], 'stop and wipe are of a later claim than the host has seen');
    const ended = must(await admin.get(`/api/v1/admin/allocations/${made.id}`), 200).body;
    assert.equal(ended.allocation.state, 'released');
    assert.ok(ended.claims.every((claim: { wipe_proof_id: string | null }) => claim.wipe_proof_id !== null));
    const audit = await sql.query(
      "select metadata -> 'adopted_generations' as told from audit_logs where target_id = $1 and action = 'allocation.force_cleanup' and result = 'success'",
      [made.id],
    );
    assert.deepEqual(audit.rows, [{ told: [given(7)] }]);
    await assertInvariants(database);
  });

  it('is not adopted while the host works on it, and for a whole node updates its slots', async (t) => {
    const { admin, sql, make, database } = await world(t);
    const made = await make({ state: 'release_failed', shape: 'baremetal' });
    await sql.query('update node_resource_slots set host_generation = 5 where node_id = $1 and slot_index < 2', [
      made.node_id,
    ]);
    const { items } = (await admin.get(`/api/v1/admin/nodes/${made.node_id}/resource-slots?limit=20`)).body;
    const adopted_generations = items
      .filter((slot: { host_generation: number | null }) => slot.host_generation !== null)
      .map((slot: { id: string; host_generation: number }) => ({
        slot_id: slot.id,
        host_generation: slot.host_generation,
      }));
    assert.equal(adopted_generations.length, 2);
    const url = `/api/v1/admin/allocations/${made.id}/force-cleanup`;
    const body = { reason: 'Restored', runtime_verified_absent: false };
    must(await admin.post(url, body), 202);
    await settle(database, { rounds: 2, host: async () => 0 });
    await sql.query("update node_tasks set state = 'running', dispatched_at = now() where allocation_id = $1", [
      made.id,
    ]);
    assert.match(must(await admin.post(url, { ...body, adopted_generations }), 409).body.detail, /running a task/);
    await sql.query("update node_tasks set state = 'queued' where allocation_id = $1", [made.id]);
    must(await admin.post(url, { ...body, adopted_generations }), 202);
    await settle(database);
    const { rows } = await sql.query(
      'select distinct generation from node_resource_slots where node_id = $1 and slot_index < 2',
      [made.node_id],
    );
    assert.deepEqual(rows, [{ generation: 6 }]);
    assert.equal((await admin.get(`/api/v1/admin/allocations/${made.id}`)).body.allocation.state, 'released');
    await assertInvariants(database);
  });
});

describe('maximum duration', () => {
  it('is not set to a past time: an immediate end is a release', async (t) => {
    const { owner, make, path } = await world(t);
    const { id } = await make({ state: 'active' });
    const url = `${path}/allocations/${id}`;
    const set = (max_duration_s: number | null) => owner.call('PATCH', url, { max_duration_s }, { 'if-match': '"v1"' });
    const refused = must(await set(1800), 409).body;
    assert.match(refused.detail, /active for 36\d\d s, longer than the maximum duration of 1800 s\. Release it/);
    assert.equal(must(await owner.get(url), 200).body.max_duration_s, null);
    assert.equal(must(await set(7200), 200).body.max_duration_s, 7200);
    const waiting = await make({ state: 'requested' });
    const other = `${path}/allocations/${waiting.id}`;
    must(await owner.call('PATCH', other, { max_duration_s: 1800 }, { 'if-match': '"v1"' }), 200);
  });

  it('releases unprotected allocations on time, once, with the system as the actor', async (t) => {
    const { sql, make, database } = await world(t);
    const due = await make({ state: 'active', max_duration_s: 3600 });
    const later = await make({ state: 'active', max_duration_s: 7200 });
    const kept = await make({ state: 'active', max_duration_s: 3600, is_protected: true });
    await sql.query('update allocations set release_at = activated_at + make_interval(secs => max_duration_s)');
    const release = (tx: Parameters<typeof startRelease>[0], allocation_id: string, reason: string) =>
      startRelease(tx, { allocation_id, reason });
    assert.equal(await releaseDue({ database, release }), 1);
    assert.equal(await releaseDue({ database, release }), 0);
    const { rows } = await sql.query('select id, state, state_reason from allocations order by id');
    assert.deepEqual(rows, [
      { id: due.id, state: 'releasing', state_reason: DUE_REASON },
      { id: later.id, state: 'active', state_reason: null },
      { id: kept.id, state: 'active', state_reason: null },
    ]);
    const audit = await sql.query(
      "select actor_kind, action, organization_id from audit_logs where target_id = $1 and policy <> 'test'",
      [due.id],
    );
    assert.deepEqual(audit.rows, [
      { actor_kind: 'system', action: 'allocation.release', organization_id: due.organization_id },
    ]);
  });

  it('releases the last one although hundreds before it fail', async (t) => {
    const { sql, make, database } = await world(t);
    const { id: due } = await make({ state: 'active', max_duration_s: 3600 });
    await sql.query("update allocations set release_at = now() - interval '1 hour'");
    // Copies that are due earlier. They hold nothing and cannot be released.
    const { rows: columns } = await sql.query<{ list: string }>(
      `select string_agg(quote_ident(column_name), ', ') as list from information_schema.columns
       where table_name = 'allocations' and is_generated = 'NEVER' and column_name not in ('id', 'name', 'release_at')`,
    );
    const list = columns[0]?.list;
    await sql.query('set session_replication_role = replica');
    await sql.query(
      `insert into allocations (id, name, release_at, ${list})
       select 'alc_broken' || n, 'broken-' || n, release_at - interval '1 hour', ${list} from allocations, generate_series(1, 250) n`,
    );
    await sql.query('set session_replication_role = origin');
    const release = async (tx: Parameters<typeof startRelease>[0], allocation_id: string, reason: string) => {
      if (allocation_id !== due) throw new Error('it cannot be released');
      return startRelease(tx, { allocation_id, reason });
    };
    await assert.rejects(releaseDue({ database, release }), /^AggregateError: 250 of 251 could not be released$/);
    const { rows } = await sql.query('select state from allocations where id = $1', [due]);
    assert.deepEqual(rows, [{ state: 'releasing' }]);
  });

  it('skips allocations extended after listing, and one failure does not block other releases', async (t) => {
    const { sql, make, database } = await world(t);
    const broken = await make({ state: 'active', max_duration_s: 3600 });
    const prolonged = await make({ state: 'active', max_duration_s: 3600 });
    const due = await make({ state: 'active', max_duration_s: 3600 });
    const order = [broken.id, prolonged.id, due.id];
    await sql.query(
      "update allocations set release_at = now() - interval '1 hour' + make_interval(secs => array_position($1, id))",
      [order],
    );
    const release = async (tx: Parameters<typeof startRelease>[0], allocation_id: string, reason: string) => {
      if (allocation_id !== broken.id) return startRelease(tx, { allocation_id, reason });
      await sql.query("update allocations set release_at = now() + interval '1 hour' where id = $1", [prolonged.id]);
      throw new Error('the first cannot be released');
    };
    await assert.rejects(releaseDue({ database, release }), AggregateError);
    const { rows } = await sql.query('select id, state from allocations order by array_position($1, id)', [order]);
    assert.deepEqual(rows, [
      { id: broken.id, state: 'active' },
      { id: prolonged.id, state: 'active' },
      { id: due.id, state: 'releasing' },
    ]);
  });
});
