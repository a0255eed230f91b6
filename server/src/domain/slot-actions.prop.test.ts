import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALLOCATION_STATES, NODE_STATES, OCCUPANCIES, SLOT_STATUSES } from '@gpuaas/contract';
import fc from 'fast-check';
import { assertReached } from '../../../tools/test/reached.ts';
import { firstOf } from './refusal.ts';
import { cleanupRefusal, SLOT_OPERATIONS, type SlotAction, type SlotFacts, slotRefusal } from './slot-actions.ts';

const free: SlotFacts = {
  approval: 'approved',
  status: 'available',
  has_hardware_change: false,
  node_state: 'active',
  node_occupancy: 'free',
  holder: null,
  is_repairing: false,
  prevents_host_changes: false,
  taken: [],
  is_override_by_caller: false,
};

const facts: fc.Arbitrary<SlotFacts> = fc.record({
  approval: fc.constantFrom('approved', 'disabled', 'needs_reapproval'),
  status: fc.constantFrom(...SLOT_STATUSES),
  has_hardware_change: fc.boolean(),
  node_state: fc.constantFrom(...NODE_STATES),
  node_occupancy: fc.constantFrom(...OCCUPANCIES),
  holder: fc.option(fc.record({ state: fc.constantFrom(...ALLOCATION_STATES), is_whole_node: fc.boolean() })),
  is_repairing: fc.boolean(),
  prevents_host_changes: fc.boolean(),
  taken: fc.constantFrom([], ['Slot 0: nvme_serial S belongs to a slot of n-1.']),
  is_override_by_caller: fc.boolean(),
});

/** Enough that the rare states occur. */
const RUNS = { numRuns: 2_000 };

const ACTIONS = Object.keys(SLOT_OPERATIONS) as SlotAction[];
const allowed = (slot: SlotFacts) => ACTIONS.filter((action) => slotRefusal(action, slot) === null);
const say = (action: Parameters<typeof slotRefusal>[0], change: Partial<SlotFacts>) =>
  slotRefusal(action, { ...free, ...change })?.reason;

test('every refusal is a sentence that names the blocker', () => {
  let refused = 0;
  fc.assert(
    fc.property(facts, fc.constantFrom(...ACTIONS), (slot, action) => {
      const refusal = slotRefusal(action, slot);
      if (refusal === null) return;
      refused += 1;
      assert.match(refusal.reason, /^[A-Z].*\.$/s);
    }),
    RUNS,
  );
  assertReached({ refused });
});

test('a held slot does not change: only scheduling and cleanup can be changed', () => {
  let held = 0;
  fc.assert(
    fc.property(facts, (slot) => {
      if (slot.holder === null) return;
      held += 1;
      for (const action of ['quarantine', 'repair', 'mark_wiped'] as const)
        assert.notEqual(slotRefusal(action, slot), null);
    }),
    RUNS,
  );
  assertReached({ held });
});

test('cleanup is retried only for an allocation whose cleanup is blocked', () => {
  let offered = 0;
  fc.assert(
    fc.property(facts, (slot) => {
      if (slotRefusal('retry_cleanup', slot) !== null) return;
      offered += 1;
      assert.ok(slot.holder !== null && cleanupRefusal(slot.holder.state) === null);
      assert.equal(slot.holder.is_whole_node ? slot.node_occupancy : slot.status, 'cleanup_blocked');
    }),
    RUNS,
  );
  assertReached({ offered });
});

test('an available slot offers what its state allows, and each refusal gives a reason', () => {
  assert.deepEqual(allowed(free), ['disable', 'quarantine', 'repair']);
  assert.deepEqual(allowed({ ...free, approval: 'disabled' }), ['enable', 'quarantine', 'repair']);
  assert.equal(say('enable', {}), 'The slot is already enabled.');
  assert.equal(
    say('enable', { approval: 'needs_reapproval' }),
    'The hardware of the slot differs from its approval. Review the change and approve the slot again.',
  );
  assert.equal(say('enable', { approval: 'disabled', taken: ['One.', 'Two.'] }), 'One. Two.');
  assert.equal(say('quarantine', { status: 'quarantined' }), 'The slot is already quarantined.');
  assert.equal(say('quarantine', { status: 'quarantined', is_repairing: true }), undefined);
  assert.equal(say('quarantine', { status: 'cleaning' }), 'The slot is cleaning; it cannot be quarantined now.');
  assert.equal(say('repair', { node_state: 'retired' }), 'The node is retired; its slots are disabled.');
  assert.equal(
    say('repair', { prevents_host_changes: true }),
    'An alert on this node blocks host changes. Check its health first.',
  );
  assert.equal(say('mark_wiped', {}), 'The slot is available; there is no wipe to override.');
  assert.equal(
    say('mark_wiped', { status: 'quarantined', is_override_by_caller: true }),
    'You requested the override. Another operator must confirm it.',
  );
  assert.equal(say('retry_cleanup', {}), 'The slot is available; there is no cleanup to retry.');
  assert.equal(say('retry_cleanup', { status: 'cleanup_blocked' }), 'No allocation holds the slot. Repair it instead.');
  const holder = { state: 'release_failed', is_whole_node: false } as const;
  assert.equal(say('retry_cleanup', { status: 'cleanup_blocked', holder }), undefined);
  assert.equal(say('retry_cleanup', { status: 'cleaning', holder }), 'The cleanup of its allocation is running.');
  assert.equal(
    say('retry_cleanup', { status: 'in_use', holder: { ...holder, state: 'active' } }),
    'The allocation is active; release it instead.',
  );
  assert.equal(cleanupRefusal('released')?.reason, 'The allocation is released and needs no cleanup.');
});

test('of several blockers the first is reported, and none when there is no blocker', () => {
  const one = { reason: 'One.', is_done: false };
  assert.equal(firstOf(false, null, one, { ...one, reason: 'Two.' }), one);
  assert.equal(firstOf(false, null), null);
});
