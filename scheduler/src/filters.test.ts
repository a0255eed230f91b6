import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aNode, aSlice, bareMetal, onlyFree, slots } from '../test/fleet.ts';
import { candidateOf, FILTERS, rejectedBy } from './filters.ts';
import type { FilterName, PlacementRequest, SchedulerNode, UnavailableReason } from './model.ts';

type Case = Readonly<{
  filter: FilterName;
  node?: Partial<SchedulerNode>;
  request?: PlacementRequest;
  detail: string;
  reason: UnavailableReason | null;
}>;

const NUMA_HOST = { gpu_count: 8, vcpu_count: 64, memory_mib: 524_288, hugepages_mib: 0, numa_nodes: 2 };

const CASES: readonly Case[] = [
  { filter: 'region', node: { region: 'south' }, detail: 'node is in south', reason: null },
  { filter: 'node_state', node: { state: 'offline' }, detail: 'node is offline', reason: 'not_ready' },
  { filter: 'node_state', node: { state: 'draining' }, detail: 'node is draining', reason: 'not_ready' },
  { filter: 'node_state', node: { state: 'enrolling' }, detail: 'node is enrolling', reason: null },
  {
    filter: 'gpu_model',
    node: { has_other_gpus: true },
    detail: 'discovery found GPUs of another model',
    reason: 'not_ready',
  },
  {
    filter: 'gpu_model',
    node: { has_other_gpus: true, capacity_mode: 'baremetal' },
    request: bareMetal(),
    detail: 'discovery found GPUs of another model',
    reason: 'not_ready',
  },
  {
    filter: 'host_role',
    node: { host_role: 'platform_control' },
    detail: 'host role is platform_control',
    reason: null,
  },
  {
    filter: 'pool',
    node: { pool: { id: 'theirs', tenant_id: 'org_b' } },
    detail: 'pool theirs is dedicated to another tenant',
    reason: null,
  },
  { filter: 'sku', node: { sku_names: ['h100-slice', 'a100'] }, detail: 'node offers h100-slice, a100', reason: null },
  { filter: 'sku', node: { sku_names: [] }, detail: 'node offers no SKU', reason: null },
  { filter: 'capacity_mode', node: { capacity_mode: 'baremetal' }, detail: 'node is for bare metal', reason: null },
  { filter: 'capacity_mode', request: bareMetal(), detail: 'node is for slices', reason: null },
  { filter: 'occupancy', node: { occupancy: 'exclusive' }, detail: 'node is in use as bare metal', reason: 'claimed' },
  { filter: 'occupancy', node: { occupancy: 'cleaning' }, detail: 'node is being wiped', reason: 'cleaning' },
  {
    filter: 'occupancy',
    node: { occupancy: 'cleanup_blocked' },
    detail: 'node is blocked in cleanup',
    reason: 'cleanup_blocked',
  },
  {
    filter: 'occupancy',
    node: { capacity_mode: 'flexible', occupancy: 'sliced' },
    request: bareMetal(),
    detail: 'node is in use by slices',
    reason: 'fragmented',
  },
  { filter: 'held', node: { held_for: 'baremetal' }, detail: 'node is held for baremetal', reason: 'held' },
  { filter: 'node_health', node: { health: 'unknown' }, detail: 'node health is unknown', reason: 'unhealthy' },
  {
    filter: 'runtime_validated',
    node: { runtime_validated: false },
    detail: 'no prerequisite check has passed since the node booted',
    reason: 'not_ready',
  },
  {
    filter: 'boot_kind',
    node: { boot_kinds: ['kernel'] },
    request: aSlice(1, { boot_kind: 'uefi' }),
    detail: 'host has no UEFI firmware for VMs, which the image needs',
    reason: 'boot_kind',
  },
  {
    filter: 'boot_kind',
    node: { boot_kinds: null },
    request: aSlice(1, { boot_kind: 'kernel' }),
    detail: 'host has no kernel for VMs, which the image needs',
    reason: 'boot_kind',
  },
  {
    filter: 'host_size',
    node: { host: { ...NUMA_HOST, pages_mib: { '2M': 0, '1G': 0, reserved: 0 } } },
    request: aSlice(1, { vm: { vcpu_count: 8, memory_mib: 1024, hugepages: '1G' } }),
    detail: 'VM does not fit: 1 of 2 NUMA nodes with 0 MiB of 1G huge pages, 1024 needed',
    reason: null,
  },
  {
    filter: 'host_size',
    node: { host: { ...NUMA_HOST, pages_mib: { '2M': 0, '1G': 458_752, reserved: 458_752 } } },
    request: aSlice(1, { vm: { vcpu_count: 8, memory_mib: 32_769, hugepages: 'none' } }),
    detail:
      'VM does not fit: 1 of 2 NUMA nodes with 32768 MiB of memory that is not reserved for huge pages, 32769 needed',
    reason: null,
  },
  {
    filter: 'host_size',
    node: { host: { ...NUMA_HOST, pages_mib: { '2M': 0, '1G': 0, reserved: 458_752 } } },
    request: aSlice(1, { vm: { vcpu_count: 8, memory_mib: 32_769 } }),
    detail: 'VM does not fit: 1 of 2 NUMA nodes with 32768 MiB of memory, 32769 needed',
    reason: null,
  },
  {
    filter: 'host_size',
    node: { host: NUMA_HOST },
    request: aSlice(1, { vm: { vcpu_count: 33, memory_mib: 1024, numa_policy: 'preferred' } }),
    detail: 'VM does not fit: 1 of 2 NUMA nodes with 32 CPUs, 33 needed',
    reason: null,
  },
  {
    filter: 'host_size',
    node: { host: NUMA_HOST },
    request: aSlice(1, { vm: { vcpu_count: 33, memory_mib: 524_289, numa_policy: 'none' } }),
    detail: 'VM does not fit: host with 524288 MiB of memory, 524289 needed',
    reason: null,
  },
  {
    filter: 'host_size',
    node: { host: { gpu_count: 8, vcpu_count: 64, memory_mib: 524_288, hugepages_mib: 0, numa_nodes: 2 } },
    request: aSlice(4, { vm: { vcpu_count: 33, memory_mib: 1024 } }),
    detail: 'VM does not fit: 1 of 2 NUMA nodes with 32 CPUs, 33 needed',
    reason: null,
  },
  {
    filter: 'host_size',
    node: { host: { gpu_count: 8, vcpu_count: 64, memory_mib: 524_288, hugepages_mib: 4096, numa_nodes: 2 } },
    request: aSlice(8, { vm: { vcpu_count: 64, memory_mib: 4097 } }),
    detail: 'VM does not fit: host with 4096 MiB of huge pages, 4097 needed',
    reason: null,
  },
  {
    filter: 'host_size',
    node: { host: { gpu_count: 8, vcpu_count: 64, memory_mib: 524_288, hugepages_mib: 0, numa_nodes: 2 } },
    request: aSlice(1, { vm: { vcpu_count: 32, memory_mib: 262_145 } }),
    detail: 'VM does not fit: 1 of 2 NUMA nodes with 262144 MiB of memory, 262145 needed',
    reason: null,
  },
  {
    filter: 'slot_completeness',
    node: { slots: slots({ 0: { has_nvme: false } }) },
    request: aSlice(8),
    detail: '1 of 8 usable slots are incomplete',
    reason: 'fragmented',
  },
  {
    filter: 'count_on_one_node',
    node: { slots: onlyFree(0, 1) },
    request: aSlice(4),
    detail: '2 free GPUs, 4 requested',
    reason: 'fragmented',
  },
  {
    filter: 'count_on_one_node',
    node: { capacity_mode: 'baremetal', slots: slots({ 3: { approval: 'disabled', status: 'cleanup_blocked' } }) },
    request: bareMetal(),
    detail: '1 of 8 slots are not available',
    reason: 'fragmented',
  },
  {
    filter: 'count_on_one_node',
    node: { capacity_mode: 'flexible', slots: slots({ 3: { health: 'unhealthy' } }) },
    request: bareMetal(),
    detail: '7 usable GPUs, 8 requested',
    reason: 'fragmented',
  },
  {
    filter: 'count_on_one_node',
    node: { capacity_mode: 'baremetal', slots: [], partitions: null, data_disks: 1, unapproved_disks: 7 },
    request: bareMetal(),
    detail: '7 disks are neither wiped under an approval nor excluded',
    reason: 'unapproved',
  },
  {
    filter: 'count_on_one_node',
    node: { capacity_mode: 'flexible', unapproved_disks: 1 },
    request: bareMetal(),
    detail: '1 disk is neither wiped under an approval nor excluded',
    reason: 'unapproved',
  },
  {
    filter: 'count_on_one_node',
    node: { capacity_mode: 'baremetal', slots: [], partitions: null, data_disks: 0 },
    request: bareMetal(),
    detail: 'no slot and no data disk is approved',
    reason: 'unapproved',
  },
  {
    filter: 'fabric',
    node: { slots: onlyFree(0, 2, 4, 6) },
    request: aSlice(2),
    detail: '4 free GPUs form no legal set of 2',
    reason: 'fabric',
  },
  {
    filter: 'quota',
    request: aSlice(2, { quota_gpus_remaining: 1 }),
    detail: '2 requested, 1 left in the quota',
    reason: 'quota',
  },
];

for (const { filter, node, request, detail, reason } of CASES) {
  test(`${filter} refuses: ${detail}`, () => {
    const refusal = rejectedBy(candidateOf(aNode(node)), request ?? aSlice(1));
    assert.deepEqual(refusal, { filter, detail, reason, index: FILTERS.findIndex(({ name }) => name === filter) });
  });
}

test('every filter has a test case that it refuses', () => {
  assert.deepEqual(
    [...new Set(CASES.map(({ filter }) => filter))],
    FILTERS.map(({ name }) => name),
  );
});

const ACCEPTED: readonly (readonly [string, Partial<SchedulerNode>, PlacementRequest])[] = [
  ['a slice on a clean slice node', {}, aSlice(8)],
  ['a slice on a sliced flexible node', { capacity_mode: 'flexible', occupancy: 'sliced' }, aSlice(4)],
  ['a slice in the tenant’s own pool', { pool: { id: 'mine', tenant_id: 'org_a' } }, aSlice(1)],
  [
    'a VM that just fits its host',
    { host: { gpu_count: 8, vcpu_count: 64, memory_mib: 524_288, hugepages_mib: 0, numa_nodes: 2 } },
    aSlice(8, { vm: { vcpu_count: 64, memory_mib: 524_288 } }),
  ],
  ['a VM on a host that no discovery measured', { host: null }, aSlice(1, { vm: { vcpu_count: 999, memory_mib: 1 } })],
  ['a slice of an image for firmware on a host that reported nothing', {}, aSlice(1, { boot_kind: 'uefi' })],
  [
    'a slice of an image for a kernel that the host has',
    { boot_kinds: ['kernel'] },
    aSlice(1, { boot_kind: 'kernel' }),
  ],
  [
    'bare metal, which starts no image',
    { capacity_mode: 'baremetal', boot_kinds: [] },
    bareMetal({ boot_kind: 'uefi' }),
  ],
  ['a slice beside a disk that no slot has', { capacity_mode: 'flexible', unapproved_disks: 1 }, aSlice(1)],
  ['a slice that uses up the quota', {}, aSlice(4, { quota_gpus_remaining: 4 })],
  [
    'bare metal on a node without slots',
    { capacity_mode: 'baremetal', slots: [], partitions: null, data_disks: 1 },
    bareMetal(),
  ],
  ['bare metal on a node held for it', { capacity_mode: 'flexible', held_for: 'baremetal' }, bareMetal()],
  [
    'bare metal before any slice runtime was checked',
    { capacity_mode: 'flexible', runtime_validated: false },
    bareMetal(),
  ],
  [
    'bare metal with incomplete slots',
    { capacity_mode: 'baremetal', slots: slots({ 0: { has_mac: false } }) },
    bareMetal(),
  ],
];

for (const [what, node, request] of ACCEPTED) {
  test(`no filter refuses ${what}`, () => {
    assert.equal(rejectedBy(candidateOf(aNode(node)), request), null);
  });
}
