import assert from 'node:assert/strict';
import { it } from 'node:test';
import { addressBlock, CALLERS_MAX, createRateLimit } from './rate-limit.ts';

it('neighboring IPv6 addresses count as one address', () => {
  const same = ['2001:db8:1:2::1', '2001:DB8:1:2:ffff::9', '2001:db8:0001:0002:3:4:5:6', '2001:db8:1:2::%eth0'];
  assert.deepEqual(new Set(same.map(addressBlock)), new Set(['2001:db8:1:2::/64']));
  assert.notEqual(addressBlock('2001:db8:1:3::1'), addressBlock('2001:db8:1:2::1'));
  assert.equal(addressBlock('2001:db8::1'), '2001:db8:0:0::/64');
  assert.equal(addressBlock('::1'), '0:0:0:0::/64');
});

it('an IPv4 address counts alone, in either notation', () => {
  assert.equal(addressBlock('192.0.2.7'), '192.0.2.7');
  assert.equal(addressBlock('::ffff:192.0.2.7'), '192.0.2.7');
});

it('a caller without allowance waits until it is refilled', () => {
  const limit = createRateLimit(60);
  for (let i = 0; i < 60; i++) assert.equal(limit.take('a', 0), 0);
  assert.equal(limit.take('a', 0), 1);
  assert.equal(limit.take('b', 0), 0);
  assert.equal(limit.take('a', 1_000), 0);
});

it('checking the allowance does not use it', () => {
  const limit = createRateLimit(1);
  assert.deepEqual([limit.look('a', 0), limit.look('a', 0), limit.take('a', 0)], [0, 0, 0]);
  assert.deepEqual([limit.look('a', 0), limit.look('a', 60_000), limit.take('a', 60_000)], [60, 0, 0]);
});

it('a flood of callers forgets the one that was used least recently, and no caller that keeps asking', () => {
  const limit = createRateLimit(1);
  assert.deepEqual([limit.take('quiet', 0), limit.take('busy', 0)], [0, 0]);
  for (let i = 0; i < 3 * CALLERS_MAX; i++) {
    limit.take(`flood-${i}`, 0);
    if (i % 1000 === 0) assert.equal(limit.take('busy', 0), 60, `after ${i} callers`);
  }
  assert.equal(limit.take('quiet', 0), 0, 'memory is bounded');
});
