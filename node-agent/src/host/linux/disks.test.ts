import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makePrograms, makeTree, putTree, SWITCH_TREE, type Tree } from '../../../test/tree.ts';
import { majorMinorOf } from './device-number.ts';
import { createLinuxHost } from './host.ts';
import { eraseAbilityOf } from './nvme.ts';
import { createRun } from './run.ts';
import { signaturesOf } from './signatures.ts';
import { sanitizeStatusOf } from './wipe.ts';

const SERIAL = 'S64GNE0T000001';
const DEVICE = '/dev/disk/by-id/nvme-eui.aabbccdd00000001';
const SIZE = 1024 * 1024;
const NVME = '/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:19:00.0/nvme/nvme0';
const ERASE = 'dd if=/dev/zero of=/proc/self/fd/3 bs=4096 count=256 conv=notrunc status=none';

/** A disk of plain bytes, and tools that really write to their descriptor. */
const bench = async (
  context: TestContext,
  { tree = {}, idCtrl = '{"oacs": 23, "fna": 4, "sanicap": 3}', wipefs = 'true', status = 0 } = {},
) => {
  const own = await makeTree({ ...SWITCH_TREE, ...tree });
  context.after(own.remove);
  await writeFile(join(own.root, 'dev/nvme0n1'), Buffer.alloc(SIZE, 0xab));
  const { path, log } = await makePrograms(join(own.root, 'bin'), {
    nvme: `case "$1" in
      id-ctrl) echo '${idCtrl}' ;;
      sanitize-log) echo '{"nvme0":{"sprog":65535,"sstat":{"status":"(1) Completed."}}}' ;;
      *) ${ERASE}; exit ${status} ;;
    esac`,
    blkdiscard: ERASE,
    wipefs,
    lsblk: 'echo \'{"blockdevices":[]}\'',
  });
  const host = createLinuxHost({ root: own.root, run: createRun(path) });
  const bytes = () => readFile(join(own.root, 'dev/nvme0n1'));
  const calls = async () =>
    (await readFile(log, 'utf8'))
      .split('\n')
      .map((line) => line.slice(line.lastIndexOf('/bin/') + '/bin/'.length).trim())
      .filter((line) => /^nvme (?:sanitize|format) |^blkdiscard/.test(line));
  return { host, bytes, calls, put: (more: Tree) => putTree(own.root, more) };
};

test('each wipe method uses the commands that the disk supports, on the opened descriptor', async (context) => {
  for (const [method, idCtrl, call] of [
    ['nvme_sanitize', '{"oacs":2,"fna":0,"sanicap":1}', 'nvme sanitize /proc/self/fd/3 --sanact=start-crypto-erase'],
    ['nvme_sanitize', '{"oacs":2,"fna":0,"sanicap":2}', 'nvme sanitize /proc/self/fd/3 --sanact=start-block-erase'],
    ['nvme_format', '{"oacs":2,"fna":4,"sanicap":0}', 'nvme format /proc/self/fd/3 --ses=2 --force'],
    ['nvme_format', '{"oacs":2,"fna":0,"sanicap":0}', 'nvme format /proc/self/fd/3 --ses=1 --force'],
    ['blkdiscard', '{"oacs":0,"fna":0,"sanicap":0}', 'blkdiscard --force /proc/self/fd/3'],
  ] as const) {
    const { host, bytes, calls } = await bench(context, { idCtrl });
    const disk = await host.disks.open({ serial: SERIAL, device: DEVICE });
    assert.deepEqual([disk.serial, disk.major_minor, disk.size_bytes], [SERIAL, '259:0', SIZE]);
    assert.deepEqual(await disk.read(4095, 3), Buffer.alloc(3, 0xab));
    assert.deepEqual(await disk.wipe(method), { command_status: 0 });
    assert.deepEqual(await calls(), [call]);
    assert.deepEqual(await disk.read(SIZE - 5000, 5000), Buffer.alloc(5000));
    assert.deepEqual(await bytes(), Buffer.alloc(SIZE));
    await disk.close();
  }
});

test('a method that the disk does not support is refused, and a failed command reports its status', async (context) => {
  const without = await bench(context, { idCtrl: '{"oacs":0,"fna":0,"sanicap":0}' });
  const disk = await without.host.disks.open({ serial: SERIAL, device: DEVICE });
  for (const method of ['nvme_sanitize', 'nvme_format'] as const)
    await assert.rejects(disk.wipe(method), { code: 'unsupported' });
  await disk.close();
  assert.deepEqual(await without.bytes(), Buffer.alloc(SIZE, 0xab));
  const failing = await bench(context, { status: 5 });
  const other = await failing.host.disks.open({ serial: SERIAL, device: DEVICE });
  assert.deepEqual(await other.wipe('nvme_format'), { command_status: 5 });
  await other.close();
});

const MAPPED: Tree = {
  '/sys/block/dm-0': { link: '../devices/virtual/block/dm-0' },
  '/sys/devices/virtual/block/dm-0/dev': '253:0',
};

test('a disk in use is refused at open and at wipe, with zero bytes written', async (context) => {
  const uses: readonly (readonly [Tree, RegExp])[] = [
    [
      { '/proc/1/mountinfo': '30 1 259:0 / /mnt/local\\040volume rw - ext4 /dev/nvme0n1 rw\n' },
      /at \/mnt\/local volume/,
    ],
    [{ '/proc/1/mountinfo': '30 1 0:50 / /data rw - btrfs /dev/nvme0n1 rw\n' }, /mounted at \/data/],
    [{ '/proc/1/mountinfo': '30 1 259:0 / /boot rw - ext4 /dev/nvme0n1 rw\n' }, /host's own system/],
    [{ '/proc/swaps': 'Filename Type\n/dev/nvme0n1 partition 1 0 -2\n' }, /swap space/],
    [{ [`${NVME}/nvme0n1/holders/dm-0`]: null, ...MAPPED }, /held by dm-0/],
    [
      {
        [`${NVME}/nvme0n1/nvme0n1p1/dev`]: '259:1',
        [`${NVME}/nvme0n1/nvme0n1p1/holders/dm-0`]: null,
        ...MAPPED,
        '/proc/1/mountinfo': '30 1 253:0 / /srv rw - ext4 /dev/mapper/vg-data rw\n',
      },
      /mounted at \/srv/,
    ],
    [
      { [`${NVME}/nvme0n1/nvme0n1p1/dev`]: '259:1', '/proc/swaps': 'F\n/dev/nvme0n1p1 partition 1 0 -2\n' },
      /swap space/,
    ],
  ];
  for (const [tree, reason] of uses) {
    const { host, bytes, put } = await bench(context);
    const disk = await host.disks.open({ serial: SERIAL, device: DEVICE });
    await put(tree);
    await assert.rejects(disk.wipe('nvme_format'), (error: Error) => {
      assert.match(error.message, reason);
      return 'code' in error && error.code === 'blocked';
    });
    await assert.rejects(host.disks.open({ serial: SERIAL, device: DEVICE }), { code: 'blocked' });
    await disk.close();
    assert.deepEqual(await bytes(), Buffer.alloc(SIZE, 0xab));
  }
});

test('a disk is identified by its serial: a name that resolves to another one is refused', async (context) => {
  const { host, bytes, put } = await bench(context);
  const disk = await host.disks.open({ serial: SERIAL, device: DEVICE });
  await assert.rejects(host.disks.open({ serial: 'other', device: DEVICE }), { code: 'drift' });
  for (const device of ['/dev/nvme0n1', '/dev/disk/by-id/../../sda', '/dev/disk/by-id/absent'])
    await assert.rejects(host.disks.open({ serial: SERIAL, device }), { code: 'drift' });
  await put({ [DEVICE]: { link: '../../sda' } });
  await assert.rejects(disk.wipe('nvme_format'), { code: 'drift' });
  await put({ [DEVICE]: { link: '../../nvme0n1' }, [`${NVME}/nvme0n1/dev`]: '259:7' });
  await assert.rejects(disk.wipe('nvme_format'), { code: 'drift' });
  assert.deepEqual(await bytes(), Buffer.alloc(SIZE, 0xab));
  await put({ [`${NVME}/nvme0n1/dev`]: '259:0', '/dev/nvme0n1': { link: 'sda' } });
  await assert.rejects(host.disks.open({ serial: SERIAL, device: DEVICE }), { code: 'host_error' });
  await disk.close();
});

test('signatures are read from the disk itself, and unknown if it cannot be read', async (context) => {
  const found = await bench(context, { wipefs: 'echo \'{"signatures":[{"device":"nvme0n1","type":"gpt"}]}\'' });
  assert.deepEqual((await found.host.disks.list())[0]?.filesystems, ['gpt']);
  const opened = await found.host.disks.open({ serial: SERIAL, device: DEVICE });
  assert.deepEqual(await opened.signatures(), ['gpt']);
  await opened.close();
  const broken = await bench(context, { wipefs: 'echo "wipefs: Input/output error" >&2; exit 1' });
  assert.match((await broken.host.disks.list())[0]?.unreadable ?? '', /Input\/output error/);
});

test('the supported wipe methods are read from the capability bits, as JSON or text', () => {
  const none = { sanitize_crypto: false, sanitize_block: false, format: false, format_crypto: false };
  assert.deepEqual(eraseAbilityOf('{"oacs":0,"fna":0,"sanicap":0}'), none);
  assert.deepEqual(eraseAbilityOf('oacs      : 0x7\nfna       : 0x4\nsanicap   : 0x3\n'), {
    sanitize_crypto: true,
    sanitize_block: true,
    format: true,
    format_crypto: true,
  });
  assert.throws(() => eraseAbilityOf('oacs : 0x7\nfna : 0\n'), /reports no sanicap/);
});

test('a sanitize is complete only when the disk reports it', () => {
  assert.equal(sanitizeStatusOf('{"nvme0":{"sstat":{"status":"(2) In progress."}}}'), 2);
  assert.equal(sanitizeStatusOf('{"nvme0":{"sstat":257}}'), 1);
  assert.throws(() => sanitizeStatusOf('{"nvme0":{}}'), /reports no status/);
});

test('device numbers are decoded as the kernel encodes them', () => {
  assert.equal(majorMinorOf((259 << 8) | 3), '259:3');
  assert.equal(majorMinorOf(0x10_0000 + (8 << 8)), '8:256');
});

test('signatures of a whole device tree are found by device name', () => {
  const tree = {
    blockdevices: [
      {
        name: '/dev/sda',
        pttype: 'gpt',
        fstype: null,
        children: [{ name: '/dev/sda1', fstype: 'LVM2_member', children: [{ name: '/dev/mapper/a', fstype: 'xfs' }] }],
      },
    ],
  };
  assert.deepEqual(
    [...signaturesOf(JSON.stringify(tree))],
    [
      ['sda', ['gpt']],
      ['sda1', ['LVM2_member']],
      ['a', ['xfs']],
    ],
  );
  assert.throws(() => signaturesOf('{}'), /no block devices/);
});
