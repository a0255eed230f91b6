import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { assertReached } from '../../tools/test/reached.ts';
import { aSlice, aSlot, aSnapshot, bareMetal, HGX_MODULES, HGX_TABLE } from '../test/fleet.ts';
import { placementRequestOf } from './alternatives.ts';
import { afterClaim, afterRelease, placementIndexRow } from './apply.ts';
import { candidateOf, rejectedBy } from './filters.ts';
import { isComplete, isUsable } from './legal-sets.ts';
import type { BootKind, Placed, PlacementRequest, SchedulerNode, SchedulerSlot, Snapshot } from './model.ts';
import { place } from './place.ts';
import { bareMetalScoreKey } from './scorers.ts';

/** Mostly valid, sometimes not: a fleet in which everything is broken proves little. */
const mostly = <T>(good: T, ...bad: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 24, arbitrary: fc.constant(good) }, { weight: 1, arbitrary: fc.constantFrom(good, ...bad) });

const slotArbitrary = (index: number, modules: readonly number[]): fc.Arbitrary<SchedulerSlot> =>
  fc
    .record({
      approval: mostly<SchedulerSlot['approval']>('approved', 'disabled', 'needs_reapproval'),
      status: fc.constantFrom<SchedulerSlot['status']>(
        'available',
        'available',
        'available',
        'in_use',
        'reserved',
        'cleaning',
        'cleanup_blocked',
        'quarantined',
      ),
      health: mostly<SchedulerSlot['health']>('ok', 'unhealthy', 'unknown'),
      has_nvme: mostly(true, false),
      has_fabric_vf: mostly(true, false),
      fabric_claim_mode: mostly<string | null>('per_slot_vf', null, 'shared'),
    })
    .map((changes) => aSlot(index, { ...changes, module_id: modules[index] ?? null }));

/** Boards of eight with NVIDIA's table in any module order, and boards without NVSwitch. */
const nodeArbitrary = (id: string): fc.Arbitrary<SchedulerNode> =>
  fc
    .shuffledSubarray([...HGX_MODULES], { minLength: 8 })
    .chain((modules) =>
      fc.record({
        id: fc.constant(id),
        region: mostly('north', 'south'),
        sku_names: mostly<readonly string[]>(['h200-slice', 'h200-whole'], ['h200-slice'], ['h100']),
        state: mostly<SchedulerNode['state']>('active', 'offline', 'draining', 'retired'),
        host_role: mostly('worker_compute', 'app_control'),
        pool: mostly<SchedulerNode['pool']>({ id: 'shared', tenant_id: null }, { id: 'b', tenant_id: 'org_b' }),
        capacity_mode: fc.constantFrom<SchedulerNode['capacity_mode']>('slice', 'flexible', 'baremetal'),
        occupancy: mostly<SchedulerNode['occupancy']>('free', 'sliced', 'exclusive', 'cleaning', 'cleanup_blocked'),
        oldest_claim_at_s: fc.option(fc.nat({ max: 3 })),
        held_for: mostly<SchedulerNode['held_for']>(null, 'baremetal'),
        health: mostly<SchedulerNode['health']>('ok', 'unhealthy', 'unknown'),
        launch_failures: fc.constantFrom(0, 0, 0, 1, 2, 3),
        has_other_gpus: mostly(false, true),
        runtime_validated: mostly(true, false),
        host: fc.constantFrom<NonNullable<SchedulerNode['host']> | null>(
          null,
          { gpu_count: 8, vcpu_count: 64, memory_mib: 65_536, hugepages_mib: 0, numa_nodes: 2 },
          { gpu_count: 8, vcpu_count: 16, memory_mib: 65_536, hugepages_mib: 8192, numa_nodes: 1 },
        ),
        boot_kinds: fc.constantFrom<readonly BootKind[] | null>(null, ['uefi'], ['kernel'], ['uefi', 'kernel'], []),
        slots: fc.oneof(
          { weight: 4, arbitrary: fc.tuple(...HGX_MODULES.map((_, index) => slotArbitrary(index, modules))) },
          {
            weight: 1,
            arbitrary: fc.constant(HGX_MODULES.map((_, index) => aSlot(index, { module_id: modules[index] ?? null }))),
          },
        ),
        partitions: mostly<SchedulerNode['partitions']>(HGX_TABLE, null),
      }),
    )
    .map((node) => ({ ...node, slots: node.slots.map((slot) => ({ ...slot, id: `${id}_${slot.slot_index}` })) }));

const fleetArbitrary = (size: { min: number; max: number }): fc.Arbitrary<readonly SchedulerNode[]> =>
  fc.integer(size).chain((length) => fc.tuple(...Array.from({ length }, (_, index) => nodeArbitrary(`nod_${index}`))));

const requestArbitrary: fc.Arbitrary<PlacementRequest> = fc
  .record({
    gpu_count: fc.constantFrom(1, 1, 2, 2, 4, 8, 3),
    region: mostly('north', 'south'),
    boot_kind: mostly<BootKind | null>(null, 'uefi', 'kernel'),
    vm: fc.constantFrom<NonNullable<PlacementRequest['vm']> | null>(
      null,
      { vcpu_count: 8, memory_mib: 4096 },
      { vcpu_count: 40, memory_mib: 40_000 },
    ),
    quota_gpus_remaining: mostly<number | null>(null, 0, 2, 8),
    whole: fc.boolean(),
  })
  .map(({ whole, gpu_count, ...changes }) => (whole ? bareMetal(changes) : aSlice(gpu_count, changes)));

const FLEET = fleetArbitrary({ min: 0, max: 6 });

const shuffled = <T>(items: readonly T[]): fc.Arbitrary<readonly T[]> =>
  fc.shuffledSubarray([...items], { minLength: items.length });

/** The same fleet in another order throughout. */
const reordered = (snapshot: Snapshot): fc.Arbitrary<Snapshot> =>
  fc.record({
    snapshot_version: fc.constant(snapshot.snapshot_version),
    regions: shuffled(snapshot.regions),
    skus: shuffled(snapshot.skus),
    nodes: fc
      .tuple(
        ...snapshot.nodes.map((node) =>
          fc
            .tuple(shuffled(node.slots), node.partitions === null ? fc.constant(null) : shuffled(node.partitions))
            .map(([slots, partitions]): SchedulerNode => ({ ...node, slots, partitions })),
        ),
      )
      .chain(shuffled),
  });

const nodeOf = (snapshot: Snapshot, placed: Placed): SchedulerNode => {
  const node = snapshot.nodes.find(({ id }) => id === placed.node_id);
  assert.ok(node, 'placed on a node of the snapshot');
  return node;
};

const byNumber = (a: number, b: number): number => a - b;

describe('placement', () => {
  test('input order never changes a decision', () => {
    const cases = fc
      .record({ request: requestArbitrary, snapshot: FLEET.map((nodes) => aSnapshot(nodes)) })
      .chain(({ request, snapshot }) =>
        fc.record({ request: fc.constant(request), snapshot: fc.constant(snapshot), other: reordered(snapshot) }),
      );
    fc.assert(
      fc.property(cases, ({ request, snapshot, other }) => {
        assert.deepEqual(place(request, other), place(request, snapshot));
        assert.deepEqual(place(request, snapshot), place(request, snapshot));
      }),
      { numRuns: 300 },
    );
  });

  test('a node in cooldown is chosen only if no other node fits, and cooldown refuses no request', () => {
    const given = { cooling: 0, cool: 0 };
    fc.assert(
      fc.property(requestArbitrary, FLEET, (request, nodes) => {
        const decision = place(request, aSnapshot(nodes));
        const cooled = place(request, aSnapshot(nodes.map((node) => ({ ...node, launch_failures: 0 }))));
        assert.equal(decision.kind, cooled.kind);
        if (decision.kind === 'unplaceable') return;
        const failures = nodeOf(aSnapshot(nodes), decision).launch_failures ?? 0;
        given[failures > 0 ? 'cooling' : 'cool'] += 1;
        const fitting = nodes.filter((node) => rejectedBy(candidateOf(node), request) === null);
        assert.equal(failures, Math.min(...fitting.map((node) => node.launch_failures ?? 0)));
      }),
      { numRuns: 300 },
    );
    assertReached(given);
  });

  test('a placement uses only free, complete and legal sets of one ready node', () => {
    const given = { baremetal: 0, gpu_slice: 0, partitions: 0 };
    fc.assert(
      fc.property(requestArbitrary, FLEET, (request, nodes) => {
        const snapshot = aSnapshot(nodes);
        const decision = place(request, snapshot);
        if (decision.kind === 'unplaceable') return;
        given[request.shape] += 1;
        const node = nodeOf(snapshot, decision);
        assert.ok(node.state === 'active' && node.health === 'ok' && node.host_role === 'worker_compute');
        assert.ok(node.region === request.region && node.sku_names.includes(request.sku));
        const chosen = node.slots.filter(({ id }) => decision.slot_ids.includes(id));
        assert.equal(chosen.length, decision.slot_ids.length);
        assert.ok(chosen.every(isUsable));
        assert.equal(chosen.length, request.gpu_count);
        if (request.shape === 'baremetal') {
          assert.ok(node.occupancy === 'free' && node.capacity_mode !== 'slice');
          return;
        }
        assert.ok(chosen.every(isComplete));
        assert.ok(node.runtime_validated && node.held_for === null && node.capacity_mode !== 'baremetal');
        if (node.partitions === null) return;
        given.partitions += 1;
        const modules = chosen.map((slot) => slot.module_id ?? -1).sort(byNumber);
        const partition = node.partitions.find(({ id }) => id === decision.partition_id);
        assert.deepEqual(modules, [...(partition?.module_ids ?? [])].sort(byNumber));
      }),
      { numRuns: 500 },
    );
    assertReached(given);
  });

  test('the winner has the lowest key of the fleet, then the lowest id', () => {
    const seen = { winners: 0, rivals: 0 };
    fc.assert(
      fc.property(requestArbitrary, FLEET, (request, nodes) => {
        const fitting = nodes
          .filter((node) => rejectedBy(candidateOf(node), request) === null)
          .map((node) => ({
            id: node.id,
            key:
              request.shape === 'baremetal'
                ? bareMetalScoreKey(node)
                : (placementIndexRow(node).score_keys[request.gpu_count] ?? Number.NaN),
          }))
          .sort((a, b) => a.key - b.key || (a.id < b.id ? -1 : 1));
        const decision = place(request, aSnapshot(nodes));
        if (!request.allowed_gpu_counts.includes(request.gpu_count)) assert.equal(decision.kind, 'unplaceable');
        else assert.equal(decision.kind === 'placed' ? decision.node_id : undefined, fitting[0]?.id);
        // So the first rows of an index over (key, id) decide like the whole fleet.
        const first = nodes.filter(({ id }) => id === fitting[0]?.id);
        if (decision.kind === 'unplaceable') return;
        seen.winners += 1;
        if (fitting.length > 1) seen.rivals += 1;
        assert.deepEqual(place(request, aSnapshot(first)), decision);
      }),
      { numRuns: 500 },
    );
    assertReached(seen);
  });

  test('every alternative offered fits on the same snapshot', () => {
    let offered = 0;
    fc.assert(
      fc.property(requestArbitrary, FLEET, fc.boolean(), (request, nodes, isOpen) => {
        const regions = [
          { name: 'north', enabled: isOpen },
          { name: 'south', enabled: true },
        ];
        const snapshot = aSnapshot(nodes, { regions });
        const decision = place(request, snapshot);
        if (decision.kind === 'placed') return;
        for (const alternative of decision.alternatives) {
          offered += 1;
          assert.equal(place(placementRequestOf(request, alternative, snapshot), snapshot).kind, 'placed');
        }
      }),
      { numRuns: 1000 },
    );
    assert.ok(offered > 50, `${offered} alternatives were tried`);
  });

  test('a refusal counts every reachable GPU once', () => {
    const seen = { refused: 0 };
    fc.assert(
      fc.property(requestArbitrary, FLEET, (request, nodes) => {
        const decision = place(request, aSnapshot(nodes));
        if (decision.kind === 'placed' || decision.code !== 'insufficient_capacity') return;
        seen.refused += 1;
        const held = Object.values(decision.unavailable_gpus).reduce((sum, gpus) => sum + gpus, 0);
        assert.equal(held, decision.gpus_total);
        const { fabric, fragmented, quota } = decision.unavailable_gpus;
        assert.equal(decision.free_gpus, fabric + fragmented + quota);
        assert.ok(decision.largest_set < request.gpu_count || request.shape === 'baremetal');
        const survivors = [decision.nodes_total, ...decision.filters.map((filter) => filter.survivors), 0];
        assert.deepEqual(
          survivors,
          [...survivors].sort((a, b) => b - a),
        );
        assert.equal(decision.filters.at(-1)?.survivors, 0);
        assert.equal(decision.rejections.length, decision.nodes_total);
      }),
      { numRuns: 500 },
    );
    assertReached(seen);
  });

  test('a request that fitted still fits after other allocations are released', () => {
    const seen = { slices: 0, whole: 0 };
    const isClaimed = ({ status }: SchedulerSlot): boolean => status === 'in_use' || status === 'reserved';
    const busy = FLEET.map((nodes) =>
      nodes.map((node): SchedulerNode => (node.slots.some(isClaimed) ? { ...node, occupancy: 'sliced' } : node)),
    );
    fc.assert(
      fc.property(requestArbitrary, busy, fc.nat({ max: 63 }), (request, nodes, releases) => {
        if (place(request, aSnapshot(nodes)).kind === 'unplaceable') return;
        const freed = nodes.map((node, index) => {
          const slot_ids = node.slots.filter(({ status }) => status === 'in_use').map(({ id }) => id);
          if ((releases & (1 << index)) === 0 || node.occupancy !== 'sliced' || slot_ids.length === 0) return node;
          seen[request.shape === 'baremetal' ? 'whole' : 'slices'] += 1;
          const oldest_claim_at_s = node.slots.some(({ status }) => status === 'reserved') ? 1 : null;
          return afterRelease(node, { slot_ids, oldest_claim_at_s });
        });
        assert.equal(place(request, aSnapshot(freed)).kind, 'placed');
      }),
      { numRuns: 500 },
    );
    assertReached(seen);
  });
});

type Claim = Readonly<{ node_id: string; slot_ids: readonly string[]; at: number }>;

describe('a history of launches and releases', () => {
  const steps = fc.array(
    fc.oneof(fc.record({ ask: fc.constantFrom(1, 1, 2, 4, 8, 'whole' as const) }), fc.record({ release: fc.nat() })),
    { minLength: 10, maxLength: 60 },
  );

  test('never places a GPU twice, and released capacity fits again', () => {
    const seen = { claims: 0, refusals: 0, releases: 0 };
    fc.assert(
      fc.property(steps, fc.boolean(), (history, hasSwitch) => {
        let nodes: readonly SchedulerNode[] = ['nod_a', 'nod_b', 'nod_c'].map((id) => ({
          ...HEALTHY,
          id,
          partitions: hasSwitch ? HGX_TABLE : null,
          slots: HGX_MODULES.map((_, index) => aSlot(index, { id: `${id}_${index}` })),
        }));
        const live: (Claim & Readonly<{ request: PlacementRequest }>)[] = [];
        const change = (id: string, next: (node: SchedulerNode) => SchedulerNode): void => {
          nodes = nodes.map((node) => (node.id === id ? next(node) : node));
        };
        for (const [at, step] of history.entries()) {
          if ('ask' in step) {
            const request = step.ask === 'whole' ? bareMetal() : aSlice(step.ask);
            const decision = place(request, aSnapshot(nodes));
            if (decision.kind === 'unplaceable') {
              seen.refusals += 1;
              continue;
            }
            seen.claims += 1;
            const { node_id, slot_ids } = decision;
            const taken = live.filter((claim) => claim.node_id === node_id).flatMap((claim) => claim.slot_ids);
            assert.equal(new Set([...taken, ...slot_ids]).size, taken.length + slot_ids.length, 'no slot twice');
            change(node_id, (node) => afterClaim(node, { slot_ids, shape: request.shape, claimed_at_s: at }));
            live.push({ node_id, slot_ids, at, request });
          } else {
            const [claim] = live.splice(step.release % Math.max(1, live.length), 1);
            if (claim === undefined) continue;
            seen.releases += 1;
            const rest = live.filter(({ node_id }) => node_id === claim.node_id).map((other) => other.at);
            const oldest_claim_at_s = rest.length === 0 ? null : Math.min(...rest);
            change(claim.node_id, (node) => afterRelease(node, { slot_ids: claim.slot_ids, oldest_claim_at_s }));
            assert.equal(place(claim.request, aSnapshot(nodes)).kind, 'placed');
          }
        }
      }),
      { numRuns: 150 },
    );
    assertReached(seen);
  });
});

const HEALTHY: SchedulerNode = {
  id: 'nod_a',
  region: 'north',
  sku_names: ['h200-slice', 'h200-whole'],
  state: 'active',
  host_role: 'worker_compute',
  pool: { id: 'shared', tenant_id: null },
  capacity_mode: 'flexible',
  occupancy: 'free',
  oldest_claim_at_s: null,
  held_for: null,
  health: 'ok',
  runtime_validated: true,
  slots: [],
  partitions: HGX_TABLE,
};
