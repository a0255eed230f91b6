import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { BundleLease, HostVm, Inventory } from '@gpuaas/contract/node';
import {
  afterDown,
  datedFindings,
  type Finding,
  type Holding,
  judgeInventory,
  type SlotDevices,
  STARTS_MAX,
} from './inventory.ts';

const A = 'alc_01k9zv3m8q4t6w2x5y7r0s1naa';
const B = 'alc_01k9zv3m8q4t6w2x5y7r0s1nbb';

const inventory = (over: Partial<Inventory> = {}): Inventory => ({
  observed_at: '2026-11-15T10:00:00.000Z',
  boot_id: 'boot-1',
  vms: [],
  leases: [],
  drift: [],
  leftovers: [],
  repaired: [],
  images: { value: [] },
  ...over,
});
const machine = (allocation_id: string | null, over: Partial<HostVm> = {}): HostVm => ({
  name: allocation_id === null ? 'somebodys' : `gpuaas-${allocation_id.replace('_', '-')}`,
  allocation_id,
  is_managed: allocation_id !== null,
  state: 'running',
  ended_by: null,
  devices: [],
  ...over,
});
const lease = (allocation_id: string, over: Partial<BundleLease> = {}): BundleLease => ({
  allocation_id,
  slot_ids: [],
  is_used: true,
  is_cleaning: false,
  wanted: 'on',
  ...over,
});
const holding = (allocation_id: string, over: Partial<Holding> = {}): Holding => ({
  allocation_id,
  claim_kind: 'slot',
  state: 'active',
  power_state: 'on',
  should_run: (over.power_state ?? 'on') === 'on',
  is_idle: true,
  ...over,
});
const slot = (slot_index: number, status: string, over: Partial<SlotDevices> = {}): SlotDevices => ({
  id: `slt_${slot_index}`,
  slot_index,
  status,
  gpu_pci_address: `0000:${slot_index}0:00.0`,
  nvme_serial: `S${slot_index}`,
  fabric_vf_pci_address: null,
  ...over,
});

const judge = (given: Partial<Parameters<typeof judgeInventory>[0]>) =>
  judgeInventory({ inventory: inventory(), holdings: [], slots: [], isolates_fabric: false, ...given });
const codes = (findings: readonly Finding[]): readonly string[] => findings.map(({ code }) => code);

describe('comparison of the host inventory with claims', () => {
  test('a VM that runs for its claim has no finding', () => {
    const given = { inventory: inventory({ vms: [machine(A)], leases: [lease(A)] }), holdings: [holding(A)] };
    assert.deepEqual(judge(given), { findings: [], quarantine: [], down: [], unclaimed: [] });
  });

  test('a managed VM without a claim is an orphan, and a VM without our tag is unknown', () => {
    const vms = [machine(A), machine(null), machine(B, { name: 'other', is_managed: false })];
    const { findings, unclaimed, quarantine } = judge({ inventory: inventory({ vms }) });
    assert.deepEqual(
      findings.map(({ code, allocation_id, vm: name }) => [code, allocation_id, name]),
      [
        ['orphan_vm', A, vms[0]?.name],
        ['unknown_vm', null, 'somebodys'],
        ['unknown_vm', null, 'other'],
      ],
    );
    assert.match(findings[2]?.message ?? '', /has the tag of alc_.* under another name/);
    assert.deepEqual(unclaimed, [A]);
    assert.deepEqual(quarantine, []);
    const nameless = judge({ inventory: inventory({ vms: [machine(null, { is_managed: true })] }) });
    assert.deepEqual([codes(nameless.findings), nameless.unclaimed], [['orphan_vm'], []]);
  });

  test('available slots whose devices such a VM uses are quarantined; other slots are only named', () => {
    const vms = [machine(null, { devices: ['0000:30:00.0', 'S4', 'S5'] })];
    const slots = [slot(2, 'available'), slot(3, 'available'), slot(4, 'in_use'), slot(5, 'available')];
    const { findings, quarantine } = judge({ inventory: inventory({ vms }), slots });
    assert.deepEqual(findings[0]?.slot_ids, ['slt_3', 'slt_4', 'slt_5']);
    assert.match(findings[0]?.message ?? '', /It uses devices of slots 3, 4, 5\.$/);
    const [one] = judge({ inventory: inventory({ vms: [machine(null, { devices: ['S4'] })] }), slots }).findings;
    assert.match(one?.message ?? '', /It uses devices of slot 4\.$/);
    assert.deepEqual(
      quarantine.map(({ slot_id }) => slot_id),
      ['slt_3', 'slt_5'],
    );
  });

  test('a running VM with a fabric function is reported where the region does not isolate tenants', () => {
    const slots = [
      slot(2, 'in_use', { fabric_vf_pci_address: '0000:20:00.1' }),
      slot(3, 'in_use', { fabric_vf_pci_address: '0000:30:00.1' }),
      slot(4, 'in_use'),
    ];
    const seen = (devices: string[], isolates_fabric = false, over: Partial<HostVm> = {}) =>
      judge({
        inventory: inventory({ vms: [machine(A, { devices, ...over })], leases: [lease(A)] }),
        holdings: [holding(A, { should_run: (over.state ?? 'running') === 'running' })],
        slots,
        isolates_fabric,
      }).findings.map(({ code, allocation_id, slot_ids }) => [code, allocation_id, ...slot_ids]);
    const [gpu, first, second] = ['0000:20:00.0', '0000:20:00.1', '0000:30:00.1'];
    assert.deepEqual(seen([gpu, first]), [['fabric_not_isolated', A, 'slt_2']]);
    assert.deepEqual(seen([first, second]), [['fabric_not_isolated', A, 'slt_2', 'slt_3']]);
    assert.deepEqual(seen([gpu]), []);
    assert.deepEqual(seen([first], true), [], 'a provider isolates');
    assert.deepEqual(seen([first], false, { state: 'shut_off' }), []);
    assert.deepEqual(seen([first], false, { state: 'crashed' }), []);
    const foreign = judge({ inventory: inventory({ vms: [machine(null, { devices: [first] })] }), slots });
    assert.deepEqual(codes(foreign.findings), ['unknown_vm', 'fabric_not_isolated']);
    assert.equal(foreign.findings[1]?.allocation_id, null);
  });

  test('a VM that should run and does not is reported with its cause', () => {
    const seen = (over: Partial<HostVm> | null) =>
      judge({
        inventory: inventory({ vms: over === null ? [] : [machine(A, over)], leases: [lease(A)] }),
        holdings: [holding(A)],
      });
    const off = (ended_by: HostVm['ended_by']) => seen({ state: 'shut_off', ended_by });
    assert.deepEqual(off('guest').down, [{ allocation_id: A, cause: 'guest' }]);
    assert.deepEqual(off('host').down, [{ allocation_id: A, cause: 'host' }]);
    assert.deepEqual(off(null).down, [{ allocation_id: A, cause: 'unknown' }]);
    assert.deepEqual(seen({ state: 'crashed', ended_by: 'crash' }).down, [{ allocation_id: A, cause: 'crash' }]);
    assert.deepEqual(seen(null).down, [{ allocation_id: A, cause: 'missing' }]);
    assert.deepEqual([codes(off('host').findings), codes(seen(null).findings)], [['vm_off'], ['vm_missing']]);
    const paused = seen({ state: 'paused' });
    assert.deepEqual([codes(paused.findings), paused.down], [['vm_paused'], []]);
  });

  test('a VM that was switched off may be off, and must not run', () => {
    const seen = (state: HostVm['state']) =>
      judge({
        inventory: inventory({ vms: [machine(A, { state })], leases: [lease(A)] }),
        holdings: [holding(A, { power_state: 'off' })],
      });
    assert.deepEqual(seen('shut_off').findings, []);
    assert.deepEqual(codes(seen('running').findings), ['vm_running_unexpectedly']);
  });

  test('a VM that the control plane itself failed to restart should still run', () => {
    const seen = (state: HostVm['state']) =>
      judge({
        inventory: inventory({ vms: [machine(A, { state })], leases: [lease(A)] }),
        holdings: [holding(A, { power_state: 'off', should_run: true })],
      });
    assert.deepEqual(seen('shut_off').down, [{ allocation_id: A, cause: 'unknown' }]);
    assert.deepEqual(seen('running').findings, []);
  });

  test('allocations in transition or not active are not evaluated', () => {
    const drift = [{ code: 'port_missing', allocation_id: A, slot_id: null, message: 'no port' }];
    for (const over of [{ is_idle: false }, { state: 'provisioning', power_state: null }, { state: 'releasing' }])
      assert.deepEqual(judge({ inventory: inventory({ drift }), holdings: [holding(A, over)] }).findings, []);
  });

  test('a bundle lease without a claim and a claim without its bundle lease are reported', () => {
    const leases = [lease(B, { slot_ids: ['slt_1'] }), lease('alc_unused', { is_used: false })];
    const vms = [machine(A)];
    const { findings, unclaimed } = judge({ inventory: inventory({ vms, leases }), holdings: [holding(A)] });
    assert.deepEqual(
      findings.map(({ code, allocation_id, slot_ids }) => [code, allocation_id, slot_ids]),
      [
        ['lease_missing', A, []],
        ['lease_without_claim', B, ['slt_1']],
      ],
    );
    assert.deepEqual(unclaimed, [B, 'alc_unused']);
    const gone = judge({ holdings: [holding(A)] });
    assert.deepEqual(codes(gone.findings), ['lease_missing', 'vm_missing']);
  });

  test('findings of the host are kept, except those that the server decides', () => {
    const drift = [
      { code: 'device_unbound', allocation_id: A, slot_id: 'slt_1', message: 'bound to nvidia' },
      { code: 'partition_without_lease', allocation_id: null, slot_id: null, message: 'active' },
      { code: 'vm_without_lease', allocation_id: B, slot_id: null, message: 'said here' },
    ];
    const { findings } = judge({
      inventory: inventory({ drift, vms: [machine(A)], leases: [lease(A)], leftovers: [B] }),
      holdings: [holding(A)],
    });
    assert.deepEqual(
      findings.map(({ code, slot_ids }) => [code, slot_ids]),
      [
        ['device_unbound', ['slt_1']],
        ['partition_without_lease', []],
      ],
    );
  });

  test('a claimed whole node belongs to its tenant and has no findings', () => {
    const holdings = [holding(A, { claim_kind: 'node_exclusive', power_state: null })];
    const verdict = judge({ inventory: inventory({ vms: [machine(null)], leftovers: [B] }), holdings });
    assert.deepEqual(verdict, { findings: [], quarantine: [], down: [], unclaimed: [B] });
  });
});

test('a persistent finding keeps its age, and a new one starts now', () => {
  const finding = (code: string): Finding => ({
    code,
    allocation_id: null,
    vm: null,
    slot_ids: [],
    message: code,
  });
  const before = [{ ...finding('old'), since: 'then', message: 'in other words' }];
  assert.deepEqual(
    datedFindings([finding('old'), finding('new')], before, 'now').map(({ code, since }) => [code, since]),
    [
      ['old', 'then'],
      ['new', 'now'],
    ],
  );
});

test('a VM that stopped unexpectedly is restarted a few times an hour; one shut down from inside is not', () => {
  for (const cause of ['host', 'crash', 'missing', 'unknown'] as const) {
    assert.equal(afterDown({ cause }, 0).act, 'start');
    assert.equal(afterDown({ cause }, STARTS_MAX - 1).act, 'start');
    assert.equal(afterDown({ cause }, STARTS_MAX).act, 'leave_off');
  }
  assert.deepEqual(afterDown({ cause: 'guest' }, 0), {
    act: 'leave_off',
    reason: 'The VM was shut down by the guest OS.',
  });
});
