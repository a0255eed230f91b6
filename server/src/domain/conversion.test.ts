import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { type ConversionFacts, type ConversionTarget, planConversion as planWith } from './conversion.ts';

type Changes = Readonly<{
  node?: Partial<ConversionFacts['node']>;
  claims?: ConversionFacts['claims'];
  slot?: Partial<ConversionFacts['slots'][number]>;
}>;

/** An empty slice node of eight approved slots, with a test's changes; `slot` changes the first. */
const facts = ({ node = {}, claims = [], slot = {} }: Changes = {}): ConversionFacts => ({
  node: {
    id: 'nod_a',
    state: 'active',
    capacity_mode: 'slice',
    occupancy: 'free',
    is_held: false,
    gpu_count: 8,
    ...node,
  },
  claims,
  slots: Array.from({ length: 8 }, (_, slot_index) => ({
    slot_index,
    approval: 'approved',
    status: 'available',
    ...(slot_index === 0 ? slot : {}),
  })),
});

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const planConversion = (given: ConversionFacts, to: ConversionTarget) => planWith(given, to, sha256);

const claim = (id: string, allocation_id: string) => ({ id, allocation_id, claim_kind: 'slot', gpu_count: 1 });

test('an empty slice node can become bare metal, and the plan states the capacity each shape gains', () => {
  const plan = planConversion(facts(), 'baremetal');
  assert.deepEqual([plan.from, plan.to, plan.is_possible, plan.blockers], ['slice', 'baremetal', true, []]);
  assert.deepEqual(plan.gpus_gained, { slice: -8, baremetal: 8 });
  assert.deepEqual(plan.steps, [
    "Stop offering the node's 8 GPUs for slices.",
    'Offer 8 GPUs for bare metal.',
    'The next bare-metal launch applies the bare-metal profile.',
  ]);
});

test('a bare-metal node that becomes slices gains the capacity of its approved slots', () => {
  const plan = planConversion(facts({ node: { capacity_mode: 'baremetal' }, slot: { approval: 'disabled' } }), 'slice');
  assert.equal(plan.is_possible, true);
  assert.deepEqual(plan.gpus_gained, { slice: 7, baremetal: 0 });
  assert.equal(plan.steps.at(-1), 'Slices start once the prerequisite check has passed after the last boot.');
});

test('a flexible node dedicated to one shape is lost to the other', () => {
  const node = { capacity_mode: 'flexible' } as const;
  assert.deepEqual(planConversion(facts({ node }), 'slice').gpus_gained, { slice: 0, baremetal: -8 });
  assert.deepEqual(planConversion(facts({ node }), 'baremetal').gpus_gained, { slice: -8, baremetal: 0 });
});

test('the plan states when a node could serve nothing in the new mode', () => {
  const plan = planConversion(facts({ slot: { status: 'quarantined' } }), 'baremetal');
  assert.equal(plan.is_possible, true);
  assert.deepEqual(plan.gpus_gained, { slice: -7, baremetal: 0 });
  assert.equal(plan.steps[1], "No GPUs can be offered for bare metal until the node's slots are approved and healthy.");
});

test('every live claim is a blocker with the name of its allocation', () => {
  const claims = [claim('clm_1', 'alc_a'), claim('clm_2', 'alc_a'), claim('clm_3', 'alc_b')];
  const plan = planConversion(
    facts({ node: { occupancy: 'sliced' }, claims, slot: { status: 'in_use' } }),
    'baremetal',
  );
  assert.deepEqual(
    [plan.is_possible, plan.live_claims, plan.blockers],
    [false, 3, ['Allocation alc_a holds 2 GPUs.', 'Allocation alc_b holds 1 GPU.']],
  );
});

test('an unwiped node is refused even without claims', () => {
  const plan = planConversion(
    facts({ node: { occupancy: 'cleanup_blocked' }, slot: { status: 'cleanup_blocked' } }),
    'baremetal',
  );
  assert.deepEqual(plan.blockers, ['The node is blocked in cleanup.', 'Slot 0 is cleanup_blocked.']);
});

test('mode, state and hold are blockers', () => {
  assert.deepEqual(planConversion(facts(), 'slice').blockers, ['The node is already for slices.']);
  assert.deepEqual(planConversion(facts({ node: { state: 'offline' } }), 'baremetal').blockers, [
    'The node is offline; only active and draining nodes can be converted.',
  ]);
  assert.deepEqual(planConversion(facts({ node: { is_held: true, capacity_mode: 'flexible' } }), 'slice').blockers, [
    'The node is held for bare metal. Remove the hold first.',
  ]);
  assert.equal(planConversion(facts({ node: { is_held: true, state: 'draining' } }), 'baremetal').is_possible, true);
});

test('the hash covers the facts: their order does not change it, any changed fact does', () => {
  const base = { claims: [claim('clm_1', 'alc_a'), claim('clm_2', 'alc_b')] };
  const hash = (of: ConversionFacts) => planConversion(of, 'baremetal').plan_hash;
  const first = hash(facts(base));
  const turned = facts({ claims: [...base.claims].reverse() });
  assert.equal(hash({ ...turned, slots: [...turned.slots].reverse() }), hash(facts({ claims: base.claims })));
  assert.match(first, /^[0-9a-f]{64}$/);
  const others = [
    hash(facts()),
    hash(facts({ ...base, node: { state: 'draining' } })),
    hash(facts({ ...base, node: { is_held: true } })),
    hash(facts({ ...base, slot: { status: 'cleaning' } })),
    planConversion(facts(base), 'slice').plan_hash,
  ];
  assert.equal(new Set([first, ...others]).size, 6);
});
