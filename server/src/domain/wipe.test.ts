import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeWipe, type WipeTarget } from './wipe.ts';

const target: WipeTarget = { slot_id: 'slt_1', serial: 'S1', generation: 3, gpu_pci_address: '0000:1b:00.0' };
const dataDisk: WipeTarget = { slot_id: null, serial: 'D1', generation: null, gpu_pci_address: null };
const good = {
  slot_id: 'slt_1',
  serial: 'S1',
  generation: 3,
  method: 'nvme_sanitize',
  bytes_read_back: 4096,
  bytes_not_erased: 0,
  is_verified: true,
  finished_at: '2026-01-01T00:00:00Z',
};
const dataGood = { ...good, slot_id: null, serial: 'D1', generation: null };
const output = (...disks: unknown[]) => ({ network_detached: true, disks });

test('evidence that says everything about every disk is proof', () => {
  const verdict = judgeWipe(output(good, dataGood), [target, dataDisk]);
  assert.equal(verdict.is_verified, true);
  assert.equal(verdict.reason, null);
  assert.deepEqual(
    verdict.disks.map((disk) => [disk.target.serial, disk.method, disk.reason]),
    [
      ['S1', 'nvme_sanitize', null],
      ['D1', 'nvme_sanitize', null],
    ],
  );
});

test('each fact that is missing or wrong makes the whole wipe unproven', () => {
  const wrong: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
    ['another disk', { serial: 'S2' }, /nothing about this disk/],
    ['another slot', { slot_id: 'slt_2' }, /nothing about this disk/],
    ['another generation', { generation: 2 }, /generation/],
    ['no method', { method: '' }, /method/],
    ['a method that is no text', { method: 7 }, /method/],
    ['nothing read back', { bytes_read_back: 0 }, /read back/],
    ['a negative amount', { bytes_read_back: -1 }, /read back/],
    ['an amount in words', { bytes_read_back: 'all' }, /read back/],
    ['data left', { bytes_not_erased: 1 }, /found/],
    ['data not counted', { bytes_not_erased: undefined }, /found/],
    ['no verification', { is_verified: 'yes' }, /verify/],
    ['no time', { finished_at: undefined }, /when/],
    ['a time that is none', { finished_at: 'soon' }, /when/],
  ];
  for (const [name, change, reason] of wrong) {
    const verdict = judgeWipe(output({ ...good, ...change }, dataGood), [target, dataDisk]);
    assert.equal(verdict.is_verified, false, name);
    assert.match(verdict.reason ?? '', reason, name);
    assert.equal(verdict.disks[1]?.reason, null, 'the other disk is judged by itself');
  }
});

test('without a detached network, a disk on record or an answer at all there is no proof', () => {
  assert.match(judgeWipe({ disks: [good] }, [target]).reason ?? '', /network/);
  assert.match(judgeWipe(output(good), []).reason ?? '', /No disk/);
  assert.match(judgeWipe(output(good), [{ ...target, serial: null }]).reason ?? '', /serial/);
  for (const nonsense of [null, 'done', [], { network_detached: true, disks: 'all' }, output(null, 3, [])]) {
    const verdict = judgeWipe(nonsense, [target]);
    assert.equal(verdict.is_verified, false);
    assert.equal(verdict.disks[0]?.method, 'none');
  }
});

test('a GPU counts as reset only when the host shows it for that very GPU', () => {
  const isReset = (...gpu_resets: unknown[]) =>
    judgeWipe({ ...output(good, dataGood), gpu_resets }, [target, dataDisk]).disks.map((disk) => disk.is_gpu_reset);
  const reset = { gpu_pci_address: '0000:1b:00.0', method: 'flr', scope: [], is_ok: true };
  assert.deepEqual(isReset(reset), [true, true]);
  assert.deepEqual(isReset(), [false, true]);
  assert.deepEqual(isReset({ ...reset, is_ok: false }), [false, true]);
  assert.deepEqual(isReset({ ...reset, gpu_pci_address: '0000:3c:00.0' }, 'nonsense'), [false, true]);
});

test('a method that does not reach the minimum of the region is no proof, whatever it found', () => {
  const byDiscard = output({ ...good, method: 'blkdiscard' });
  assert.equal(judgeWipe(byDiscard, [target], 'clear').is_verified, true);
  assert.match(judgeWipe(byDiscard, [target], 'purge').reason ?? '', /at least purge.+blkdiscard/);
  assert.equal(judgeWipe(output({ ...good, method: 'nvme_format' }), [target], 'purge').is_verified, true);
  assert.match(judgeWipe(output({ ...good, method: 'by_hand' }), [target], 'clear').reason ?? '', /by_hand/);
});

test('a disk that the host refuses to erase is unproven for the reason that the host gives', () => {
  const blocked = [{ serial: 'S1', reason: 'mounted at /mnt' }, 'nonsense'];
  const verdict = judgeWipe({ ...output(dataGood), blocked }, [target, dataDisk]);
  assert.equal(verdict.reason, 'The host could not erase it: mounted at /mnt.');
  assert.equal(verdict.disks[1]?.reason, null);
  assert.match(judgeWipe({ ...output(), blocked: [{ serial: 'S1' }] }, [target]).reason ?? '', /nothing about/);
});

const isolation = {
  network: {
    is_port_removed: true,
    is_reservation_removed: true,
    is_lease_removed: true,
    is_translation_removed: true,
  },
  is_vm_removed: true,
  is_seed_removed: true,
  partitions: [{ partition_id: 3, is_deactivated: true }],
  fabric_functions: [{ fabric_vf_pci_address: '0000:3b:00.1', method: 'flr', is_cleared: true }],
};

test('whatever the host itself finds left of a machine makes the wipe unproven', () => {
  const judge = (told: unknown) => judgeWipe({ ...output(good), isolation: told }, [target]);
  assert.equal(judge(isolation).is_verified, true);
  for (const name of ['is_vm_removed', 'is_seed_removed'])
    assert.match(judge({ ...isolation, [name]: false }).reason ?? '', /still/);
  for (const name of Object.keys(isolation.network))
    assert.match(judge({ ...isolation, network: { ...isolation.network, [name]: false } }).reason ?? '', /still/, name);
  assert.match(judge({ ...isolation, partitions: [{ is_deactivated: false }] }).reason ?? '', /partition/);
  assert.equal(judge({ network: 'gone' }).is_verified, true, 'what is not told is judged by the rest');
});

test('a fabric function that still knows its guest keeps the slot from the next one', () => {
  const vf = { ...target, fabric_vf_pci_address: '0000:3b:00.1' };
  const gpu_resets = [{ gpu_pci_address: '0000:1b:00.0', method: 'flr', scope: [], is_ok: true }];
  const judge = (is_cleared: boolean, fabric_vf_pci_address = '0000:3b:00.1') => {
    const fabric_functions = [{ fabric_vf_pci_address, method: 'flr', is_cleared }];
    return judgeWipe({ ...output(good), gpu_resets, isolation: { ...isolation, fabric_functions } }, [vf]);
  };
  assert.deepEqual([judge(true).is_verified, judge(true).disks[0]?.is_gpu_reset], [true, true]);
  assert.deepEqual([judge(false).is_verified, judge(false).disks[0]?.is_gpu_reset], [true, false]);
  assert.equal(judge(true, '0000:3b:00.2').disks[0]?.is_gpu_reset, false, 'another one was cleared');
  const silent = (told: object, of: WipeTarget = vf) =>
    judgeWipe({ ...output(good), gpu_resets, ...told }, [of]).disks[0];
  for (const fabric_functions of [[], undefined, [{ fabric_vf_pci_address: '0000:3b:00.1' }]])
    assert.equal(silent({ isolation: { ...isolation, fabric_functions } })?.is_gpu_reset, false, 'silence is no reset');
  assert.equal(silent({})?.is_gpu_reset, true, 'a host that tells nothing of what is left is judged by the rest');
  const none = { ...vf, fabric_vf_pci_address: null };
  assert.equal(silent({ isolation }, none)?.is_gpu_reset, true, 'there is none');
});

test('the evidence that is kept holds disk, GPU, function and what else was taken away', () => {
  const vf = { ...target, fabric_vf_pci_address: '0000:3b:00.1' };
  const gpu_resets = [{ gpu_pci_address: '0000:1b:00.0', method: 'bus', scope: [], is_ok: false }];
  const [disk] = judgeWipe({ ...output(good), gpu_resets, isolation }, [vf], 'purge').disks;
  const { fabric_functions, ...apart } = isolation;
  assert.deepEqual(disk?.evidence, {
    ...good,
    gpu_reset: gpu_resets[0],
    fabric_function: fabric_functions[0],
    isolation: apart,
    wipe_minimum: 'purge',
  });
});
