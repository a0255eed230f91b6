import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { POWER_STATES } from '@gpuaas/contract';
import {
  POWER_DURING,
  POWER_MOVES,
  type PowerChange,
  type PowerFacts,
  type PowerState,
  powerRefusal,
  powerSourcesOf,
} from './power.ts';

const CHANGES = Object.keys(POWER_DURING) as PowerChange[];
const REST: readonly PowerState[] = ['on', 'off', 'unknown'];
const slice: PowerFacts = { capacity_shape: 'gpu_slice', state: 'active', power_state: 'on', is_protected: false };

test('a power change leaves a stable state, has a state of its own, and can always reach a stable state', () => {
  assert.deepEqual(Object.keys(POWER_MOVES).sort(), [...POWER_STATES].sort());
  for (const during of Object.values(POWER_DURING)) {
    assert.ok(powerSourcesOf(during).length > 0);
    assert.ok(powerSourcesOf(during).every((from) => REST.includes(from)));
    assert.ok((POWER_MOVES[during] as readonly PowerState[]).includes('unknown'));
    assert.ok(POWER_MOVES[during].every((to) => REST.includes(to)));
  }
});

test('the table in doc/architecture/allocation-states.md equals the table in the code', () => {
  const text = readFileSync(new URL('../../../doc/architecture/allocation-states.md', import.meta.url), 'utf8');
  const rows = text
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter(([, from]) => (POWER_STATES as readonly string[]).includes(from ?? ''));
  assert.deepEqual(Object.fromEntries(rows.map(([, from, to]) => [from, to?.split(', ')])), POWER_MOVES);
});

test('a slice without protection is refused exactly the changes without a transition', () => {
  for (const power_state of POWER_STATES)
    for (const change of CHANGES) {
      const isMove = powerSourcesOf(POWER_DURING[change]).includes(power_state);
      assert.equal(powerRefusal({ ...slice, power_state }, change) === null, isMove, `${change} from ${power_state}`);
    }
});

test('a refusal states the next action', () => {
  const refusal = (facts: Partial<PowerFacts>, change: PowerChange = 'stop') =>
    powerRefusal({ ...slice, ...facts }, change) ?? '';
  assert.match(refusal({ capacity_shape: 'baremetal', power_state: null }), /bare-metal.*release it/);
  assert.match(refusal({ state: 'provisioning', power_state: null }), /Wait until it is active/);
  for (const state of ['releasing', 'released', 'failed', 'release_failed'] as const)
    assert.match(refusal({ state, power_state: null }), /Launch another/);
  assert.match(refusal({ power_state: 'rebooting' }), /rebooting\. Wait until that completes/);
  assert.match(refusal({ power_state: 'off' }, 'reboot'), /Start it instead/);
  assert.match(refusal({ is_protected: true }, 'reinstall'), /Remove the protection first/);
  assert.equal(powerRefusal({ ...slice, is_protected: true }, 'stop'), null);
});

test('a slice with unknown power state can be changed', () => {
  assert.equal(powerRefusal({ ...slice, power_state: null }, 'reboot'), null);
});
