import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CAPACITY_MODES, NODE_STATES, OCCUPANCIES } from '@gpuaas/contract';
import fc from 'fast-check';
import { assertReached } from '../../../tools/test/reached.ts';
import { planConversion } from './conversion.ts';
import { NODE_OPERATIONS, type NodeAction, type NodeFacts, nodeRefusal } from './node-actions.ts';

const clean: NodeFacts = {
  id: 'nod_a',
  state: 'active',
  host_role: 'worker_compute',
  capacity_mode: 'flexible',
  occupancy: 'free',
  is_held: false,
  launch_failures: 0,
  gpu_model_conflict: null,
  gpu_count: 8,
  last_seen_at: '2026-01-01T00:00:00.000Z',
  claims: [],
  slots: [{ slot_index: 0, approval: 'approved', status: 'available' }],
  holders: [],
  disks: [],
  has_discovery: true,
};

const claim = (n: number) => ({ id: `clm_${n}`, allocation_id: `alc_${n}`, claim_kind: 'slot', gpu_count: 1 });
const facts: fc.Arbitrary<NodeFacts> = fc.record({
  id: fc.constant('nod_a'),
  state: fc.constantFrom(...NODE_STATES),
  host_role: fc.constantFrom('platform_control', 'app_control', 'worker_compute'),
  capacity_mode: fc.constantFrom(...CAPACITY_MODES),
  occupancy: fc.constantFrom(...OCCUPANCIES),
  is_held: fc.boolean(),
  launch_failures: fc.nat(3),
  gpu_model_conflict: fc.constantFrom(null, 'Discovery found 8 H100 SXM.'),
  gpu_count: fc.constant(8),
  last_seen_at: fc.constantFrom(null, '2026-01-01T00:00:00.000Z'),
  claims: fc.constantFrom([], [claim(1)], [claim(1), claim(2)]),
  slots: fc.constantFrom([], [...clean.slots], [{ slot_index: 0, approval: 'approved', status: 'cleaning' }]),
  holders: fc.constantFrom([], ['alc_1'], ['alc_1', 'alc_2', 'alc_3']),
  disks: fc.constantFrom([], [{ serial: 'S1', state: 'approved' }], [{ serial: 'S1', state: 'wiping' }]),
  has_discovery: fc.boolean(),
});

/** Enough that the rare states occur. */
const RUNS = { numRuns: 1_000 };

const ACTIONS = Object.keys(NODE_OPERATIONS) as NodeAction[];
const allowed = (node: NodeFacts) => ACTIONS.filter((action) => nodeRefusal(action, node) === null);

test('every refusal is a sentence that names the blocker', () => {
  let refused = 0;
  fc.assert(
    fc.property(facts, fc.constantFrom(...ACTIONS), (node, action) => {
      const refusal = nodeRefusal(action, node);
      if (refusal === null) return;
      refused += 1;
      assert.match(refusal.reason, /^[A-Z].*\.$/s);
    }),
    RUNS,
  );
  assertReached({ refused });
});

test('an action and its inverse are never offered together', () => {
  fc.assert(
    fc.property(facts, (node) => {
      const now = allowed(node);
      for (const [one, other] of [
        ['drain', 'resume'],
        ['hold', 'unhold'],
        ['retire', 'delete'],
      ] as const)
        assert.ok(!now.includes(one) || !now.includes(other), `${one} and ${other}`);
    }),
  );
});

test('no action retires an occupied node, and a locked-out host receives no task', () => {
  const seen = { held: 0, ended: 0 };
  fc.assert(
    fc.property(facts, (node) => {
      const now = allowed(node);
      if (node.holders.length > 0) {
        seen.held += 1;
        assert.ok(!now.includes('retire') && !now.includes('delete'));
      }
      if (node.state === 'retired') {
        seen.ended += 1;
        assert.deepEqual(
          now.filter((action) => !['delete', 'unhold'].includes(action)),
          [],
        );
      }
    }),
    RUNS,
  );
  assertReached(seen);
});

test('a node can be converted exactly when some plan is possible', () => {
  fc.assert(
    fc.property(facts, (node) => {
      const plans = (['slice', 'baremetal'] as const).map((to) =>
        planConversion({ node, claims: node.claims, slots: node.slots }, to, (text) => text),
      );
      assert.equal(
        nodeRefusal('convert', node) === null,
        plans.some((plan) => plan.is_possible),
      );
    }),
  );
});

test('a clean node in use offers what its state allows and gives a reason for the rest', () => {
  assert.deepEqual(allowed(clean), [
    'discover',
    'probe',
    'drain',
    'hold',
    'convert',
    'approve',
    'enroll',
    'revoke_agent',
  ]);
  const say = (action: Parameters<typeof nodeRefusal>[0], change: Partial<NodeFacts>) =>
    nodeRefusal(action, { ...clean, ...change })?.reason;
  assert.equal(say('resume', {}), 'The node is already active.');
  assert.equal(
    say('resume', { state: 'draining', disks: [{ serial: 'S', state: 'wiping' }] }),
    'A disk of the node is being wiped; resume the node after the wipe.',
  );
  assert.equal(
    say('drain', { state: 'offline' }),
    'The node is offline; only a node that is active can become draining.',
  );
  assert.equal(say('retire', {}), 'The node is active. Drain it first.');
  assert.equal(say('retire', { state: 'retired' }), 'The node is retired already.');
  assert.equal(
    say('retire', { state: 'draining', holders: ['alc_1', 'alc_2'] }),
    'Allocation alc_1 and 1 more is still on the node. Release it first.',
  );
  assert.equal(say('delete', { state: 'draining' }), 'The node is draining; retire it first.');
  assert.equal(
    say('delete', { state: 'retired', disks: [{ serial: 'S', state: 'blocked' }] }),
    'The ownership of disk S is blocked; revoke the approval before deleting the node.',
  );
  assert.equal(
    say('approve', { occupancy: 'exclusive' }),
    'The node is in use as bare metal; slots can be approved only while no bare-metal allocation holds the node.',
  );
});
