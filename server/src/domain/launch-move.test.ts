import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TASK_ERRORS, TASK_KINDS } from '@gpuaas/contract/node';
import fc from 'fast-check';
import {
  type FailedLaunchTask,
  GUEST_HOSTS_MAX,
  isHostAtFault,
  isImageAtFault,
  LAUNCH_HOSTS_MAX,
  moveRefusal as refusalOf,
} from './launch-move.ts';

const failed = (over: Partial<FailedLaunchTask> = {}): FailedLaunchTask => ({
  kind: 'slice.vm_start',
  error_code: 'host_error',
  has_user_data: false,
  image_refusals: 0,
  ...over,
});
const moveRefusal = (task: FailedLaunchTask, count: number, is_one_left = false) =>
  refusalOf(task, { count, is_one_left });
const anyTask = fc.record({
  kind: fc.constantFrom(...TASK_KINDS),
  error_code: fc.option(fc.constantFrom(...TASK_ERRORS)),
  has_user_data: fc.boolean(),
  image_refusals: fc.nat(LAUNCH_HOSTS_MAX),
});

test('a launch is tried on a bounded number of hosts, whatever failed', () => {
  fc.assert(
    fc.property(anyTask, fc.nat(10), fc.boolean(), (task, tried, isOneLeft) => {
      if (tried >= LAUNCH_HOSTS_MAX) assert.notEqual(moveRefusal(task, tried, isOneLeft), null);
    }),
  );
  assert.equal(moveRefusal(failed(), LAUNCH_HOSTS_MAX - 1), null);
  assert.equal(moveRefusal(failed(), LAUNCH_HOSTS_MAX), `It was tried on ${LAUNCH_HOSTS_MAX} hosts.`);
});

test('what any host would refuse is not tried on another one, and blames none', () => {
  for (const task of [failed({ error_code: 'bad_params' }), failed({ error_code: 'blocked', has_user_data: true })]) {
    assert.equal(moveRefusal(task, 1), 'Another host would refuse it as well.');
    assert.equal(isHostAtFault(task), false);
  }
  // Without user data the same refusal is about the host.
  assert.equal(moveRefusal(failed({ error_code: 'blocked' }), 1), null);
  assert.equal(isHostAtFault(failed({ error_code: null })), true);
});

test('a guest OS that runs the tenant’s user data blames no host and moves its launch once, whatever it reports', () => {
  for (const error_code of [...TASK_ERRORS.filter((code) => code !== 'bad_params'), null]) {
    const ready = failed({ kind: 'slice.vm_readiness', error_code, has_user_data: true });
    assert.equal(isHostAtFault(ready), false);
    const plain = { ...ready, has_user_data: false };
    assert.equal(isHostAtFault(plain), error_code !== 'bad_image');
    assert.deepEqual([moveRefusal(plain, 1), moveRefusal(plain, 2, true)], [null, null]);
    if (error_code === 'drift') {
      assert.equal(moveRefusal(ready, 1), 'Its user data may be the cause, so no other host is tried.');
      continue;
    }
    assert.equal(moveRefusal(ready, 1), null);
    assert.equal(moveRefusal(ready, GUEST_HOSTS_MAX), 'Its user data may be the cause: it was tried on 2 hosts.');
    assert.match(moveRefusal(ready, 1, true) ?? '', /^Its user data may be the cause\. No other host is tried while/);
  }
});

test('an image is at fault when a second host refuses it; until then the launch moves and no host is blamed', () => {
  const refused = failed({ kind: 'slice.image_clone', error_code: 'bad_image' });
  assert.deepEqual([isHostAtFault(refused), isImageAtFault(refused), moveRefusal(refused, 1)], [false, false, null]);
  const again = { ...refused, image_refusals: 1 };
  assert.deepEqual([isHostAtFault(again), isImageAtFault(again)], [false, true]);
  assert.match(moveRefusal(again, 2) ?? '', /^2 hosts refused the image\. Choose another image;/);
  // A damaged cache is the host's own, however often it happens.
  const cache = { ...again, error_code: 'bad_image_cache' };
  assert.deepEqual([isHostAtFault(cache), isImageAtFault(cache), moveRefusal(cache, 2)], [true, false, null]);
});

test('a launch leaves the host at fault, and no other but one that refused an image first or had the tenant’s guest OS', () => {
  fc.assert(
    fc.property(anyTask, (task) => {
      const isLeft = moveRefusal(task, 1) === null;
      const isGuest = task.has_user_data && task.kind === 'slice.vm_readiness';
      if (isHostAtFault(task) !== isLeft)
        assert.ok(isLeft && (isGuest || (task.error_code === 'bad_image' && !isImageAtFault(task))));
    }),
  );
});
