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
