import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TaskSlot } from '@gpuaas/contract/node';
import fc from 'fast-check';
import { assertReached } from '../../tools/test/reached.ts';
import { slotOf } from '../test/bundle.ts';
import {
  findConflicts,
  findSameLease,
  getLease,
  isOver,
  type Lease,
  type LeaseFile,
  noteGenerations,
  putLease,
  refuseStale,
  releaseSlots,
} from './leases.ts';

const ALLOCATIONS = ['alc_a', 'alc_b', 'alc_c'] as const;
const EMPTY: LeaseFile = { schema: 1, generations: {}, leases: [] };

const leaseFor = (allocation: string, slots: readonly TaskSlot[], given: Partial<Lease> = {}): Lease => ({
  allocation_id: allocation,
  slots,
  plan: {
    boot_slot_id: slots[0]?.slot_id ?? '',
    slots: [],
    mac_address: '',
    private_ip: '',
    ovs_port: `gp${allocation}`,
    numa_nodes: [0],
    cpuset: '',
    vcpu_count: 0,
    memory_mib: 0,
    hugepages: null,
    fabric_partition_id: null,
    profile: '',
  },
  taken_at: '2026-01-01T00:00:00.000Z',
  expires_at: '2026-01-01T02:00:00.000Z',
  touched_at: null,
  cleaning_since: null,
  wanted: 'on',
  ...given,
});

const indexes = fc.uniqueArray(fc.integer({ min: 0, max: 7 }), { minLength: 1, maxLength: 4 });

test('in any order of leases and releases no two leases share a device, and the newest generation wins', () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('take' as const),
      allocation: fc.constantFrom(...ALLOCATIONS),
      indexes,
      generation: fc.integer({ min: 0, max: 5 }),
    }),
    fc.record({ kind: fc.constant('release' as const), indexes }),
  );
  const seen = { taken: 0, released: 0, stale: 0, conflicts: 0 };
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let book = EMPTY;
      const newest = new Map<string, number>();
      for (const each of steps) {
        if (each.kind === 'release') {
          const before = book.leases.length;
          book = releaseSlots(book, new Set(each.indexes.map((index) => slotOf(index).slot_id)));
          if (book.leases.length < before) seen.released += 1;
          continue;
        }
        const slots = each.indexes.map((index) => ({ ...slotOf(index), generation: each.generation }));
        const isStale = slots.some((slot) => slot.generation < (newest.get(slot.slot_id) ?? 0));
        if (isStale) {
          seen.stale += 1;
          assert.throws(() => refuseStale(book, slots), { code: 'stale_generation' });
          continue;
        }
        refuseStale(book, slots);
        const held = book.leases
          .filter((lease) => lease.allocation_id !== each.allocation)
          .flatMap((lease) => lease.slots.map((slot) => slot.slot_id));
        const conflicts = findConflicts(book.leases, each.allocation, slots);
        assert.equal(
          conflicts.length > 0,
          slots.some((slot) => held.includes(slot.slot_id)),
        );
        if (conflicts.length > 0) {
          seen.conflicts += 1;
          continue;
        }
        seen.taken += 1;
        book = putLease(book, leaseFor(each.allocation, slots));
        for (const slot of slots) newest.set(slot.slot_id, slot.generation);
      }
      const all = book.leases.flatMap((lease) => lease.slots);
      for (const read of [(slot: TaskSlot) => slot.slot_id, (slot: TaskSlot) => slot.nvme_serial])
        assert.equal(new Set(all.map(read)).size, all.length);
      assert.ok(book.leases.every((lease) => lease.slots.length > 0));
      for (const [slot, generation] of newest) assert.equal(book.generations[slot], generation);
    }),
    // A conflict takes a free place in the random order: enough cases for each kind to come up.
    { numRuns: 400 },
  );
  assertReached(seen);
});

test('any shared device or address is a conflict that names its holder', () => {
  const fields = [
    'slot_id',
    'gpu_pci_address',
    'fabric_vf_pci_address',
    'nvme_serial',
    'mac_address',
    'private_ip',
  ] as const;
  for (const field of fields) {
    const mine = { ...slotOf(1), [field]: slotOf(0)[field] };
    const conflicts = findConflicts([leaseFor('alc_a', [slotOf(0)])], 'alc_b', [mine]);
    assert.equal(conflicts.length, 1, field);
    assert.match(conflicts[0] ?? '', /leased to allocation alc_a$/);
  }
  assert.deepEqual(findConflicts([leaseFor('alc_a', [slotOf(0)])], 'alc_b', [slotOf(1)]), []);
  assert.deepEqual(findConflicts([leaseFor('alc_a', [slotOf(0)])], 'alc_a', [slotOf(0)]), [], 'its own is none');
});

test('a lease expires only by time, and only while nothing of it is on the host', () => {
  const present = fc.record({
    isLate: fc.boolean(),
    isTouched: fc.boolean(),
    isCleaning: fc.boolean(),
    hasDomain: fc.boolean(),
    hasPort: fc.boolean(),
  });
  fc.assert(
    fc.property(present, (given) => {
      const lease = leaseFor('alc_a', [slotOf(0)], {
        touched_at: given.isTouched ? '2026-01-01T00:30:00.000Z' : null,
        cleaning_since: given.isCleaning ? '2026-01-01T00:30:00.000Z' : null,
      });
      const over = isOver(lease, new Date(given.isLate ? '2026-01-01T02:00:00.000Z' : '2026-01-01T01:59:59.999Z'), {
        allocations: new Set(given.hasDomain ? ['alc_a'] : []),
        ports: new Set(given.hasPort ? ['gpalc_a'] : []),
      });
      const isUsed = given.isTouched || given.isCleaning || given.hasDomain || given.hasPort;
      assert.equal(over, given.isLate && !isUsed);
    }),
  );
});

test('an older generation never replaces a newer one that was seen', () => {
  const seen = noteGenerations(EMPTY, [{ ...slotOf(0), generation: 7 }]);
  assert.equal(noteGenerations(seen, [{ ...slotOf(0), generation: 3 }]), seen);
  assert.equal(seen.generations[slotOf(0).slot_id], 7);
});

test('a task of the same claim with another disk, GPU, function or MAC than leased is refused', () => {
  const book = putLease(EMPTY, leaseFor('alc_a', [slotOf(0), slotOf(1)]));
  const same = [
    slotOf(1),
    { ...slotOf(0), mac_address: slotOf(0).mac_address.toUpperCase(), nvme_device: '/dev/moved' },
  ];
  assert.equal(getLease(book, 'alc_a', same), book.leases[0]);
  for (const field of ['gpu_pci_address', 'fabric_vf_pci_address', 'nvme_serial', 'mac_address'] as const) {
    const other = [slotOf(0), { ...slotOf(1), [field]: slotOf(2)[field] }];
    const refused = { code: 'conflict', message: new RegExp(`${slotOf(1)[field]}, not ${slotOf(2)[field]}$`) };
    assert.throws(() => getLease(book, 'alc_a', other), refused, field);
    assert.throws(() => findSameLease(book, 'alc_a', other), refused, field);
  }
});
