import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALLOCATION_STATES } from '@gpuaas/contract';
import {
  allocationActions,
  forceReleaseRefusal,
  grantRefusal,
  maxDurationRefusal,
  releaseRefusal,
  updateRefusal,
} from './allocation-actions.ts';

test('an ended allocation can be neither released nor changed, and the refusal states it', () => {
  for (const state of ['released', 'failed'] as const) {
    assert.equal(
      releaseRefusal({ state, is_protected: true })?.reason,
      `The allocation is ${state}; there is nothing to release.`,
    );
    assert.equal(updateRefusal(state)?.reason, `The allocation is ${state}.`);
  }
  const live = ALLOCATION_STATES.filter((state) => state !== 'released' && state !== 'failed');
  for (const state of live) assert.equal(updateRefusal(state), null);
});

test('protection blocks release by a tenant, and never by an operator', () => {
  for (const state of ['requested', 'provisioning', 'active', 'release_failed'] as const) {
    assert.deepEqual(releaseRefusal({ state, is_protected: true }), {
      reason: 'The allocation is protected. Remove the protection first.',
      is_done: false,
    });
    assert.equal(releaseRefusal({ state, is_protected: false }), null);
    assert.equal(forceReleaseRefusal(state), null);
  }
});

test('a release in progress is accepted again, protected or not', () => {
  for (const is_protected of [true, false])
    assert.equal(releaseRefusal({ state: 'releasing', is_protected })?.is_done, true);
});

test('a maximum duration must end in the future', () => {
  assert.equal(maxDurationRefusal(3_599, 3_600), null);
  assert.match(maxDurationRefusal(3_600, 3_600)?.reason ?? '', /active for 3600 s/);
});

test('keys are granted until the release begins', () => {
  const open = ALLOCATION_STATES.filter((state) => grantRefusal(state) === null);
  assert.deepEqual(open, ['requested', 'provisioning', 'active']);
});

const slice = {
  name: 'train',
  capacity_shape: 'gpu_slice',
  state: 'active',
  node_id: 'nod_1',
  power_state: 'off',
  is_protected: false,
} as const;

test('an allocation lists each action with its refusal, the missing role first', () => {
  const shown = allocationActions(slice, (permission) => permission !== 'allocation.update');
  assert.deepEqual(
    shown.filter(({ allowed }) => allowed).map(({ name }) => name),
    ['release', 'grant', 'stop', 'start', 'reinstall'],
  );
  assert.match(shown.find(({ name }) => name === 'update')?.reason ?? '', /role/);
  for (const name of ['connect', 'console'])
    assert.match(shown.find((one) => one.name === name)?.reason ?? '', /The VM is off/);
});

test('bare metal has no power actions, and states why it has no console', () => {
  const shown = allocationActions({ ...slice, capacity_shape: 'baremetal', power_state: null }, () => true);
  assert.deepEqual(
    shown.map(({ name }) => name),
    ['update', 'release', 'connect', 'console', 'grant'],
  );
  assert.match(shown.find(({ name }) => name === 'console')?.reason ?? '', /no serial console/);
});

test('an ended allocation lists why it cannot change and accepts no keys', () => {
  const shown = allocationActions({ ...slice, state: 'released', power_state: null }, () => true);
  const reasonOf = (wanted: string) => shown.find(({ name }) => name === wanted)?.reason;
  assert.equal(reasonOf('update'), 'The allocation is released.');
  assert.equal(reasonOf('grant'), 'The allocation is released and accepts no SSH keys.');
});
