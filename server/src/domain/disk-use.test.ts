import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DiskUse, recheckDiskMs, whyNotErase, whyNotExclude } from './disk-use.ts';

const use = (over: Partial<DiskUse> = {}): DiskUse => ({
  node_state: 'active',
  capacity_mode: 'slice',
  occupancy: 'sliced',
  slot_index: null,
  slot_elsewhere: null,
  node_elsewhere: null,
  unwiped_since: null,
  ...over,
});

test('a disk in use is checked a few hundred times in 14 days, soon after its approval most often', () => {
  let [checks, ageMs] = [0, 0];
  for (const days14 = 14 * 86_400_000; ageMs < days14; checks += 1) ageMs += recheckDiskMs(ageMs);
  assert.ok(checks < 500, `${checks}`);
  assert.deepEqual([recheckDiskMs(-5), recheckDiskMs(240_000), recheckDiskMs(1e9)], [60_000, 60_000, 3_600_000]);
});

test('a disk outside all slots of a slice node can be wiped while tenants hold slots', () => {
  assert.equal(whyNotErase(use()), undefined);
});

test('a disk is not wiped while it is held or can be allocated', () => {
  for (const [held, reason] of [
    [undefined, /no longer exists/],
    [use({ slot_index: 3 }), /slot 3/],
    [use({ slot_elsewhere: { slot_index: 2, node_name: 'gpu-07' } }), /slot 2 of gpu-07. Disable that slot/],
    [use({ node_elsewhere: 'gpu-08' }), /part of gpu-08, which is allocated as a whole/],
    [use({ occupancy: 'exclusive', capacity_mode: 'flexible' }), /whole node is allocated/],
    [
      use({ occupancy: 'cleanup_blocked', capacity_mode: 'baremetal', node_state: 'draining' }),
      /whole node is allocated/,
    ],
    [use({ occupancy: 'free', capacity_mode: 'baremetal' }), /Drain it first/],
  ] as const)
    assert.match(whyNotErase(held) ?? '', reason);
  assert.equal(whyNotErase(use({ occupancy: 'free', capacity_mode: 'baremetal', node_state: 'draining' })), undefined);
});

test('a disk is excluded only where it is free, and brings no data of another place', () => {
  for (const [held, reason] of [
    [undefined, /no longer exists/],
    [use({ slot_index: 3 }), /slot 3 and is wiped with it/],
    [use({ slot_elsewhere: { slot_index: 2, node_name: 'gpu-07' } }), /slot 2 of gpu-07. Disable that slot/],
    [use({ node_elsewhere: 'gpu-08' }), /part of gpu-08, which is allocated as a whole/],
    [use({ occupancy: 'exclusive', capacity_mode: 'baremetal' }), /Exclude the disk when the node is free/],
    [use({ unwiped_since: 'gpu-09' }), /used the disk in gpu-09, and no wipe since is verified. Approve the disk/],
  ] as const)
    assert.match(whyNotExclude(held) ?? '', reason);
  assert.equal(whyNotExclude(use({ occupancy: 'free', capacity_mode: 'baremetal' })), undefined);
  assert.equal(whyNotErase(use({ unwiped_since: 'gpu-09' })), undefined, 'a wipe is what it needs');
});
