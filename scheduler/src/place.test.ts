import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aNode, aSlice, aSlot, aSnapshot, bareMetal, onlyFree, REGIONS, SKUS, slots } from '../test/fleet.ts';
import { placementRequestOf } from './alternatives.ts';
import { explainToOperator, explainToUser } from './explain.ts';
import { fitsNow } from './fit.ts';
import { place } from './index.ts';
import type { PlacementRequest, SchedulerNode, Snapshot, Unplaceable } from './model.ts';
import { DEFAULT_POLICY } from './scorers.ts';
import { NONE_UNAVAILABLE } from './unavailable.ts';

const refused = (request: PlacementRequest, snapshot: Snapshot): Unplaceable => {
  const decision = place(request, snapshot);
  assert.equal(decision.kind, 'unplaceable');
  return decision;
};

/** Alternatives without the parts that are the same for all. */
const offered = (decision: Unplaceable): readonly string[] =>
  decision.alternatives.map(({ kind, sku, region, gpu_count }) => `${kind} ${gpu_count} ${sku} ${region}`);

test('a placed slice names its slots in order, its partition and its scores', () => {
  const node = aNode({ occupancy: 'sliced', oldest_claim_at_s: 7, slots: onlyFree(4, 5, 6, 7).toReversed() });
  assert.deepEqual(place(aSlice(4), aSnapshot([node])), {
    kind: 'placed',
    node_id: 'nod_a',
    slot_ids: ['slt_4', 'slt_5', 'slt_6', 'slt_7'],
    partition_id: '2',
    scores: { cooling: 0, clean_node: 0, fragmentation: 16 + 2, flexible: 0, numa_span: 0, age: 1 },
  });
});

test('bare metal prefers a baremetal node over a flexible one, and takes all its slots', () => {
  const nodes = [aNode({ id: 'nod_a', capacity_mode: 'flexible' }), aNode({ id: 'nod_b', capacity_mode: 'baremetal' })];
  const decision = place(bareMetal(), aSnapshot(nodes));
  assert.equal(decision.kind, 'placed');
  assert.equal(decision.node_id, 'nod_b');
  assert.equal(decision.slot_ids.length, 8);
  assert.equal(decision.partition_id, null);
  assert.match(
    explainToOperator(decision, bareMetal()),
    /^placed: 8 GPUs of h200-whole in north on nod_b\nslots: slt_0/,
  );
});

test('the SKU refuses three GPUs, regardless of free capacity', () => {
  const decision = refused(aSlice(3), aSnapshot([aNode({ partitions: null })]));
  assert.equal(decision.code, 'gpu_count_not_allowed');
  assert.equal(decision.reasons[0]?.detail, 'h200-slice comes in 1, 2, 4, 8 GPUs, not 3.');
  assert.deepEqual(offered(decision), ['gpu_count 2 h200-slice north', 'gpu_count 4 h200-slice north']);
});

test('two free GPUs that are not a legal partition are never placed as a pair', () => {
  // Slots 0 and 2 hold modules 2 and 3.
  const decision = refused(aSlice(2), aSnapshot([aNode({ occupancy: 'sliced', slots: onlyFree(0, 2) })]));
  assert.equal(decision.unavailable_gpus.fabric, 2);
  assert.equal(
    decision.reasons[0]?.detail,
    '2 GPUs of h200-slice in north are free, but the fabric joins no 2 of them on one node; the largest set is 1.',
  );
});

test('four free GPUs that form no legal set of four are refused with the fabric as the reason', () => {
  const decision = refused(aSlice(4), aSnapshot([aNode({ occupancy: 'sliced', slots: onlyFree(0, 1, 4, 5) })]));
  assert.equal(decision.code, 'insufficient_capacity');
  assert.deepEqual(decision.unavailable_gpus, { ...NONE_UNAVAILABLE, claimed: 4, fabric: 4 });
  assert.deepEqual(
    decision.reasons.map(({ code, gpus }) => [code, gpus]),
    [
      ['one_node', 4],
      ['claimed', 4],
      ['fabric', 4],
    ],
  );
  assert.deepEqual(decision.filters.at(-2), { name: 'fabric', survivors: 0 });
  assert.deepEqual(decision.filters.at(-3), { name: 'count_on_one_node', survivors: 1 });
  assert.deepEqual(offered(decision), ['gpu_count 2 h200-slice north']);
});

test('a refusal names the largest free set when no single node has enough free GPUs', () => {
  const nodes = ['a', 'b', 'c', 'd'].map((id) =>
    aNode({ id: `nod_${id}`, occupancy: 'sliced', slots: onlyFree(0, 1) }),
  );
  const decision = refused(aSlice(4), aSnapshot(nodes));
  assert.deepEqual([decision.free_gpus, decision.largest_set], [8, 2]);
  assert.equal(
    explainToUser(decision, aSlice(4)),
    '8 GPUs of h200-slice in north are free, but no single node fits 4; the largest set is 2. Fits now: 2 GPUs of h200-slice in north.',
  );
});

test('a refusal states that the region lacks such hardware', () => {
  const decision = refused(aSlice(1, { region: 'south' }), aSnapshot([aNode()]));
  assert.equal(decision.gpus_total, 0);
  assert.deepEqual(offered(decision), ['region 1 h200-slice north']);
  assert.equal(
    explainToUser(decision, aSlice(1)),
    'No node in south offers SKU h200-slice. Fits now: 1 GPU of h200-slice in north.',
  );
});

test('every GPU of the region is counted once, under the reason that it is unavailable', () => {
  const node = aNode({
    occupancy: 'sliced',
    slots: slots({
      0: { status: 'reserved' },
      1: { status: 'in_use' },
      2: { status: 'cleaning' },
      3: { status: 'cleanup_blocked' },
      4: { status: 'quarantined' },
      5: { approval: 'disabled' },
      6: { approval: 'needs_reapproval' },
      7: { health: 'unknown' },
    }),
  });
  const decision = refused(aSlice(1), aSnapshot([node]));
  const expected = {
    claimed: 2,
    cleaning: 1,
    cleanup_blocked: 1,
    quarantined: 1,
    unapproved: 1,
    hardware_changed: 1,
    unhealthy: 1,
  };
  assert.deepEqual(decision.unavailable_gpus, { ...NONE_UNAVAILABLE, ...expected });
  assert.equal(decision.gpus_total, 8);
  assert.equal(
    decision.reasons[0]?.detail,
    'No h200-slice in north is free: 2 GPUs in use, 1 GPU being wiped before reuse, 1 GPU waiting for a wipe that could not finish, 1 GPU quarantined after a fault, 1 GPU not approved for use, 1 GPU waiting for approval after a hardware change, 1 GPU unhealthy.',
  );
});

test('a node without approved slots has no free slice', () => {
  const decision = refused(aSlice(1), aSnapshot([aNode({ slots: [] })]));
  assert.deepEqual(decision.unavailable_gpus, { ...NONE_UNAVAILABLE, unapproved: 8 });
  assert.deepEqual([decision.free_gpus, decision.gpus_total], [0, 8]);
});

test('the free GPUs of a blocked node are counted under the node’s reason', () => {
  const holds = (changes: Partial<SchedulerNode>): readonly string[] =>
    Object.entries(refused(aSlice(1), aSnapshot([aNode(changes)])).unavailable_gpus).flatMap(([kind, gpus]) =>
      gpus > 0 ? [`${kind} ${gpus}`] : [],
    );
  assert.deepEqual(holds({ state: 'draining' }), ['not_ready 8']);
  assert.deepEqual(holds({ state: 'offline', slots: onlyFree(0, 1) }), ['claimed 6', 'not_ready 2']);
  assert.deepEqual(holds({ occupancy: 'exclusive', state: 'offline' }), ['claimed 8']);
  assert.deepEqual(holds({ occupancy: 'cleaning' }), ['cleaning 8']);
  assert.deepEqual(holds({ held_for: 'baremetal' }), ['held 8']);
  assert.deepEqual(holds({ slots: slots().map((slot) => ({ ...slot, has_nvme: false })) }), ['incomplete 8']);
  assert.deepEqual(holds({ state: 'retired' }), []);
  assert.deepEqual(holds({ state: 'offline', region: 'south' }), [], 'not in this region');
  assert.deepEqual(holds({ state: 'offline', sku_names: [] }), [], 'not this SKU');
});

test('another tenant’s pool is neither offered nor counted', () => {
  const decision = refused(aSlice(1), aSnapshot([aNode({ pool: { id: 'theirs', tenant_id: 'org_b' } })]));
  assert.equal(decision.gpus_total, 0);
  assert.deepEqual(decision.alternatives, []);
});

test('a refusal for too few free GPUs lists why the others are unavailable', () => {
  const decision = refused(aSlice(4), aSnapshot([aNode({ occupancy: 'sliced', slots: onlyFree(0) })]));
  assert.equal(
    decision.reasons[0]?.detail,
    'Only 1 GPU of h200-slice in north is free: 7 GPUs in use, 1 GPU free, but on nodes that each have too few.',
  );
});

test('insufficient quota is reported as the reason, and alternatives respect the quota', () => {
  const decision = refused(
    aSlice(4, { quota_gpus_remaining: 2 }),
    aSnapshot([aNode(), aNode({ id: 'nod_b', region: 'south' })]),
  );
  assert.equal(decision.code, 'quota_exceeded');
  assert.equal(decision.reasons[0]?.detail, '4 GPUs requested, 2 left in the quota.');
  assert.equal(decision.unavailable_gpus.quota, 8);
  assert.deepEqual([decision.free_gpus, decision.largest_set], [8, 8]);
  assert.deepEqual(offered(decision), ['gpu_count 2 h200-slice north']);
  const over = refused(aSlice(1, { quota_gpus_remaining: -3 }), aSnapshot([aNode()]));
  assert.equal(over.reasons[0]?.detail, '1 GPU requested, 0 left in the quota.');
});

test('a disabled SKU or region refuses before any node is considered', () => {
  const closedSku = aSnapshot([aNode()], { skus: SKUS.map((sku) => ({ ...sku, enabled: sku.shape === 'baremetal' })) });
  const bySku = refused(aSlice(1), closedSku);
  assert.equal(bySku.code, 'sku_disabled');
  assert.equal(bySku.reasons[0]?.detail, 'h200-slice is disabled.');
  assert.equal(bySku.free_gpus, 8);
  assert.deepEqual(offered(bySku), []);
  const regions = REGIONS.map((region) => ({ ...region, enabled: region.name === 'south' }));
  const byRegion = refused(aSlice(2), aSnapshot([aNode(), aNode({ id: 'nod_s', region: 'south' })], { regions }));
  assert.equal(byRegion.code, 'region_disabled');
  assert.equal(byRegion.reasons[0]?.detail, 'Region north is disabled.');
  assert.deepEqual(offered(byRegion), ['region 2 h200-slice south']);
});

test('another shape and another SKU are offered when they fit', () => {
  const other = {
    name: 'h100-slice',
    shape: 'gpu_slice',
    enabled: true,
    allowed_gpu_counts: [1, 2],
    gpus_per_node: 8,
  } as const;
  const snapshot = aSnapshot(
    [aNode({ id: 'nod_whole', capacity_mode: 'baremetal' }), aNode({ id: 'nod_other', sku_names: ['h100-slice'] })],
    { skus: [...SKUS, other] },
  );
  const decision = refused(aSlice(8), snapshot);
  assert.deepEqual(offered(decision), ['shape 8 h200-whole north', 'sku 2 h100-slice north']);
  for (const alternative of decision.alternatives) {
    assert.equal(place(placementRequestOf(aSlice(8), alternative, snapshot), snapshot).kind, 'placed');
  }
  const one = place(aSlice(8), snapshot, { ...DEFAULT_POLICY, alternatives_max: 1 });
  assert.equal(one.kind === 'unplaceable' && one.alternatives.length, 1);
  const none = place(aSlice(8), snapshot, { ...DEFAULT_POLICY, alternatives_max: 0 });
  assert.deepEqual(none.kind === 'unplaceable' && none.alternatives, []);
});

test('an empty slice node is a conversion option for operators and never a tenant’s alternative', () => {
  const snapshot = aSnapshot([
    aNode({ id: 'nod_b' }),
    aNode({ id: 'nod_a' }),
    aNode({ id: 'nod_used', occupancy: 'sliced', slots: onlyFree(0) }),
  ]);
  const decision = refused(bareMetal(), snapshot);
  assert.deepEqual(decision.convertible_node_ids, ['nod_a', 'nod_b']);
  assert.equal(decision.gpus_total, 0);
  assert.deepEqual(offered(decision), ['shape 8 h200-slice north']);
  assert.match(explainToOperator(decision, bareMetal()), /could be converted to bare metal: nod_a, nod_b/);
  assert.doesNotMatch(explainToUser(decision, bareMetal()), /nod_/);
});

test('bare metal counts nodes without slots by the SKU', () => {
  const whole = (id: string, changes: Partial<SchedulerNode>): SchedulerNode =>
    aNode({ id, capacity_mode: 'baremetal', slots: [], partitions: null, ...changes });
  const nodes = [
    whole('nod_a', { occupancy: 'exclusive' }),
    whole('nod_b', { health: 'unhealthy' }),
    aNode({ id: 'nod_c', capacity_mode: 'flexible', occupancy: 'sliced', slots: onlyFree(0, 1, 2) }),
  ];
  const decision = refused(bareMetal(), aSnapshot(nodes));
  assert.deepEqual(decision.unavailable_gpus, { ...NONE_UNAVAILABLE, claimed: 8 + 5, unhealthy: 8, fragmented: 3 });
  assert.deepEqual([decision.free_gpus, decision.largest_set], [3, 3]);
  const overQuota = refused(bareMetal({ quota_gpus_remaining: 0 }), aSnapshot([whole('nod_d', {})]));
  assert.deepEqual([overQuota.free_gpus, overQuota.largest_set, overQuota.unavailable_gpus.quota], [8, 8, 8]);
  const placed = place(bareMetal(), aSnapshot([whole('nod_e', {})]));
  assert.equal(
    explainToOperator(placed, bareMetal()),
    'placed: 8 GPUs of h200-whole in north on nod_e\nslots: the whole node',
  );
});

test('operators see the nodes left after each filter, the holders of the GPUs and what fits', () => {
  const nodes = [
    aNode({ id: 'nod_b', state: 'draining' }),
    aNode({ id: 'nod_a', occupancy: 'sliced', slots: onlyFree(0, 1) }),
  ];
  const decision = refused(aSlice(4), aSnapshot(nodes));
  assert.deepEqual(decision.rejections, [
    { node_id: 'nod_a', filter: 'count_on_one_node', detail: '2 free GPUs, 4 requested' },
    { node_id: 'nod_b', filter: 'node_state', detail: 'node is draining' },
  ]);
  const lines = explainToOperator(decision, aSlice(4)).split('\n');
  assert.equal(lines[0], 'insufficient_capacity: 4 GPUs of h200-slice in north');
  assert.equal(lines[1], 'nodes left after each filter, of 2:');
  assert.equal(lines[3], '  node_state         1');
  assert.deepEqual(lines.slice(-3), [
    'free 2 of 16, largest set 2',
    'unavailable: claimed 6, not_ready 8, fragmented 2',
    'fits now: 2 GPUs of h200-slice in north (gpu_count)',
  ]);
  const empty = explainToOperator(refused(aSlice(4), aSnapshot([])), aSlice(4));
  assert.match(empty, /unavailable: nothing$/);
});

test('a placed slice is explained in words', () => {
  const decision = place(aSlice(1), aSnapshot([aNode()]));
  assert.equal(explainToUser(decision, aSlice(1)), '1 GPU of h200-slice in north fit now.');
  assert.match(
    explainToOperator(decision, aSlice(1)),
    /slots: slt_0\npartition: 8\nscores: cooling 0, clean_node 1, fragmentation/,
  );
  const bare = { ...refused(aSlice(4), aSnapshot([])), reasons: [] };
  assert.equal(explainToUser(bare, aSlice(4)), '4 GPUs of h200-slice in north cannot be placed.');
});

test('an estimate reports the number of nodes that fit and the largest count that would fit', () => {
  const nodes = [
    aNode({ id: 'nod_a', occupancy: 'sliced', slots: onlyFree(0, 1, 2, 3) }),
    aNode({ id: 'nod_b', state: 'offline' }),
  ];
  assert.deepEqual(fitsNow(aSlice(2), aSnapshot(nodes)), { nodes: 1, largest_count: 4 });
  assert.deepEqual(fitsNow(aSlice(8), aSnapshot([])), { nodes: 0, largest_count: 0 });
});

test('a decision replayed from its JSON file is the same', () => {
  const snapshot = aSnapshot([aNode(), aNode({ id: 'nod_b', slots: [aSlot(0)], partitions: null })]);
  const replayed = JSON.parse(JSON.stringify(snapshot)) as Snapshot;
  for (const count of [1, 2, 4, 8]) assert.deepEqual(place(aSlice(count), replayed), place(aSlice(count), snapshot));
});
