/** Images onto real block devices. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, open, readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { requires } from '../../../../tools/test/requires.ts';
import { makeRaw, putFile, putImage } from '../../../test/image-folder.ts';
import { makeLoopHost } from '../../../test/loop-host.ts';
import { noProgress, refuses } from '../contract/subject.ts';
import type { OpenDisk } from '../host.ts';
import { percentsIn } from './image-clone.ts';
import { createImages } from './images.ts';
import { type Command, createRun } from './run.ts';

const MIB = 1024 ** 2;
const skip = requires('loop', 'qemu-img', 'sgdisk');

const setUp = async (context: TestContext) => {
  const made = await makeLoopHost({ slots: 1, disk_bytes: 64 * MIB });
  context.after(made.close);
  const [slot] = made.slots;
  assert.ok(slot);
  const ran: Command[] = [];
  const run = createRun(made.disks.path);
  const images = createImages(
    (command) => {
      ran.push(command);
      return run(command);
    },
    { dir: made.cache, source: made.source },
  );
  const withDisk = async <T>(work: (disk: OpenDisk) => Promise<T>): Promise<T> => {
    const disk = await made.host.disks.open(slot.disk);
    try {
      return await work(disk);
    } finally {
      await disk.close();
    }
  };
  return { ...made, images, withDisk, serial: slot.disk.serial, ran };
};

test('a clone equals the image byte for byte, on a blank disk and on a used one', { skip }, async (context) => {
  const { images, withDisk, disks, serial, source, dir, ran } = await setUp(context);
  const raw = join(dir, 'as-it-was.raw');
  await makeRaw(raw, 48 * MIB);
  const qcow2 = join(dir, 'image.qcow2');
  execFileSync('qemu-img', ['convert', '-c', '-f', 'raw', '-O', 'qcow2', raw, qcow2]);
  const image = await putFile(source, qcow2, { name: 'debian-12', format: 'qcow2' });
  await images.pull(image, noProgress);
  const told: { percent: number; bytes_per_s: number | null }[] = [];
  const clone = (is_zero: boolean) =>
    withDisk((disk) => images.clone(image, disk, (each) => told.push(each), { is_zero }));
  assert.deepEqual(await clone(true), { bytes_written: 48 * MIB, digest: image.digest });
  const same = () => execFileSync('cmp', ['--bytes', String(48 * MIB), raw, disks.blockOf(serial)]);
  same();
  // An interrupted clone, or data of a tenant: the zeros of the image have to be written too.
  for (const at of [0, 20 * MIB, 47 * MIB]) await disks.write(serial, at, Buffer.alloc(MIB, 0xa5));
  await clone(false);
  same();
  assert.deepEqual(
    ran.map(({ argv }) => argv.includes('--target-is-zero')),
    [true, false],
  );
  assert.ok(ran.every(({ argv }) => argv.every((word) => !word.startsWith('/') || word.startsWith('/proc/self/fd/'))));
  assert.equal(told.filter(({ percent }) => percent === 100).length, 2);
  assert.ok(told.every(({ bytes_per_s }) => bytes_per_s !== null && bytes_per_s > 0));
});

test('an image larger than the disk is refused with zero bytes changed', { skip }, async (context) => {
  const { images, withDisk, disks, serial, source, ran } = await setUp(context);
  const image = await putImage(source, { name: 'large', size_bytes: 65 * MIB });
  await images.pull(image, noProgress);
  await disks.write(serial, 0, Buffer.from('keep'));
  const before = await disks.hash(serial);
  await withDisk((disk) => refuses(images.clone(image, disk, noProgress), 'blocked'));
  assert.equal(await disks.hash(serial), before);
  assert.deepEqual(ran, []);
});

test('an image modified in the cache is neither cloned nor kept', { skip }, async (context) => {
  const { images, withDisk, disks, serial, source, cache } = await setUp(context);
  const image = await putImage(source, { name: 'debian-12', size_bytes: 16 * MIB });
  await images.pull(image, noProgress);
  const blob = join(cache, image.digest.replace(':', '-'));
  // Touched but unchanged: hashed again, and valid.
  await chmod(blob, 0o600);
  await utimes(blob, 1, 1);
  await withDisk((disk) => images.clone(image, disk, noProgress));
  const before = await disks.hash(serial);
  const file = await open(blob, 'r+');
  const { mtime, atime } = await file.stat();
  await file.write(Buffer.from('other'), 0, 5, 8 * MIB);
  await file.close();
  await utimes(blob, atime, mtime);
  await withDisk((disk) => refuses(images.clone(image, disk, noProgress), 'bad_image_cache'));
  assert.equal(await disks.hash(serial), before);
  assert.deepEqual(await readdir(cache), []);
});

test('progress is parsed from the output that the tool writes over one line', () => {
  assert.deepEqual(percentsIn('    (0.00/100%)\r    (12.50/100%)\r    (100.00/100%)\r\n'), [0, 12.5, 100]);
  assert.deepEqual(percentsIn('    (12.5'), []);
});

test('an image being cloned is not evicted, and its last use is recorded', { skip }, async (context) => {
  const { images, withDisk, source } = await setUp(context);
  const image = await putImage(source, { name: 'used', size_bytes: 8 * MIB });
  await images.pull(image, noProgress);
  const refusals: Promise<void>[] = [];
  await withDisk((disk) =>
    images.clone(image, disk, () => refusals.push(refuses(images.evict(image.digest), 'conflict'))),
  );
  assert.ok(refusals.length > 0);
  await Promise.all(refusals);
  const [cached] = await images.list();
  assert.notEqual(cached?.last_used_at, undefined);
  assert.equal((await images.evict(image.digest)).freed_bytes, 8 * MIB);
});
