import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPEN_TASK_STATES } from '@gpuaas/contract';
import { HANDED_OUT_TASK_STATES, HELD_TASK_KINDS, isTaskOpen, isTaskUndone, quarantineReason } from './task.ts';

test('a task is open until it ends, and every task that an agent may hold is open', () => {
  for (const state of [...OPEN_TASK_STATES, ...HANDED_OUT_TASK_STATES]) assert.ok(isTaskOpen(state), state);
  for (const state of ['completed', 'failed', 'expired', 'unknown', 'cancelled']) assert.ok(!isTaskOpen(state), state);
});

test('a task that failed, expired or has an unknown effect was not completed', () => {
  for (const state of ['failed', 'expired', 'unknown']) assert.ok(isTaskUndone(state), state);
  for (const state of [...OPEN_TASK_STATES, 'completed', 'cancelled']) assert.ok(!isTaskUndone(state), state);
});

test('slots are quarantined for late launch results and for hosts that differ from the claim', () => {
  const task = (kind: string, state: string, error_code: string | null) => ({ kind, state, error_code });
  const reason = (given: ReturnType<typeof task>, state_reason: string | null = 'Why.') =>
    quarantineReason({ ...given, state_reason });
  assert.equal(reason(task('slice.vm_start', 'unknown', null)), 'Start VM: Why.');
  assert.equal(reason(task('slice.vm_start', 'unknown', null), null), 'Start VM: unknown');
  for (const code of ['conflict', 'drift', 'stale_generation', 'timeout', 'vfio_group_unavailable'])
    assert.equal(reason(task('slice.vm_start', 'failed', code), null), `Start VM: ${code}`);
  for (const code of ['conflict', 'stale_generation'])
    assert.ok(
      reason(task('slice.vm_readiness', 'failed', code)),
      'the address or the slot belongs to another allocation',
    );
  // A guest OS that is slow or reports nonsense says nothing about the hardware.
  for (const code of ['drift', 'timeout']) assert.equal(reason(task('slice.vm_readiness', 'failed', code)), null);
  for (const code of ['blocked', 'host_error', 'no_space', null])
    assert.equal(reason(task('slice.vm_start', 'failed', code)), null);
  for (const state of ['completed', 'expired', 'cancelled'])
    assert.equal(reason(task('slice.vm_start', state, 'conflict')), null);
  assert.equal(reason(task('allocation.provision_user', 'unknown', null)), 'Set up access: Why.');
  assert.equal(
    reason(task('allocation.provision_user', 'failed', 'stale_generation'), null),
    'Set up access: stale_generation',
  );
  for (const kind of ['slice.cleanup', 'slice.vm_stop', 'node.cleanup', 'image.pull', 'unheard.of'])
    assert.equal(reason(task(kind, 'unknown', null)), null, kind);
});

test('after a restore, kinds that destroy data or install SSH keys are held', () => {
  assert.deepEqual([...HELD_TASK_KINDS].sort(), [
    'allocation.install_authorized_keys',
    'allocation.provision_user',
    'node.cleanup',
    'slice.cleanup',
    'slice.image_clone',
    'slice.vm_start',
  ]);
});
