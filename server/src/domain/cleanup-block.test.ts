import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blockedReason } from './cleanup-block.ts';

const reason = 'The disks could not be wiped.';

test('a slot whose cleanup failed reports the host’s reason and the next action', () => {
  const failure = { kind: 'slice.cleanup', state_reason: 'nvme0n1 is mounted at /mnt' };
  assert.equal(
    blockedReason('alc_1', reason, failure),
    'The disks could not be wiped. nvme0n1 is mounted at /mnt. Next: fix the cause, then run gpuaas admin allocation force-cleanup alc_1.',
  );
  assert.match(blockedReason('alc_1', reason, { ...failure, state_reason: 'It failed!' }), /It failed! Next:/);
});

test('nothing is repeated and nothing is invented', () => {
  const next = 'Next: fix the cause, then run gpuaas admin allocation force-cleanup alc_1.';
  assert.equal(blockedReason('alc_1', reason, undefined), `${reason} ${next}`);
  for (const state_reason of [null, reason])
    assert.equal(blockedReason('alc_1', reason, { kind: 'node.cleanup', state_reason }), `${reason} ${next}`);
});

test('for a VM that could not be stopped the first action is to check the host', () => {
  for (const kind of ['slice.vm_stop', 'allocation.deprovision_user'])
    assert.match(blockedReason('alc_1', reason, { kind, state_reason: null }), /--runtime-verified-absent/);
});
