import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLOCK_SKEW_MAX_MS, type DiskEvidence, type Isolation, READ_BACK, type WipeLevel } from '@gpuaas/contract/node';
import fc from 'fast-check';
import { cleanedUp, gpuReset, isolated, provenDisk } from '../../test/wipe-evidence.ts';
import { type CleanupOutput, judgeWipe as judgeRequested, type WipeTarget } from './wipe.ts';

const GIB = 1024 ** 3;
const target: WipeTarget = {
  slot_id: 'slt_1',
  serial: 'S1',
  generation: 3,
  size_bytes: 4096,
  gpu_pci_address: '0000:1b:00.0',
};
const dataDisk: WipeTarget = {
  slot_id: null,
  serial: 'D1',
  generation: null,
  size_bytes: 8192,
  gpu_pci_address: null,
};
const created_at = '2026-11-01T12:00:00.000Z';
const judgeWipe = (output: CleanupOutput | null, targets: readonly WipeTarget[], minimum: WipeLevel = 'clear') =>
  judgeRequested(output, targets, { minimum, created_at });
const ofSize = (size_bytes: number): WipeTarget => ({ ...target, size_bytes });
const good = provenDisk(target);
const dataGood = provenDisk(dataDisk);

test('complete evidence for every disk is proof', () => {
  const verdict = judgeWipe(cleanedUp([good, dataGood]), [target, dataDisk]);
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

/** Each invalidates good evidence, and names what the verdict must contain. */
const FAULTS: readonly (readonly [string, (disk: DiskEvidence) => Partial<DiskEvidence>, RegExp])[] = [
  ['another disk', () => ({ serial: 'S2' }), /did not report this disk/],
  ['another slot', () => ({ slot_id: 'slt_2' }), /did not report this disk/],
  ['another generation', () => ({ generation: 2 }), /generation/],
  ['no method', () => ({ method: '' }), /no method/],
  ['a method that is none of ours', () => ({ method: 'by_hand' }), /by_hand/],
  ['a command that failed', () => ({ command_status: 1 }), /status 1/],
  ['nothing read back', () => ({ bytes_read_back: 0, samples: [] }), /was not read back/],
  ['data left', () => ({ bytes_not_erased: 1 }), /found data/],
  ['a signature left', () => ({ signatures_left: ['ext4', 'gpt'] }), /ext4, gpt/],
  ['noise after a discard', () => ({ rule: 'changed', erase: 'discard', method: 'blkdiscard' }), /cryptographic/],
  ['noise after an erase of the blocks', () => ({ rule: 'changed' }), /cryptographic/],
  ['a discard that destroyed a key', () => ({ method: 'blkdiscard', erase: 'crypto' }), /crypto, which blkdiscard/],
  ['a sanitize that only discarded', () => ({ erase: 'discard' }), /discard, which nvme_sanitize/],
  [
    'a read-back from before the request',
    () => ({ finished_at: new Date(Date.parse(created_at) - CLOCK_SKEW_MAX_MS - 1).toISOString() }),
    /before this wipe was requested/,
  ],
  ['a time that is none', () => ({ finished_at: 'yesterday' }), /before this wipe was requested/],
  ['no verification', () => ({ is_verified: false }), /did not verify/],
  ['more read than shown', ({ bytes_read_back }) => ({ bytes_read_back: bytes_read_back + 1 }), /every region/],
  [
    'a sample less',
    ({ samples }) => ({
      samples: samples.slice(0, -1),
      bytes_read_back: Math.max(
        1,
        samples.slice(0, -1).reduce((sum, { length }) => sum + length, 0),
      ),
    }),
    /Too little|every region/,
  ],
  [
    'one byte of a whole disk',
    () => ({ bytes_read_back: 1, samples: [{ offset: 0, length: 1, sha256: '0'.repeat(64) }] }),
    /Too little/,
  ],
  [
    'a sample beyond the disk',
    ({ samples, size_bytes, bytes_read_back }) => ({
      samples: [...samples, { offset: size_bytes, length: 1, sha256: '0'.repeat(64) }],
      bytes_read_back: bytes_read_back + 1,
    }),
    /outside/,
  ],
];

test('any missing or wrong fact makes the whole wipe unproven, for any disk size', () => {
  const sizes = fc.oneof(fc.integer({ min: 2, max: 64 * 1024 ** 2 }), fc.integer({ min: GIB, max: 32_000 * GIB }));
  fc.assert(
    fc.property(sizes, fc.constantFrom(...FAULTS), (size_bytes, [name, change, reason]) => {
      const sized = ofSize(size_bytes);
      const disk = provenDisk(sized);
      assert.equal(judgeWipe(cleanedUp([disk, dataGood]), [sized, dataDisk]).is_verified, true);
      const verdict = judgeWipe(cleanedUp([{ ...disk, ...change(disk) }, dataGood]), [sized, dataDisk]);
      assert.equal(verdict.is_verified, false, name);
      assert.match(verdict.reason ?? '', reason, name);
      assert.equal(verdict.disks[1]?.reason, null, 'the other disk is judged alone');
    }),
  );
});

test('a disk reported more than once is unproven, whichever report is good', () => {
  for (const bad of [{ ...good, bytes_not_erased: 1 }, good])
    for (const disks of [
      [good, bad],
      [bad, good],
    ])
      assert.equal(judgeWipe(cleanedUp(disks), [target]).reason, 'The agent reported this disk more than once.');
});

test('a host whose clock is behind, within the limit, can prove a wipe', () => {
  const finished_at = new Date(Date.parse(created_at) - CLOCK_SKEW_MAX_MS).toISOString();
  assert.equal(judgeWipe(cleanedUp([{ ...good, finished_at }]), [target]).is_verified, true);
});

test('a wipe of a size other than the approved one is no proof, even with a complete read-back', () => {
  const sizes = fc.integer({ min: 2, max: 32_000 * GIB });
  fc.assert(
    fc.property(sizes, sizes, (approved, stated) => {
      const verdict = judgeWipe(cleanedUp([provenDisk(target, { size_bytes: stated })]), [ofSize(approved)]);
      assert.equal(verdict.is_verified, stated === approved);
      if (stated !== approved)
        assert.equal(
          verdict.reason,
          `The disk was approved with ${approved} bytes and the wipe result states ${stated}.`,
        );
    }),
    { examples: [[4096, 4096]] },
  );
  const unsized = { ...target, size_bytes: null };
  assert.equal(judgeWipe(cleanedUp([good]), [unsized]).reason, 'The slot has no approved disk size.');
});

test('a data disk is proven only with its approved size', () => {
  const oneByte = provenDisk(dataDisk, { size_bytes: 1 });
  assert.equal(
    judgeWipe(cleanedUp([oneByte]), [dataDisk]).reason,
    'The disk was approved with 8192 bytes and the wipe result states 1.',
  );
  assert.equal(
    judgeWipe(cleanedUp([dataGood]), [{ ...dataDisk, size_bytes: null }]).reason,
    'The size of the disk was not recorded when the disk was approved. Approve the disk again.',
  );
});

test('the minimum number of bytes, all read in one place, is no proof', () => {
  fc.assert(
    fc.property(fc.integer({ min: GIB, max: 8_000 * GIB }), fc.nat(), (size_bytes, from) => {
      const sized = ofSize(size_bytes);
      const disk = provenDisk(sized);
      const offset = from % (size_bytes - disk.bytes_read_back);
      const samples = [{ offset, length: disk.bytes_read_back, sha256: '0'.repeat(64) }];
      assert.match(judgeWipe(cleanedUp([{ ...disk, samples }]), [sized]).reason ?? '', /Too little/);
    }),
  );
});

test('a disk with one unread region is not proven', () => {
  const sized = ofSize(100 * GIB);
  const disk = provenDisk(sized);
  for (let region = 0; region < READ_BACK.region_count; region++) {
    const samples = disk.samples.toSpliced(region + 1, 1);
    const evidence = { ...disk, samples, bytes_read_back: disk.bytes_read_back - READ_BACK.sample_bytes };
    assert.match(judgeWipe(cleanedUp([evidence]), [sized]).reason ?? '', /Too little/, String(region));
  }
});

test('random data proves a cryptographic erase', () => {
  const noise: DiskEvidence = { ...good, rule: 'changed', erase: 'crypto', blocks_changed: 7 };
  assert.equal(judgeWipe(cleanedUp([noise]), [target]).is_verified, true);
});

test('without a detached network, a disk on record or any output there is no proof', () => {
  assert.match(judgeWipe(cleanedUp([good], { network_detached: false }), [target]).reason ?? '', /network/);
  assert.match(judgeWipe(cleanedUp([good]), []).reason ?? '', /no recorded disk/);
  assert.match(judgeWipe(cleanedUp([good]), [{ ...target, serial: null }]).reason ?? '', /serial/);
  for (const nothing of [null, cleanedUp([])]) {
    const verdict = judgeWipe(nothing, [target]);
    assert.equal(verdict.is_verified, false);
    assert.equal(verdict.disks[0]?.method, 'none');
    assert.match(verdict.disks[0]?.reason ?? '', /did not report this disk/);
  }
});

test('a GPU counts as reset only when the host reports it for that GPU', () => {
  const isReset = (...gpu_resets: CleanupOutput['gpu_resets']) =>
    judgeWipe(cleanedUp([good, dataGood], { gpu_resets }), [target, dataDisk]).disks.map((disk) => disk.is_gpu_reset);
  assert.deepEqual(isReset(gpuReset('0000:1b:00.0')), [true, true]);
  assert.deepEqual(isReset(), [false, true]);
  assert.deepEqual(isReset(gpuReset('0000:1b:00.0', false)), [false, true]);
  assert.deepEqual(isReset(gpuReset('0000:1b:00.0', false), gpuReset('0000:1b:00.0')), [true, true], 'at a second try');
  assert.deepEqual(isReset(gpuReset('0000:3c:00.0')), [false, true]);
});

test('a method below the region’s minimum wipe level is no proof, for any findings', () => {
  const byDiscard = cleanedUp([{ ...good, method: 'blkdiscard', erase: 'discard' }]);
  assert.equal(judgeWipe(byDiscard, [target], 'clear').is_verified, true);
  assert.match(judgeWipe(byDiscard, [target], 'purge').reason ?? '', /at least wipe level purge.+blkdiscard/);
  assert.equal(judgeWipe(cleanedUp([{ ...good, method: 'nvme_format' }]), [target], 'purge').is_verified, true);
});

test('a disk that the host refuses to wipe is unproven with the host’s reason', () => {
  const blocked = [{ serial: 'S1', reason: 'mounted at /mnt' }];
  const verdict = judgeWipe(cleanedUp([dataGood], { blocked }), [target, dataDisk]);
  assert.equal(verdict.reason, 'The agent could not wipe the disk: mounted at /mnt.');
  assert.equal(verdict.disks[1]?.reason, null);
});

const isolation: Isolation = {
  ...isolated(['0000:3b:00.1']),
  partitions: [{ partition_id: 3, is_deactivated: true }],
};

test('any VM remains that the host reports make the wipe unproven', () => {
  const judge = (found: Isolation) => judgeWipe(cleanedUp([good], { isolation: found }), [target]);
  assert.equal(judge(isolation).is_verified, true);
  for (const name of ['is_vm_removed', 'is_seed_removed'] as const)
    assert.match(judge({ ...isolation, [name]: false }).reason ?? '', /still/);
  for (const name of Object.keys(isolation.network))
    assert.match(judge({ ...isolation, network: { ...isolation.network, [name]: false } }).reason ?? '', /still/, name);
  const partitions = [{ partition_id: 3, is_deactivated: false }];
  assert.match(judge({ ...isolation, partitions }).reason ?? '', /partition/);
});

test('a fabric function that still has its guest blocks the slot', () => {
  const vf = { ...target, fabric_vf_pci_address: '0000:3b:00.1' };
  const gpu_resets = [gpuReset('0000:1b:00.0')];
  const judge = (fabric_functions: Isolation['fabric_functions']) =>
    judgeWipe(cleanedUp([good], { gpu_resets, isolation: { ...isolation, fabric_functions } }), [vf]);
  const one = (is_cleared: boolean, fabric_vf_pci_address = '0000:3b:00.1') =>
    judge([{ fabric_vf_pci_address, method: 'flr', is_cleared }]);
  assert.deepEqual([one(true).is_verified, one(true).disks[0]?.is_gpu_reset], [true, true]);
  assert.deepEqual([one(false).is_verified, one(false).disks[0]?.is_gpu_reset], [true, false]);
  assert.equal(one(true, '0000:3b:00.2').disks[0]?.is_gpu_reset, false, 'another one was cleared');
  assert.equal(judge([]).disks[0]?.is_gpu_reset, false, 'silence is no reset');
  assert.equal(judgeWipe(null, [vf]).disks[0]?.is_gpu_reset, false, 'nor is no output');
  const none = { ...vf, fabric_vf_pci_address: null };
  const verdict = judgeWipe(cleanedUp([good], { gpu_resets, isolation }), [none]);
  assert.equal(verdict.disks[0]?.is_gpu_reset, true, 'there is none');
});

test('the stored evidence covers disk, GPU, function and everything else removed', () => {
  const vf = { ...target, fabric_vf_pci_address: '0000:3b:00.1' };
  const gpu_resets = [gpuReset('0000:1b:00.0', false)];
  const [disk] = judgeWipe(cleanedUp([good], { gpu_resets, isolation }), [vf], 'purge').disks;
  const { fabric_functions, ...apart } = isolation;
  assert.deepEqual(disk?.evidence, {
    ...good,
    gpu_reset: gpu_resets[0],
    fabric_function: fabric_functions[0],
    isolation: apart,
    wipe_minimum: 'purge',
  });
});
