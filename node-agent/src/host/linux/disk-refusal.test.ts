/** On real block devices: a disk in use, or one that is not the approved disk, is refused untouched. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { constants } from 'node:fs';
import { open, readFile, rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { requires } from '../../../../tools/test/requires.ts';
import { putImage } from '../../../test/image-folder.ts';
import { type LoopHostOptions, makeLoopHost } from '../../../test/loop-host.ts';
import { noProgress, refuses } from '../contract/subject.ts';
import type { OpenDisk } from '../host.ts';
import { createFiles } from './files.ts';
import { createLinuxHost } from './host.ts';
import { createRun } from './run.ts';

const MIB = 1024 ** 2;
const skip = requires('loop', 'qemu-img', 'sgdisk');

const setUp = async (context: TestContext, options: LoopHostOptions = {}) => {
  const made = await makeLoopHost({ disk_bytes: 16 * MIB, ...options });
  context.after(made.close);
  const [first, second] = made.slots;
  assert.ok(first && second);
  const image = await putImage(made.source, { name: 'debian-12', size_bytes: 8 * MIB });
  await made.host.images.pull(image, noProgress);
  for (const { disk } of [first, second])
    for (const at of [0, 5 * MIB, 16 * MIB - 4]) await made.disks.write(disk.serial, at, Buffer.from(disk.serial));
  return { ...made, first: first.disk, second: second.disk, image };
};
type Made = Awaited<ReturnType<typeof setUp>>;

const acts = (made: Made, disk: OpenDisk): readonly (() => Promise<unknown>)[] => [
  () => disk.wipe('blkdiscard'),
  () => made.host.images.clone(made.image, disk, noProgress, { is_zero: true }),
];

/** Refused when it is opened, and refused if it was open before; then unchanged, byte for byte. */
const staysWhole = async (made: Made, use: () => Promise<unknown>, ...codes: Parameters<typeof refuses>[1][]) => {
  const disk = await made.host.disks.open(made.first);
  await use();
  const before = [await made.disks.hash(made.first.serial), await made.disks.hash(made.second.serial)];
  for (const act of acts(made, disk)) await refuses(act(), ...codes);
  await refuses(made.host.disks.open(made.first), ...codes);
  await disk.close().catch(() => undefined);
  assert.deepEqual([await made.disks.hash(made.first.serial), await made.disks.hash(made.second.serial)], before);
};

test('a mounted disk is refused with zero bytes changed', { skip }, async (context) => {
  const made = await setUp(context);
  await staysWhole(made, () => made.disks.mount(made.first.serial), 'blocked');
});

test('swap is refused with zero bytes changed, whatever path activated it', { skip }, async (context) => {
  const made = await setUp(context);
  await staysWhole(made, () => made.disks.swap(made.first.serial), 'blocked');
});

test('a disk below a loop device is refused with zero bytes changed', { skip }, async (context) => {
  const made = await setUp(context);
  await staysWhole(made, () => made.disks.hold(made.first.serial), 'blocked');
});

test('a disk held in a way that no list shows is refused by the kernel', { skip }, async (context) => {
  const made = await setUp(context);
  const other = await open(made.disks.blockOf(made.first.serial), constants.O_RDONLY | constants.O_EXCL);
  const disk = await made.host.disks.open(made.first);
  const before = await made.disks.hash(made.first.serial);
  for (const act of acts(made, disk)) await refuses(act(), 'blocked');
  await other.close();
  assert.equal(await made.disks.hash(made.first.serial), before);
  assert.deepEqual(await disk.wipe('blkdiscard'), { command_status: 0 });
  await disk.close();
});

test('a persistent name that resolves to another disk is refused, and neither disk is touched', {
  skip,
}, async (context) => {
  const made = await setUp(context);
  await staysWhole(made, () => made.disks.put({ [made.first.device]: { link: '../../nvme1n1' } }), 'drift');
});

test('a disk with another device number is refused, and neither disk is touched', { skip }, async (context) => {
  const made = await setUp(context);
  const { root } = made.disks;
  // As if the disks were enumerated in another order while the agent had one open.
  await staysWhole(
    made,
    async () => {
      const number = await readFile(join(root, 'sys/block/nvme1n1/dev'), 'utf8');
      await made.disks.clear('sys/block/nvme0n1/dev');
      await made.disks.put({ '/sys/block/nvme0n1/dev': number });
    },
    'drift',
  );
});

test('a device node swapped between check and open is refused, and neither disk is touched', {
  skip,
}, async (context) => {
  const made = await setUp(context);
  const { root, path } = made.disks;
  const node = join(root, 'dev/nvme0n1');
  const other = join(root, 'dev/nvme1n1');
  for (const swap of [
    async () => symlink(other, node),
    async () => {
      const [major = '', minor = ''] = (await readFile(join(root, 'sys/block/nvme1n1/dev'), 'utf8')).trim().split(':');
      execFileSync('mknod', [node, 'b', major, minor]);
    },
  ]) {
    const before = [await made.disks.hash(made.first.serial), await made.disks.hash(made.second.serial)];
    const real = createFiles(root);
    let isSwapped = false;
    const host = createLinuxHost({
      root,
      run: createRun(path),
      files: {
        ...real,
        // The last check of a disk before it is opened is the target of its persistent name.
        findLink: async (at) => {
          const link = await real.findLink(at);
          if (at === made.first.device && !isSwapped) {
            isSwapped = true;
            await rename(node, `${node}.away`);
            await swap();
          }
          return link;
        },
      },
    });
    const isRefused = await host.disks.open(made.first).then(
      () => false,
      () => true,
    );
    await made.disks.clear('dev/nvme0n1');
    await rename(`${node}.away`, node);
    assert.ok(isRefused && isSwapped);
    assert.deepEqual([await made.disks.hash(made.first.serial), await made.disks.hash(made.second.serial)], before);
  }
});

test('while a disk is written no other process can open it', { skip }, async (context) => {
  const made = await setUp(context, {
    programs: {
      // Opens the disk exclusively, as a mount would, while the agent has it open.
      blkdiscard: 'if mke2fs -q -t ext4 "$(readlink /proc/self/fd/3)"; then exit 9; fi; exec /usr/sbin/blkdiscard "$@"',
    },
  });
  const disk = await made.host.disks.open(made.first);
  assert.deepEqual(await disk.wipe('blkdiscard'), { command_status: 0 });
  assert.deepEqual([...(await disk.signatures())], []);
  await disk.close();
});
