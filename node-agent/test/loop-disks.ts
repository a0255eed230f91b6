/**
 * Loop devices as NVMe disks: sparse files below, real block devices above, with the kernel's own records of mounts,
 * swap and holders. The name, serial and bus address of a disk, which loop devices lack, come from a tree of files
 * beside links into the real /sys and /proc. `nvme` replaces missing firmware; `blkdiscard`, `wipefs` and `qemu-img`
 * are the real ones.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { mkdir, open, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { majorMinorOf } from '../src/host/linux/device-number.ts';
import { makePrograms, makeTree, putTree, type Tree } from './tree.ts';

export type LoopDrive = Readonly<{ serial: string; eui: string; address: string; size_bytes: number }>;

const sh = (file: string, ...args: readonly string[]): string => execFileSync(file, args, { encoding: 'utf8' }).trim();
const deviceOf = (eui: string): string => `/dev/disk/by-id/nvme-eui.${eui}`;

/** The capabilities that the firmware reports; the loop device executes the commands. */
const nvmeProgram = (idCtrl: string): string => `case "$1" in
  id-ctrl) echo '${idCtrl}' ;;
  sanitize-log) echo '{"nvme0":{"sprog":65535,"sstat":{"status":"(1) Completed."}}}' ;;
  sanitize|format) exec blkdiscard --force /proc/self/fd/3 ;;
  *) exit 1 ;;
esac`;
const ALL_METHODS = '{"oacs":2,"fna":0,"sanicap":2}';

const driveTree = (drive: LoopDrive, index: number, loop: string): Tree => {
  const controller = `nvme${index}`;
  const block = `${controller}n1`;
  const folder = `/sys/devices/pci0000:00/${drive.address}/nvme/${controller}`;
  const real = `/sys/block/${loop}`;
  return {
    [`/sys/block/${block}`]: { link: `../devices/pci0000:00/${drive.address}/nvme/${controller}/${block}` },
    ...Object.fromEntries(
      ['dev', 'size', 'holders', 'queue'].map((name) => [`${folder}/${block}/${name}`, { link: `${real}/${name}` }]),
    ),
    [`${folder}/${block}/device`]: { link: `../../${controller}` },
    [`${folder}/${block}/eui`]: `${drive.eui.replace(/..(?!$)/g, '$& ')}\n`,
    [`${folder}/serial`]: `${drive.serial}\n`,
    [`${folder}/model`]: 'Loop drive\n',
    [deviceOf(drive.eui)]: { link: `../../${block}` },
  };
};

/** The disk that the computer itself runs from, by its number: it is only ever refused. */
const bootTree = (): Tree => ({
  '/sys/block/nvme99n1/dev': `${majorMinorOf(statSync('/').dev)}\n`,
  '/sys/block/nvme99n1/size': '2048\n',
  '/sys/block/nvme99n1/device/serial': 'BOOT01\n',
  [deviceOf('00000000000000b0')]: { link: '../../nvme99n1' },
});

export type LoopDisks = Awaited<ReturnType<typeof makeLoopDisks>>;

export const makeLoopDisks = async (
  drives: readonly LoopDrive[],
  programs: Readonly<Record<string, string>> = {},
  idCtrl = ALL_METHODS,
) => {
  const { root, remove: removeTree } = await makeTree({
    ...bootTree(),
    '/proc/1/mountinfo': { link: '/proc/1/mountinfo' },
    '/proc/swaps': { link: '/proc/swaps' },
  });
  const held: (() => Promise<void>)[] = [];
  /** Undone in reverse. */
  const undo: (() => unknown)[] = [removeTree];
  const remove = async (): Promise<void> => {
    for (const step of held.splice(0)) await step();
    for (const step of undo.splice(0).reverse()) await step();
  };
  const attach = (file: string): string => {
    const loop = sh('losetup', '--find', '--show', file);
    undo.push(() => sh('losetup', '--detach', loop));
    return loop;
  };
  const made = async () => {
    const { path } = await makePrograms(join(root, 'bin'), { nvme: nvmeProgram(idCtrl), ...programs });
    const places = new Map<string, Readonly<{ block: string; loop: string; drive: LoopDrive }>>();
    for (const [index, drive] of drives.entries()) {
      const file = join(root, `${drive.serial}.img`);
      await (await open(file, 'w')).close();
      await truncate(file, drive.size_bytes);
      const loop = attach(file);
      const block = join(root, 'dev', `nvme${index}n1`);
      await putTree(root, driveTree(drive, index, loop.slice('/dev/'.length)));
      const [major = '', minor = ''] = majorMinorOf(statSync(loop).rdev).split(':');
      sh('mknod', '-m', '600', block, 'b', major, minor);
      places.set(drive.serial, { block, loop, drive });
    }
    return { path: `${path}:/usr/sbin:/sbin`, places };
  };
  try {
    const { path, places } = await made();
    const at = (serial: string) => {
      const place = places.get(serial);
      if (place === undefined) throw new Error(`no drive ${serial}`);
      return place;
    };
    const write = async (serial: string, offset: number, bytes: Uint8Array): Promise<void> => {
      const file = await open(at(serial).block, 'r+');
      await file.write(bytes, 0, bytes.length, offset);
      await file.sync();
      await file.close();
    };
    const mounted = new Set<string>();
    const mounts = join(root, 'mnt');
    /** VMs copy the mounts of the host into their namespace. Only of a shared mount they see that it was unmounted. */
    const shareMounts = async (): Promise<void> => {
      if (existsSync(mounts)) return;
      await mkdir(mounts);
      sh('mount', '--bind', mounts, mounts);
      sh('mount', '--make-shared', mounts);
      undo.push(() => sh('umount', mounts));
    };
    const unmount = (serial: string): void => {
      const target = join(mounts, serial);
      if (mounted.delete(target)) sh('umount', target);
    };
    return {
      root,
      /** For createRun: replacements first, then the system's own programs. */
      path,
      remove,
      write,
      /** The block device, for callers that must open it by path. */
      blockOf: (serial: string): string => at(serial).block,
      /** The same device by its kernel name, for tools that need it. */
      loopOf: (serial: string): string => at(serial).loop,
      identityOf: (serial: string) => ({ serial, device: deviceOf(at(serial).drive.eui) }),
      hash: async (serial: string): Promise<string> => {
        sh('blockdev', '--flushbufs', at(serial).block);
        const hash = createHash('sha256');
        await pipeline(createReadStream(at(serial).block), hash);
        return hash.digest('hex');
      },
      /** A file system, mounted; sixteen bytes at 4096 stay unchanged. */
      mount: async (serial: string): Promise<void> => {
        const { block } = at(serial);
        const file = await open(block, 'r');
        const { buffer } = await file.read(Buffer.alloc(16), 0, 16, 4096);
        await file.close();
        // With blocks of this size the bytes there are reserved for growth that never happens.
        sh('mke2fs', '-q', '-F', '-t', 'ext4', '-b', '1024', block);
        await write(serial, 4096, buffer);
        await shareMounts();
        const target = join(mounts, serial);
        await mkdir(target, { recursive: true });
        // Read-only: a writable file system writes on its own.
        sh('mount', '-o', 'ro,noload', '-t', 'ext4', block, target);
        mounted.add(target);
        undo.push(() => unmount(serial));
      },
      unmount,
      /** Another loop device on top. */
      hold: async (serial: string): Promise<void> => {
        const loop = sh('losetup', '--find', '--show', at(serial).block);
        const name = loop.slice('/dev/'.length);
        held.push(async () => {
          sh('losetup', '--detach', loop);
          for (const path of [`/sys/block/${name}`, `/sys/devices/virtual/block/${name}`])
            await rm(join(root, path), { recursive: true, force: true });
        });
        await putTree(root, {
          [`/sys/block/${name}`]: { link: `../devices/virtual/block/${name}` },
          [`/sys/devices/virtual/block/${name}/size`]: '0\n',
          [`/sys/devices/virtual/block/${name}/loop`]: { link: `/sys/block/${name}/loop` },
        });
      },
      /** Removes every holder and mount that was added. */
      release: async (): Promise<void> => {
        for (const serial of places.keys()) unmount(serial);
        for (const step of held.splice(0)) await step();
      },
      /** As after a reboot: two disks swap their kernel names, and persistent paths lead to the new ones. */
      rename: async (one: string, other: string): Promise<void> => {
        const indexOf = (serial: string): number => Number(/nvme(\d+)n1$/.exec(at(serial).block)?.[1]);
        const [a, b] = [indexOf(one), indexOf(other)];
        for (const [serial, index] of [
          [one, b],
          [other, a],
        ] as const) {
          const { drive, loop } = at(serial);
          const block = join(root, 'dev', `nvme${index}n1`);
          const folder = join(root, `/sys/devices/pci0000:00/${drive.address}`);
          await rm(folder, { recursive: true, force: true });
          await putTree(root, driveTree(drive, index, loop.slice('/dev/'.length)));
          const [major = '', minor = ''] = majorMinorOf(statSync(loop).rdev).split(':');
          await rm(block, { force: true });
          sh('mknod', '-m', '600', block, 'b', major, minor);
          places.set(serial, { block, loop, drive });
        }
      },
      swap: async (serial: string): Promise<void> => {
        const { block } = at(serial);
        sh('mkswap', '--quiet', block);
        sh('swapon', block);
        undo.push(() => sh('swapoff', block));
      },
      put: (tree: Tree) => putTree(root, tree),
      onRemove: (step: () => unknown): void => void undo.push(step),
      clear: (path: string) => rm(join(root, path), { recursive: true, force: true }),
    };
  } catch (error) {
    await remove();
    throw error;
  }
};
