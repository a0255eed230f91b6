import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HostFacts } from '@gpuaas/contract/node';
import fc from 'fast-check';
import { assertReached } from '../../../tools/test/reached.ts';
import { assertTopologyMap } from '../../test/shapes.ts';
import { fn, machineFacts, type SwitchPlan } from '../../test/vm-facts.ts';
import { mapHash, topologyOf } from './topology.ts';

const SETTINGS = { node_id: 'nod_01', accelerators: [], private_network: '10.100.0.0/24' };

/** Any number of switches, what they carry in any order, NUMA nodes with gaps, any domain, either vendor. */
const plans = fc.uniqueArray(fc.integer({ min: 0, max: 15 }), { minLength: 1, maxLength: 8 }).chain((rows) =>
  fc.tuple(
    ...rows.map((row, index) =>
      fc
        .record({
          order: fc.shuffledSubarray([4, 5, 6], { minLength: 3 }),
          numa_node: fc.constantFrom(0, 1, 8, 252),
        })
        .map(
          ({ order: [gpu = 4, nvme = 5, card = 6], numa_node }): SwitchPlan => ({
            upstream: row * 8,
            gpu: row * 8 + gpu,
            nvme: row * 8 + nvme,
            card: row * 8 + card,
            module_id: index + 1,
            numa_node,
          }),
        ),
    ),
  ),
);
const options = fc.record({
  domain: fc.constantFrom('0000', '0001', 'ffff', '10000'),
  vendor: fc.constantFrom('nvidia' as const, 'amd' as const),
  vfs: fc.integer({ min: 0, max: 4 }),
  nvswitches: fc.constantFrom(0, 4),
  driver: fc.constantFrom(null, 'nvidia', 'vfio-pci'),
  shared_groups: fc.boolean(),
});
const machines = fc.tuple(plans, options).map(([plan, option]) => machineFacts(plan, option));

const map = (facts: HostFacts) => topologyOf(facts, SETTINGS);
const LISTS = ['pci', 'iommu_groups', 'gpus', 'disks', 'nics', 'tools'] as const;
const PARTS = [...LISTS, 'system', 'fabric', 'network'] as const;

/** The same facts in another order, inside and out. */
const shuffled = (facts: HostFacts): fc.Arbitrary<HostFacts> =>
  fc
    .tuple(
      ...LISTS.map((part) => {
        const fact = facts[part];
        const values: readonly unknown[] = 'value' in fact ? fact.value : [];
        return fc.shuffledSubarray([...values], { minLength: values.length });
      }),
    )
    .map((lists) => {
      const changed = Object.fromEntries(LISTS.map((part, index) => [part, { value: lists[index] }]));
      const groups = (changed['iommu_groups']?.value ?? []) as { group: number; addresses: string[] }[];
      const turned = { value: groups.map((one) => ({ ...one, addresses: one.addresses.toReversed() })) };
      return { ...facts, ...changed, iommu_groups: turned };
    });

test('the order of the facts never changes the map', () => {
  const pairs = machines.chain((facts) => fc.tuple(fc.constant(facts), shuffled(facts)));
  fc.assert(
    fc.property(pairs, ([facts, other]) => {
      assert.deepEqual(map(other), map(facts));
      assert.equal(mapHash(map(other)), mapHash(map(facts)));
    }),
  );
});

test('an unreadable part never leaves a candidate without blockers', () => {
  fc.assert(
    fc.property(machines, fc.subarray([...PARTS], { minLength: 1 }), (facts, parts) => {
      const blind = { ...facts, ...Object.fromEntries(parts.map((part) => [part, { unreadable: 'tool is gone' }])) };
      const found = map(blind);
      for (const candidate of found.candidates) {
        assert.ok(
          candidate.blockers.some((one) => one.code === 'facts_unreadable' && /tool is gone/.test(one.message)),
        );
      }
      assert.ok(found.prerequisites.some((one) => !one.is_met));
    }),
  );
});

test('every part of a slot is its own, from one switch, and every candidate matches the contract', () => {
  fc.assert(
    fc.property(machines, (facts) => {
      assert.ok('value' in facts.pci && 'value' in facts.disks);
      const at = new Map(facts.pci.value.map((one) => [one.address, one.upstream_port]));
      const driveOf = new Map(facts.disks.value.map((one) => [one.serial, one.pci_address ?? '']));
      const found = map(facts);
      assertTopologyMap(found);
      for (const key of [
        'slot_index',
        'gpu_pci_address',
        'nvme_serial',
        'fabric_vf_pci_address',
        'mac_address',
        'private_ip',
        'ovs_port',
      ] as const) {
        const values = found.candidates.map((one) => one[key]).filter((value) => value !== null);
        assert.equal(new Set(values).size, values.length, key);
      }
      for (const one of found.candidates) {
        assert.equal(at.get(one.gpu_pci_address ?? ''), one.upstream_port);
        assert.equal(at.get(driveOf.get(one.nvme_serial) ?? ''), one.upstream_port);
        assert.equal(at.get(one.fabric_parent_pci_address ?? ''), one.upstream_port);
      }
    }),
  );
});

test('a function added to the IOMMU group of a slot blocks the slot', () => {
  fc.assert(
    fc.property(machines, fc.nat(), (facts, pick) => {
      assert.ok('value' in facts.pci && 'value' in facts.iommu_groups);
      const candidates = map(facts).candidates;
      const chosen = candidates[pick % candidates.length];
      const stranger = fn('00ab:ff:1f.7', { class_code: '020000' });
      const groups = facts.iommu_groups.value.map((one) =>
        one.group === chosen?.iommu_group ? { ...one, addresses: [...one.addresses, stranger.address] } : one,
      );
      const found = map({ ...facts, pci: { value: [...facts.pci.value, stranger] }, iommu_groups: { value: groups } });
      const again = found.candidates[chosen?.slot_index ?? -1];
      assert.ok(again?.iommu_group_other_devices.includes(stranger.address));
      assert.ok(again?.blockers.some((one) => one.code === 'iommu_group_shared'));
    }),
  );
});

test('only a slot with all its parts, alone in its groups, has no blockers', () => {
  const seen = { blocked: 0, free: 0 };
  fc.assert(
    fc.property(machines, (facts) => {
      for (const one of map(facts).candidates) {
        seen[one.blockers.length === 0 ? 'free' : 'blocked'] += 1;
        if (one.blockers.length > 0) continue;
        for (const key of ['gpu_pci_address', 'nvme_serial', 'nvme_device', 'wipe_method', 'iommu_group'] as const)
          assert.notEqual(one[key], null);
        assert.equal(one.fabric_claim_mode, 'per_slot_vf');
        assert.deepEqual(one.iommu_group_other_devices, []);
      }
    }),
  );
  assertReached(seen);
});
