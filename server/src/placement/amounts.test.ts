import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_POLICY, NONE_UNAVAILABLE, type PlacementRequest, place, SNAPSHOT_VERSION } from '@gpuaas/scheduler';
import type { CapacityCounts, CountedKind } from '../db/capacity.ts';
import { withFleetAmounts } from './amounts.ts';

const request: PlacementRequest = {
  shape: 'gpu_slice',
  sku: 'slice',
  region: 'here',
  gpu_count: 4,
  allowed_gpu_counts: [1, 2, 4],
  gpus_per_node: 8,
  tenant_id: 'org_a',
  quota_gpus_remaining: null,
};
const decision = place(
  request,
  { snapshot_version: SNAPSHOT_VERSION, nodes: [], regions: [], skus: [] },
  DEFAULT_POLICY,
);
const wide = { decision, fit: { nodes: 0, largest_count: 2 } };

const pool = (
  nodes: number,
  held: Partial<Record<CountedKind, number>>,
  fits: Record<string, number>,
): CapacityCounts => {
  const { fabric: _, boot_kind: __, quota: ___, ...none } = NONE_UNAVAILABLE;
  const unavailable_gpus = { ...none, ...held };
  const shape = { gpus_total: nodes * 8, free_gpus: 6, largest_set: 2, nodes_that_fit: fits, unavailable_gpus };
  const totals = {
    delivered_gpus: 0,
    healthy_gpus: 0,
    reserved_gpus: 0,
    active_gpus: 0,
    free_gpus: 6,
    largest_set: 2,
    empty_nodes: 0,
  };
  return { nodes, ...totals, gpu_slice: shape, baremetal: shape };
};

test('a fully examined fleet keeps its own amounts', () => {
  assert.equal(withFleetAmounts(wide, request, [pool(3, { claimed: 9 }, {})], 3), wide);
  assert.equal(withFleetAmounts(wide, request, [], 0), wide);
});

test('a refusal in a larger fleet reports the amounts of every pool of the tenant, and keeps its verdict', () => {
  const told = withFleetAmounts(
    wide,
    request,
    [pool(300, { claimed: 2000, cleaning: 8 }, {}), pool(2, { claimed: 10 }, {})],
    256,
  );
  assert.ok(told.decision.kind === 'unplaceable' && decision.kind === 'unplaceable');
  assert.equal(told.decision.code, decision.code);
  assert.deepEqual(
    [
      told.decision.nodes_total,
      told.decision.unavailable_gpus.claimed,
      told.decision.unavailable_gpus.cleaning,
      told.decision.free_gpus,
      told.decision.largest_set,
    ],
    [302, 2010, 8, 12, 2],
  );
  assert.ok(told.decision.reasons.length > 0);
  assert.deepEqual(told.decision.alternatives, decision.alternatives);
});

test('counts without amounts, as an earlier build wrote them, add nothing', () => {
  const { unavailable_gpus: _, ...earlier } = pool(300, { claimed: 2000 }, {}).gpu_slice;
  const counts = { ...pool(300, {}, {}), gpu_slice: earlier } as unknown as CapacityCounts;
  const { decision: refused } = withFleetAmounts(wide, request, [counts, pool(2, { claimed: 10 }, {})], 256);
  assert.ok(refused.kind === 'unplaceable');
  assert.equal(refused.unavailable_gpus.claimed, 10);
});

test('an estimate that fits reports the number of nodes of the whole fleet', () => {
  const placed = { kind: 'placed', node_id: 'nod_a', slot_ids: [], partition_id: null, scores: {} } as const;
  const told = withFleetAmounts({ decision: placed, fit: wide.fit }, request, [pool(300, {}, { '4': 70 })], 256);
  assert.deepEqual([told.fit.nodes, told.decision], [70, placed]);
});
