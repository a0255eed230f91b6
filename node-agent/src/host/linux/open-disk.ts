/**
 * One disk, opened once. The serial identifies the disk; descriptor and device number show that it is still the same
 * one. They are compared before and after every action, and tools get the descriptor, never a path that may resolve to
 * another disk by then. A mounted disk, one in use, swap and the host's own disks are refused each time.
 *
 * During an action the disk is opened exclusively: nothing can mount it, swap to it or build on it, and a use that no
 * list showed fails the open. The tool inherits the lock, so it lasts as long as the tool, even without the agent.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { WipeMethod } from '@gpuaas/contract/node';
import { type DiskIdentity, HostError, type OpenDisk } from '../host.ts';
import { majorMinorOf } from './device-number.ts';
import { directReader } from './direct-read.ts';
import { type DiskUse, listUses } from './disk-use.ts';
import { readErase } from './disks.ts';
import type { Files } from './files.ts';
import { deviceOf, findOpeners } from './openers.ts';
import { outputOf, type Run } from './run.ts';
import { wipefsTypesOf } from './signatures.ts';
import { awaitEarlier, wipeDisk } from './wipe.ts';

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

const refuseUsed = (disk: DiskUse): void => {
  const name = `${disk.name} (${disk.serial})`;
  if (disk.is_boot) throw new HostError('blocked', `${name} holds the host's own system.`);
  if (disk.mounts.length > 0) throw new HostError('blocked', `${name} is mounted at ${disk.mounts.join(', ')}.`);
  if (disk.is_swap) throw new HostError('blocked', `${name} is swap space.`);
  if (disk.holders.length > 0) throw new HostError('blocked', `${name} is held by ${disk.holders.join(', ')}.`);
  if ((disk.namespaces ?? 1) > 1)
    throw new HostError('blocked', `${name} has ${disk.namespaces} namespaces, and erasing one reaches the others.`);
};

const findDisk = async (files: Files, identity: DiskIdentity): Promise<DiskUse> => {
  if (!/^\/dev\/disk\/by-id\/[\w.:+-]+$/.test(identity.device))
    throw new HostError('drift', `${identity.device} is not a /dev/disk/by-id path.`);
  const found = await listUses(files, identity.serial);
  const [disk] = found;
  if (disk === undefined) throw new HostError('drift', `No disk has the serial ${identity.serial}.`);
  if (found.length > 1) throw new HostError('drift', `${found.length} disks have the serial ${identity.serial}.`);
  const leadsTo = (await files.findLink(identity.device))?.split('/').at(-1);
  if (leadsTo !== disk.name)
    throw new HostError(
      'drift',
      `${identity.device} leads to ${leadsTo ?? 'nothing'}, but serial ${identity.serial} is ${disk.name}.`,
    );
  return disk;
};

/** Below another root plain files replace disks; on a live host only block devices count. */
const refuseOther = async (files: Files, handle: FileHandle, disk: DiskUse): Promise<void> => {
  const stat = await handle.stat();
  if (!stat.isBlockDevice()) {
    if (files.root !== '/' && stat.isFile()) return;
    throw new HostError('drift', `/dev/${disk.name} is no block device.`);
  }
  const number = majorMinorOf(stat.rdev);
  if (number !== disk.major_minor)
    throw new HostError('drift', `/dev/${disk.name} is device ${number}, but ${disk.serial} is ${disk.major_minor}.`);
};

const openDirect = async (files: Files, path: string): Promise<FileHandle> => {
  const flags = constants.O_RDWR | constants.O_NOFOLLOW;
  try {
    return await open(join(files.root, path), flags | constants.O_DIRECT);
  } catch (error) {
    const code = codeOf(error);
    // In-memory file systems do not support direct reads; block devices always do.
    if (code === 'EINVAL' && files.root !== '/') return open(join(files.root, path), flags);
    throw new HostError('host_error', `${path} could not be opened (${code}).`, { cause: error });
  }
};

/** A tool of an agent that was just killed may still be exiting. */
const HOLD_TRIES = 20;
const HOLD_PAUSE_MS = 100;

const hold = async (handle: FileHandle, name: string): Promise<FileHandle> => {
  for (let tries = 1; ; tries += 1)
    try {
      return await open(`/proc/self/fd/${handle.fd}`, constants.O_RDWR | constants.O_EXCL);
    } catch (error) {
      if (codeOf(error) !== 'EBUSY')
        throw new HostError('host_error', `${name} could not be held (${codeOf(error)}).`, { cause: error });
      if (tries === HOLD_TRIES)
        throw new HostError('blocked', `${name} is in use: the kernel does not give it away.`, { cause: error });
      await pause(HOLD_PAUSE_MS);
    }
};

/** A device manager opens a disk only briefly after each close; a VM keeps it open. */
const refuseOpened = async (handle: FileHandle, disk: DiskUse): Promise<void> => {
  const device = deviceOf(await handle.stat());
  if (device === null) return;
  let openers = await findOpeners(device);
  for (let tries = 1; openers.length > 0; tries += 1) {
    const names = openers.map(({ pid, program }) => `${program} (process ${pid})`).join(', ');
    if (tries === HOLD_TRIES) throw new HostError('blocked', `${disk.name} (${disk.serial}) is open in ${names}.`);
    await pause(HOLD_PAUSE_MS);
    openers = await findOpeners(device, openers);
  }
};

/** The page cache of earlier reads would hide the current content: a wipe inside the disk does not clear it. */
const forgetCached = async (run: Run, handle: FileHandle): Promise<void> => {
  if (!(await handle.stat()).isBlockDevice()) return;
  const argv = ['blockdev', '--flushbufs', '/proc/self/fd/3'] as const;
  await outputOf(run, { argv, recorded: 'blockdev.txt', fd: handle.fd });
};

/** Acts on an open disk that is locked meanwhile; the descriptor is for tools. */
type DiskAction = <T>(work: (fd: number, disk: DiskUse) => Promise<T>) => Promise<T>;
const doings = new WeakMap<OpenDisk, DiskAction>();

export const actOn = async <T>(disk: OpenDisk, work: (fd: number, facts: DiskUse) => Promise<T>): Promise<T> => {
  const doing = doings.get(disk);
  if (doing === undefined) throw new HostError('conflict', `${disk.serial} is not open here.`);
  return doing(work);
};

export const openDisk = async (files: Files, run: Run, identity: DiskIdentity): Promise<OpenDisk> => {
  const disk = await findDisk(files, identity);
  refuseUsed(disk);
  const handle = await openDirect(files, `/dev/${disk.name}`);
  let isOpen = true;
  const check = async (): Promise<DiskUse> => {
    if (!isOpen) throw new HostError('host_error', `${identity.serial} is closed.`);
    const now = await findDisk(files, identity);
    if (now.major_minor !== disk.major_minor || now.name !== disk.name)
      throw new HostError('drift', `Serial ${identity.serial} was ${disk.name} and is ${now.name} now.`);
    await refuseOther(files, handle, now);
    return now;
  };
  const doing: DiskAction = async (work) => {
    const now = await check();
    refuseUsed(now);
    const held = await hold(handle, `${disk.name} (${identity.serial})`);
    const doneTo = async () => {
      try {
        await refuseOther(files, held, now);
        await refuseOpened(held, now);
        return await work(held.fd, now);
      } finally {
        await held.close();
      }
    };
    const done = await doneTo();
    await check();
    return done;
  };
  try {
    await refuseOther(files, handle, disk);
    await refuseOpened(handle, disk);
  } catch (error) {
    await handle.close();
    throw error;
  }
  const read = directReader(handle, disk.size_bytes);
  const opened: OpenDisk = {
    serial: identity.serial,
    major_minor: disk.major_minor ?? '',
    size_bytes: disk.size_bytes,
    wipe: (method: WipeMethod) =>
      doing(async (fd, { name, serial }) =>
        wipeDisk(run, fd, method, { serial, erase: await readErase(files, run, name) }),
      ),
    settled: () => doing(async (fd, { name }) => awaitEarlier(run, fd, await readErase(files, run, name))),
    read: async (offset, length) => {
      if (!isOpen) throw new HostError('host_error', `${identity.serial} is closed.`);
      return read(offset, length);
    },
    signatures: async () => {
      if (!isOpen) throw new HostError('host_error', `${identity.serial} is closed.`);
      await forgetCached(run, handle);
      const text = await outputOf(run, {
        argv: ['wipefs', '--no-act', '--json', '/proc/self/fd/3'],
        recorded: 'wipefs.json',
        fd: handle.fd,
      });
      return wipefsTypesOf(text);
    },
    close: async () => {
      if (!isOpen) return;
      try {
        await check();
      } finally {
        isOpen = false;
        doings.delete(opened);
        await handle.close();
      }
    },
  };
  doings.set(opened, doing);
  return opened;
};
