import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { startTestApp, type TestApp } from '../../test/app.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode, type NodeFacts, type TestNode } from '../../test/placement.ts';
import { PLATFORM } from '../db/client.ts';
import { refreshSummary } from '../placement/summary.ts';

const REGION = 'us-buffalo-1';
const slice = (gpu_count: number, name = `s-${randomUUID()}`) => ({
  name,
  sku_name: 'h200-sxm-slice',
  region_name: REGION,
  gpu_count,
});
const bareMetal = (name = `b-${randomUUID()}`) => ({
  name,
  sku_name: 'h200-sxm-baremetal-8g',
  region_name: REGION,
  gpu_count: 8,
});

/** Each test has its own control plane: its free capacity is what it created. */
const story = () => {
  const closers: (() => Promise<void>)[] = [];
  const world = {} as { test: TestApp; sql: Client; ada: Awaited<ReturnType<TestApp['user']>> };
  before(async () => {
    // No worker runs, so allocations stay as create left them.
    world.test = await startTestApp({ after: (fn) => void closers.unshift(fn) }, { roles: ['gpuaas-api'] });
    world.ada = await world.test.user('ada');
    world.sql = new Client({ connectionString: world.test.db.ownerUrl });
    await world.sql.connect();
  });
  after(async () => {
    await assertInvariants(world.test.db.database);
    await world.sql.end();
    for (const close of closers) await close();
  });
  const node = async (facts: NodeFacts = {}): Promise<TestNode> => {
    const made = await aNode(world.sql, { region_name: REGION, ...facts });
    await world.test.db.database.write(PLATFORM, (tx) => refreshSummary(tx, made.id));
    return made;
  };
  const path = (suffix = '') => `/api/v1/projects/${world.ada.project_id}/allocations${suffix}`;
  const rows = async (text: string, values: unknown[] = []) => (await world.sql.query(text, values)).rows;
  return { world, node, path, rows };
};

describe('a launch', () => {
  const { world, node, path, rows } = story();
  let home: TestNode;

  it('writes claims, slot states, placement, quota, run, event and audit row together', async () => {
    home = await node();
    const made = await world.ada.post(path(), { ...slice(2), tags: { team: 'vision' }, max_duration_s: 3600 });
    assert.equal(made.status, 202, JSON.stringify(made.body));
    assert.equal(made.headers['location'], path(`/${made.body.id}`));
    assert.deepEqual(
      [made.body.state, made.body.placement.vm_profile, made.body.cost_so_far.amount_minor],
      ['requested', 'h200_2g_48c_128g', 0],
    );
    const { id } = made.body;
    const claims = await rows('select * from allocation_resource_claims where allocation_id = $1', [id]);
    assert.deepEqual(
      claims.map((claim) => [claim.claim_kind, claim.node_id, claim.released_at]),
      [
        ['slot', home.id, null],
        ['slot', home.id, null],
      ],
    );
    const slots = await rows('select status, generation from node_resource_slots where id = any ($1)', [
      claims.map((claim) => claim.slot_id),
    ]);
    assert.deepEqual(slots, [
      { status: 'reserved', generation: 1 },
      { status: 'reserved', generation: 1 },
    ]);
    assert.deepEqual(
      await rows('select gpu_used from quotas where organization_id = $1', [world.ada.organization_id]),
      [{ gpu_used: 2 }, { gpu_used: 2 }],
    );
    assert.deepEqual((await rows('select workflow, state from workflow_runs where subject_id = $1', [id]))[0], {
      workflow: 'provision-slice',
      state: 'pending',
    });
    assert.equal(
      (await rows("select from outbox_events where event_type = 'allocation.changed' and subject = $1", [id])).length,
      1,
    );
    assert.equal(
      (await rows("select from audit_logs where action = 'allocation.create' and target_id = $1", [id])).length,
      1,
    );
    const read = (await world.ada.get(path(`/${id}`))).body;
    assert.deepEqual({ ...read, progress: null }, made.body, 'but for progress, which only a read returns');
    assert.equal(read.progress.step_number, 1);
    assert.match((await world.ada.get('/metrics')).body, /gpuaas_allocations\{state="requested"\} 1/);
    await world.sql.query("update allocations set state_deadline_at = now() - interval '1 second' where id = $1", [id]);
    assert.match((await world.ada.get('/metrics')).body, /gpuaas_allocations_overdue\{state="requested"\} 1/);
  });

  it('of several GPUs gets a set that the fabric can assign to one guest', async () => {
    const partitions = [
      [1, 3],
      [2, 4],
      [5, 7],
      [6, 8],
    ].map(String);
    for (let n = 0; n < 3; n++) {
      const made = await world.ada.post(path(), slice(2));
      assert.equal(made.status, 202);
      const modules = await rows(
        `select s.module_id from allocation_resource_claims c join node_resource_slots s on s.id = c.slot_id where c.allocation_id = $1 order by 1`,
        [made.body.id],
      );
      assert.ok(partitions.includes(String(modules.map((row) => row.module_id))), JSON.stringify(modules));
    }
  });

  it('that fits nowhere is refused with the holders of the capacity, and without naming hosts or devices', async () => {
    const refused = await world.ada.post(path(), slice(4));
    assert.deepEqual([refused.status, refused.body.code], [409, 'insufficient_capacity']);
    const filters = refused.body.reasons.find((reason: { code: string }) => reason.code === 'filters');
    assert.equal(filters.unavailable_gpus.claimed, 8);
    assert.ok(refused.body.retryable && Number(refused.headers['retry-after']) > 0);
    assert.doesNotMatch(JSON.stringify(refused.body), /0000:|nod_|node-|\/dev\//);
    assert.equal(
      (await rows("select from audit_logs where action = 'allocation.create' and result = 'failure'")).length,
      1,
    );
  });

  it('with a count that the SKU does not offer: 400 by field', async () => {
    const refused = await world.ada.post(path(), slice(3));
    assert.deepEqual([refused.status, refused.body.errors[0].pointer], [400, '/body/gpu_count']);
  });

  it('with a duplicate name is refused and stores nothing', async () => {
    await node();
    const name = 'taken';
    assert.equal((await world.ada.post(path(), slice(1, name))).status, 202);
    const used = await rows('select gpu_used from quotas where organization_id = $1', [world.ada.organization_id]);
    const again = await world.ada.post(path(), slice(1, name));
    assert.deepEqual([again.status, again.body.code], [409, 'already_exists']);
    assert.deepEqual(
      await rows('select gpu_used from quotas where organization_id = $1', [world.ada.organization_id]),
      used,
    );
  });

  it('with unknown keys, images or profiles is refused', async () => {
    const wrong = [
      [{ ...slice(1), ssh_key_ids: ['key_00000000000000000000000000'] }, 404],
      [{ ...slice(1), image_name: 'no-such-image' }, 400],
      [{ ...slice(1), vm_profile: 'h200_8g_192c_512g' }, 400],
      [{ ...slice(1), region_name: 'atlantis' }, 404],
      [{ ...slice(1), sku_name: 'gold' }, 404],
      [{ ...slice(1), region_name: 'eu-frankfurt-1' }, 409],
    ] as const;
    for (const [body, status] of wrong)
      assert.equal((await world.ada.post(path(), body)).status, status, JSON.stringify(body));
  });

  it('into a disabled region or of a disabled SKU states why it is disabled', async () => {
    const closed = await world.ada.post(path(), { ...slice(1), region_name: 'eu-frankfurt-1' });
    assert.deepEqual([closed.status, closed.body.code], [409, 'region_disabled']);
    assert.match(closed.body.detail, /No hosts are installed in this region yet\./);
    await world.sql.query(
      "update sku_catalog set enabled = false, disabled_reason = 'Sold out until spring.' where name = 'h200-sxm-slice'",
    );
    const off = await world.ada.post(path(), slice(1));
    assert.deepEqual([off.status, off.body.code], [409, 'sku_disabled']);
    assert.match(off.body.detail, /Sold out until spring\./);
    await world.sql.query(
      "update sku_catalog set enabled = true, disabled_reason = null where name = 'h200-sxm-slice'",
    );
  });

  it('can be renamed, tagged and protected with the current ETag', async () => {
    const made = await world.ada.post(path(), slice(1));
    const one = path(`/${made.body.id}`);
    const changed = await world.ada.call(
      'PATCH',
      one,
      { name: 'renamed', tags: { a: 'b' }, is_protected: true, max_duration_s: null },
      { 'if-match': '"v1"' },
    );
    assert.deepEqual(
      [changed.status, changed.body.name, changed.body.tags, changed.body.is_protected],
      [200, 'renamed', { a: 'b' }, true],
    );
    assert.equal((await world.ada.call('PATCH', one, { name: 'again' }, { 'if-match': '"v1"' })).status, 412);
    const listed = await world.ada.get(path('?name=renamed'));
    assert.deepEqual(
      listed.body.items.map((item: { id: string }) => item.id),
      [made.body.id],
    );
    assert.equal((await world.ada.get(`${one}/timeline`)).status, 200);
  });

  it('accepts no tag whose name or value is outside the grammar', async () => {
    for (const tags of [
      { 'A b': 'x' },
      { UPPER: 'x' },
      { [`a${'b'.repeat(63)}`]: 'x' },
      { 'A b': { nested: [1] } },
      { a: '<b>' },
    ]) {
      const refused = await world.ada.post(path(), { ...slice(1), tags });
      assert.deepEqual([refused.status, refused.body.code], [400, 'invalid_request'], JSON.stringify(tags));
    }
  });
});

describe('an estimate', () => {
  const { world, node, path, rows } = story();

  it('gives price, quota and fit, and writes nothing', async () => {
    await node();
    await world.sql.query("update quotas set gpu_limit = 6 where organization_id = $1 and project_id = ''", [
      world.ada.organization_id,
    ]);
    const { name: _, ...ask } = slice(4);
    const counted = () =>
      rows(
        'select (select count(*) from allocations) a, (select count(*) from audit_logs) l, (select count(*) from outbox_events) e',
      );
    const before = await counted();
    const estimate = await world.ada.call('POST', `/api/v1/projects/${world.ada.project_id}/allocations:estimate`, ask);
    assert.equal(estimate.status, 200, JSON.stringify(estimate.body));
    assert.deepEqual(
      [
        estimate.body.fits_now,
        estimate.body.fits_on_nodes,
        estimate.body.largest_set,
        estimate.body.price_per_hour.amount_minor,
        estimate.body.quota_gpus_after,
      ],
      [true, 1, 4, 1800, 2],
    );
    assert.deepEqual(await counted(), before);
  });

  it('above the quota states it, and offers what would be granted', async () => {
    const ask = slice(8);
    const refused = await world.ada.post(path(), ask);
    assert.deepEqual([refused.status, refused.body.code], [409, 'quota_exceeded']);
    const [other] = refused.body.alternatives;
    assert.ok(other !== undefined);
    const { capacity_shape: _, ...instead } = other;
    const granted = await world.ada.post(path(), { ...ask, ...instead });
    assert.equal(granted.status, 202);
  });
});

describe('bare metal', () => {
  const { world, node, path } = story();

  it('takes a whole empty node by one exclusive claim, and slices go elsewhere', async () => {
    const whole = await node({ capacity_mode: 'baremetal' });
    const sliced = await node({ capacity_mode: 'slice' });
    const made = await world.ada.post(path(), bareMetal());
    assert.equal(made.status, 202, JSON.stringify(made.body));
    const claims = (
      await world.sql.query(
        'select claim_kind, node_id, gpu_count from allocation_resource_claims where allocation_id = $1',
        [made.body.id],
      )
    ).rows;
    assert.deepEqual(claims, [{ claim_kind: 'node_exclusive', node_id: whole.id, gpu_count: 8 }]);
    const slices = await Promise.all(Array.from({ length: 8 }, () => world.ada.post(path(), slice(1))));
    assert.deepEqual(new Set(slices.map((answer) => answer.status)), new Set([202]));
    const homes = (
      await world.sql.query("select distinct node_id from allocation_resource_claims where claim_kind = 'slot'")
    ).rows;
    assert.deepEqual(homes, [{ node_id: sliced.id }]);
    const none = await world.ada.post(path(), bareMetal());
    assert.deepEqual([none.status, none.body.code], [409, 'insufficient_capacity']);
  });
});

describe('contention', () => {
  const { world, node, path, rows } = story();

  it('for the last slots gives each of them once, and every losing request a reason', async () => {
    const [nodes, callers] = [3, 64];
    const slots = nodes * 8;
    for (let n = 0; n < nodes; n++) await node();
    // A request that lost a race too often gets a retryable error, and retries. Each round must take slots while any
    // are free.
    let waiting = callers;
    let won = 0;
    for (let round = 0; waiting > 0; round++) {
      assert.ok(round < 20, `${waiting} requests must still retry`);
      const answers = await Promise.all(Array.from({ length: waiting }, () => world.ada.post(path(), slice(1))));
      const wins = answers.filter(({ status }) => status === 202).length;
      const refused = answers.filter(({ status }) => status === 409);
      waiting = answers.filter(({ status }) => status === 503).length;
      assert.equal(
        wins + refused.length + waiting,
        answers.length,
        JSON.stringify(answers.map(({ status }) => status)),
      );
      // A request loses a race only to a winner, so the first round leaves no slot that a request asked for.
      if (round === 0) assert.ok(wins >= Math.min(slots, answers.length), `only ${wins} of ${slots} slots are taken`);
      assert.ok(wins > 0 || won === slots, 'no request got a slot although some are free');
      won += wins;
      // Nothing is released here, so "no capacity" is true only when every slot is taken.
      if (refused.length > 0) assert.equal(won, slots, 'a request was refused although slots are free');
      for (const { body } of refused) {
        assert.equal(body.code, 'insufficient_capacity');
        assert.ok(body.detail && body.reasons.length > 0, JSON.stringify(body));
      }
    }
    assert.equal(won, slots);
    const live = await rows(
      'select slot_id, count(*)::int as n from allocation_resource_claims where released_at is null group by slot_id',
    );
    assert.equal(live.length, slots);
    assert.ok(live.every((row) => row.n === 1));
  });
});
