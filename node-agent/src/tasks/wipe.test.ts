/** The wipe of real block devices, and what counts as its proof. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { WipeLevel } from '@gpuaas/contract/node';
import { silentLog } from '@gpuaas/kit';
import { requires } from '../../../tools/test/requires.ts';
import { type LoopHostOptions, makeLoopHost } from '../../test/loop-host.ts';
import type { TaskContext } from './task.ts';
import { type WipeTarget, wipeDisk } from './wipe.ts';

const MIB = 1024 ** 2;
const SIZE = 96 * MIB;
const skip = requires('loop');
const TEXT = Buffer.from('the tenant wrote this. '.repeat(1000));

const setUp = async (context: TestContext, options: LoopHostOptions = {}) => {
  const made = await makeLoopHost({ slots: 1, disk_bytes: SIZE, ...options });
  context.after(made.close);
  const [slot] = made.slots;
  assert.ok(slot);
  const { serial } = slot.disk;
  const ctx: TaskContext = {
    host: made.host,
    node_id: 'nod_01jtest0000000000000000001',
    task_id: 'tsk_01jtest0000000000000000001',
    attempt: 2,
    correlation_id: 'test',
    log: silentLog(),
    signal: AbortSignal.timeout(120_000),
    progress: () => undefined,
    now: () => new Date(),
    state: join(made.dir, 'state'),
  };
  return {
    ...made,
    serial,
    write: (offset: number, bytes: Buffer) => made.disks.write(serial, offset, bytes),
    hash: () => made.disks.hash(serial),
    wipe: (policy: WipeTarget['policy'] = null, minimum: WipeLevel = 'clear') => {
      const target = { ...slot.disk, policy, slot: { slot_id: 'slt_01jtest0000000000000000001', generation: 7 } };
      return wipeDisk(ctx, (_what, doing) => doing, target, minimum);
    },
  };
};

const evidenceOf = (wiped: Awaited<ReturnType<typeof wipeDisk>>) => {
  assert.ok('evidence' in wiped, JSON.stringify(wiped));
  return wiped.evidence;
};

const ONLY_DISCARD = '{"oacs":0,"fna":0,"sanicap":0}';
const CRYPTO_FORMAT = '{"oacs":2,"fna":4,"sanicap":0}';
const nvme = (format: string, idCtrl = CRYPTO_FORMAT): string =>
  `case "$1" in id-ctrl) echo '${idCtrl}' ;; format) ${format} ;; *) exit 1 ;; esac`;

test('a discard zeroes every byte, and the proof records what was read where', { skip }, async (context) => {
  const made = await setUp(context, { id_ctrl: ONLY_DISCARD });
  await made.disks.mount(made.serial).then(() => made.disks.unmount(made.serial));
  await made.write(SIZE / 2, randomBytes(8 * MIB));
  const evidence = evidenceOf(await made.wipe());
  assert.equal(evidence.is_verified, true);
  assert.deepEqual(
    [
      evidence.method,
      evidence.command_status,
      evidence.rule,
      evidence.attempt,
      evidence.generation,
      evidence.size_bytes,
    ],
    ['blkdiscard', 0, 'blank', 2, 7, SIZE],
  );
  assert.equal(evidence.major_minor, (await made.host.disks.list())[0]?.major_minor);
  assert.equal(evidence.samples.length, 34, 'both ends and 32 places between them');
  assert.equal(evidence.bytes_read_back, 34 * MIB);
  assert.ok(evidence.samples.every((sample) => /^[0-9a-f]{64}$/.test(sample.sha256)));
  assert.equal(statSync(join(made.disks.root, `${made.serial}.img`)).blocks, 0, 'nothing is left below');
});

test('a disk that reports success and keeps the data is detected', { skip }, async (context) => {
  const made = await setUp(context, { id_ctrl: ONLY_DISCARD, programs: { blkdiscard: 'exit 0' } });
  await made.disks.mount(made.serial).then(() => made.disks.unmount(made.serial));
  const before = await made.hash();
  const evidence = evidenceOf(await made.wipe());
  assert.equal(evidence.command_status, 0);
  assert.equal(evidence.is_verified, false);
  assert.ok(evidence.bytes_not_erased > 0);
  assert.deepEqual(evidence.signatures_left, ['ext4']);
  assert.equal(await made.hash(), before);
});

test('the method is one that the disk reports, and never below the minimum of the site', { skip }, async (context) => {
  const strong = await setUp(context, { wipe_minimum: 'nvme_format' });
  await strong.write(0, TEXT);
  assert.equal(evidenceOf(await strong.wipe()).method, 'nvme_sanitize', 'without a policy the strongest');
  assert.equal(evidenceOf(await strong.wipe('nvme_format')).method, 'nvme_format', 'as approved');
  assert.equal(evidenceOf(await strong.wipe('blkdiscard')).method, 'nvme_sanitize', 'the site asks for more');
  const weak = await setUp(context, { wipe_minimum: 'nvme_format', id_ctrl: ONLY_DISCARD });
  await weak.write(0, TEXT);
  const before = await weak.hash();
  assert.deepEqual(await weak.wipe('blkdiscard'), {
    blocked:
      'the site requires at least nvme_format, but the disk supports blkdiscard; replace the disk or lower the minimum',
  });
  assert.deepEqual(await weak.wipe('nvme_format'), {
    blocked: 'the wipe method is nvme_format, but the disk supports blkdiscard',
  });
  assert.equal(await weak.hash(), before);
});

test('the wipe level of the region is met by a stronger method than approved, or the disk is left alone', {
  skip,
}, async (context) => {
  const strong = await setUp(context, { programs: { nvme: nvme('/usr/sbin/blkdiscard --force /proc/self/fd/3') } });
  await strong.write(0, TEXT);
  const evidence = evidenceOf(await strong.wipe('blkdiscard', 'purge'));
  assert.deepEqual([evidence.method, evidence.level, evidence.erase], ['nvme_format', 'purge', 'crypto']);
  assert.equal(evidenceOf(await strong.wipe('blkdiscard', 'clear')).level, 'clear');
  const weak = await setUp(context, { id_ctrl: ONLY_DISCARD });
  await weak.write(0, TEXT);
  const before = await weak.hash();
  assert.deepEqual(await weak.wipe('blkdiscard', 'purge'), {
    blocked:
      'the site requires at least purge, but the disk supports blkdiscard; replace the disk or lower the minimum',
  });
  assert.equal(await weak.hash(), before);
});

test('a sanitize that continued through a reboot is awaited before the disk is read or commanded', {
  skip,
}, async (context) => {
  // In progress until its log was read twice; until then the disk accepts no other command.
  const made = await setUp(context, {
    programs: {
      nvme: `at=$(dirname "$0")/asked; echo "$1" >> "$at"
        case "$1" in
          id-ctrl) echo '{"oacs":2,"fna":4,"sanicap":3}' ;;
          sanitize-log) [ "$(grep -c sanitize-log "$at")" -gt 2 ] && echo '{"n":{"sstat":1}}' || echo '{"n":{"sstat":2}}' ;;
          format) [ "$(grep -c sanitize-log "$at")" -gt 2 ] || exit 1; exec /usr/sbin/blkdiscard --force /proc/self/fd/3 ;;
          *) exit 1 ;;
        esac`,
    },
  });
  await made.write(0, TEXT);
  const evidence = evidenceOf(await made.wipe('nvme_format'));
  assert.deepEqual([evidence.method, evidence.command_status, evidence.is_verified], ['nvme_format', 0, true]);
});

test('a disk that fails its command or its sanitize proves nothing', {
  skip,
}, async (context) => {
  const failing = await setUp(context, { programs: { nvme: nvme('exit 5') } });
  await failing.write(0, TEXT);
  const refused = evidenceOf(await failing.wipe());
  assert.deepEqual([refused.command_status, refused.is_verified], [5, false]);
  const sanitize = `case "$1" in id-ctrl) echo '{"oacs":0,"fna":0,"sanicap":2}' ;;
    sanitize-log) echo '{"n":{"sstat":3}}' ;; sanitize) exec /usr/sbin/blkdiscard --force /proc/self/fd/3 ;; esac`;
  const lying = await setUp(context, { programs: { nvme: sanitize } });
  await lying.write(0, TEXT);
  const failed = evidenceOf(await lying.wipe());
  assert.deepEqual([failed.method, failed.bytes_not_erased, failed.is_verified], ['nvme_sanitize', 0, false]);
});

const NOISE = `dd if=/dev/urandom of=/proc/self/fd/3 bs=1M count=${SIZE / MIB} status=none conv=fsync`;

test('new random data proves a cryptographic erase, and is then discarded', {
  skip,
}, async (context) => {
  const made = await setUp(context, { programs: { nvme: nvme(NOISE) } });
  await made.write(0, TEXT);
  const evidence = evidenceOf(await made.wipe());
  assert.deepEqual([evidence.method, evidence.rule, evidence.is_verified], ['nvme_format', 'changed', true]);
  assert.equal(evidence.blocks_changed, evidence.bytes_read_back / 4096);
  assert.equal(statSync(join(made.disks.root, `${made.serial}.img`)).blocks, 0, 'nothing is left below');
});

test('random data that was there before, and data in another place, prove nothing', { skip }, async (context) => {
  const kept = await setUp(context, { programs: { nvme: nvme('exit 0') } });
  await kept.write(0, randomBytes(SIZE));
  const same = evidenceOf(await kept.wipe());
  assert.deepEqual([same.command_status, same.is_verified, same.bytes_not_erased], [0, false, 34 * MIB]);
  const shift = 'dd if=/proc/self/fd/3 of=/proc/self/fd/3 bs=4096 count=1000 seek=1000 conv=fsync status=none';
  const moved = await setUp(context, { programs: { nvme: nvme(shift) } });
  await moved.write(0, Buffer.alloc(4096 * 1000, TEXT));
  assert.equal(evidenceOf(await moved.wipe()).is_verified, false);
});
