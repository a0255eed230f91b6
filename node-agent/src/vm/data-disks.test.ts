import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { machineOf } from '../../test/vm.ts';
import { HostError } from '../host/host.ts';
import { DATA_DISKS_RESULT, dataDisksStart, platformChecks } from './data-disks.ts';

const MIB = 1024 ** 2;
const SIZE = 64 * MIB;
const OK = 'ok data_disks';

const machine = (gpus: number) => ({
  ...machineOf(gpus),
  seed: { ...machineOf(gpus).seed, storage: 'formatted' as const },
});
const serialsOf = (gpus: number): readonly string[] => machineOf(gpus).plan.slots.map((slot) => slot.nvme_serial);

/**
 * A guest OS whose disks are files, under the names of the given order: file systems are real, and a mount is a line in
 * /proc/mounts. Returns a boot, which returns the readiness line and the mounts.
 */
const openGuest = (t: TestContext, gpus: number) => {
  const root = mkdtempSync(join(tmpdir(), 'gpuaas-guest-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const at = (path: string): string => join(root, path);
  const write = (path: string, text: string, mode = 0o644): void => {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), text, { mode });
  };
  const disks = at('/disks');
  mkdirSync(disks, { recursive: true });
  for (const serial of serialsOf(gpus)) {
    writeFileSync(join(disks, serial), '');
    truncateSync(join(disks, serial), SIZE);
  }
  mkdirSync(at('/run'));
  write('/bin/mkfs.ext4', '#!/bin/sh\nPATH=/usr/sbin:/sbin:/usr/bin:/bin exec mkfs.ext4 "$@"\n', 0o755);
  // A disk without a file system cannot be mounted.
  const mount = `#!/bin/sh\nPATH=$PATH:/usr/sbin:/sbin blkid -p "$1" >/dev/null || exit 32\necho "$1 $2 ext4 rw 0 0" >>${at('/proc/mounts')}\n`;
  write('/bin/mount', mount, 0o755);
  const boot = (names: readonly string[] = ['vda', 'vdb', 'vdc', 'vdd'], kept = '') => {
    for (const folder of ['/sys/block', '/dev']) rmSync(at(folder), { recursive: true, force: true });
    for (const [index, serial] of serialsOf(gpus).entries()) {
      const name = names[index];
      if (name === undefined) continue;
      write(`/sys/block/${name}/serial`, serial);
      write(`/sys/block/${name}/size`, `${SIZE / 512}\n`);
      mkdirSync(at('/dev'), { recursive: true });
      spawnSync('ln', ['-s', join(disks, serial), at(`/dev/${name}`)]);
    }
    write('/proc/mounts', kept.replaceAll('ROOT', root));
    const [, flag = '', script = ''] = dataDisksStart(machine(gpus))[0] ?? [];
    const inRoot = script
      .replaceAll(/([\s"'^>=/])\/(sys\/block|dev\/\$disk|data|proc\/mounts|run\/gpuaas)/g, `$1${root}/$2`)
      .replace('sleep 1', ':');
    const { stderr } = spawnSync('sh', [flag, inRoot], { env: { PATH: `${at('/bin')}:/usr/bin:/bin` } });
    return {
      result: readFileSync(at(DATA_DISKS_RESULT), 'utf8').trim(),
      mounts: readFileSync(at('/proc/mounts'), 'utf8').replaceAll(root, '').trim().split('\n').filter(Boolean),
      stderr: stderr.toString('utf8').replaceAll(root, ''),
    };
  };
  const idOf = (index: number): string =>
    spawnSync('/usr/sbin/blkid', ['-p', '-o', 'value', '-s', 'UUID', join(disks, serialsOf(gpus)[index] ?? '')])
      .stdout.toString()
      .trim();
  const fill = (index: number, offset: number, text: string): void => {
    const done = spawnSync(
      'dd',
      [`of=${join(disks, serialsOf(gpus)[index] ?? '')}`, 'bs=1', `seek=${offset}`, 'conv=notrunc'],
      { input: text },
    );
    assert.equal(done.status, 0);
  };
  return { boot, idOf, fill, at };
};

describe('formatted data disks in the guest OS', () => {
  it('get ext4 and are mounted in slot order, and the boot disk is not touched', (t) => {
    const guest = openGuest(t, 4);
    const { result, mounts, stderr } = guest.boot();
    assert.equal(result, OK, stderr);
    assert.deepEqual(
      mounts.map((line) => line.split(' ').slice(0, 2)),
      [
        ['/dev/vdb', '/data/1'],
        ['/dev/vdc', '/data/2'],
        ['/dev/vdd', '/data/3'],
      ],
    );
    assert.equal(guest.idOf(0), '');
    assert.ok(existsSync(guest.at('/data/3')));
  });

  it('are found by serial number, whatever their names, and keep their file systems at every later boot', (t) => {
    const guest = openGuest(t, 4);
    guest.boot();
    const before = [1, 2, 3].map(guest.idOf);
    assert.equal(new Set(before).size, 3);
    const { result, mounts } = guest.boot(['vdd', 'vda', 'vdc', 'vdb']);
    assert.equal(result, OK);
    assert.deepEqual(
      mounts.map((line) => line.split(' ')[0]),
      ['/dev/vda', '/dev/vdc', '/dev/vdb'],
    );
    assert.deepEqual([1, 2, 3].map(guest.idOf), before);
  });

  it('are not formatted if they hold anything: another file system is mounted, other data is left alone', (t) => {
    const guest = openGuest(t, 4);
    for (const [index, offset] of [
      [1, 5 * MIB],
      [2, SIZE - 600],
    ] as const)
      guest.fill(index, offset, 'of the tenant');
    const { result, mounts, stderr } = guest.boot();
    assert.deepEqual([guest.idOf(1), guest.idOf(2)], ['', '']);
    assert.equal(result, OK, 'a disk of the tenant is no reason to keep the VM from being ready');
    assert.deepEqual(
      mounts.map((line) => line.split(' ')[1]),
      ['/data/3'],
    );
    assert.match(stderr, /data disk 1 \(S6XYNE0T90001\) holds data that cannot be mounted at \/data\/1/);
  });

  it('are blank also if they read as ones after their wipe', (t) => {
    const guest = openGuest(t, 2);
    spawnSync('sh', ['-c', `head -c ${SIZE} /dev/zero | tr '\\000' '\\377' >'${guest.at('/disks/S6XYNE0T90001')}'`]);
    assert.equal(guest.boot().mounts.length, 1);
  });

  it('are left to the tenant who has mounted them elsewhere, or something else in their place', (t) => {
    const guest = openGuest(t, 4);
    const kept = 'ROOT/dev/vdb /scratch xfs rw 0 0\nnfs:/x ROOT/data/2 nfs rw 0 0\n';
    const { result, mounts } = guest.boot(undefined, kept);
    assert.equal(result, OK);
    assert.deepEqual(
      mounts.slice(2).map((line) => line.split(' ')[1]),
      ['/data/3'],
    );
    assert.deepEqual([guest.idOf(1), guest.idOf(2)], ['', '']);
  });

  it('that are missing or cannot be formatted fail the check of the VM with the reason', (t) => {
    assert.equal(openGuest(t, 2).boot(['vda']).result, 'not ok data_disks: data disk 1 is missing');
    const guest = openGuest(t, 2);
    writeFileSync(guest.at('/bin/mkfs.ext4'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    assert.equal(guest.boot().result, 'not ok data_disks: data disk 1 could not be formatted');
  });
});

describe('the command for data disks', () => {
  it('exists only for formatted storage, with a check of the platform', () => {
    assert.deepEqual(dataDisksStart(machineOf(4)), []);
    assert.deepEqual([platformChecks('formatted'), platformChecks('raw')], [['data_disks'], []]);
    const [, , script = ''] = dataDisksStart(machine(4))[0] ?? [];
    assert.match(script, /^serials='S6XYNE0T90001 S6XYNE0T90002 S6XYNE0T90003'\n/);
    assert.equal(spawnSync('sh', ['-n'], { input: script }).status, 0);
  });

  it('names no disk whose serial number a shell could read as a command', () => {
    const odd = machine(2);
    const slots = odd.plan.slots.map((slot, index) => ({ ...slot, nvme_serial: index === 0 ? 'A' : "x';reboot'" }));
    assert.throws(() => dataDisksStart({ ...odd, plan: { ...odd.plan, slots } }), HostError);
  });
});
