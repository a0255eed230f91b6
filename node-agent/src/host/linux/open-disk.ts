/**
 * One disk, opened once. Its serial says which disk it is, its descriptor and device number say that it is still the
 * same one: they are compared before and after everything that is done to it, and tools are given the descriptor, never
 * a path that may lead elsewhere by then. What is mounted, held, swap or the host's own is refused each time.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { DiskFacts } from '@gpuaas/contract/node';
import { type DiskIdentity, HostError, type OpenDisk, type WipeMethod } from '../host.ts';
import { directReader } from './direct-read.ts';
import { listDisks } from './disks.ts';
import type { Files } from './files.ts';
import { outputOf, type Run } from './run.ts';
import { wipefsTypesOf } from './signatures.ts';
import { wipeDisk } from './wipe.ts';

/** Device numbers as the kernel packs them for user space. */
export const majorMinorOf = (rdev: number): string => {
  const wide = BigInt(rdev);
  const major = ((wide >> 8n) & 0xfffn) | ((wide >> 32n) & ~0xfffn);
  const minor = (wide & 0xffn) | ((wide >> 12n) & ~0xffn);
  return `${major}:${minor & 0xffffffffn}`;
};

const refuseUsed = (disk: DiskFacts): void => {
  const name = `${disk.name} (${disk.serial})`;
  if (disk.is_boot) throw new HostError('blocked', `${name} holds the host's own system.`);
  if (disk.mounts.length > 0) throw new HostError('blocked', `${name} is mounted at ${disk.mounts.join(', ')}.`);
  if (disk.is_swap) throw new HostError('blocked', `${name} is swap space.`);
  if (disk.holders.length > 0) throw new HostError('blocked', `${name} is held by ${disk.holders.join(', ')}.`);
  if ((disk.namespaces ?? 1) > 1)
    throw new HostError('blocked', `${name} has ${disk.namespaces} namespaces, and erasing one reaches the others.`);
};

const findDisk = async (files: Files, run: Run, identity: DiskIdentity): Promise<DiskFacts> => {
  if (!/^\/dev\/disk\/by-id\/[\w.:+-]+$/.test(identity.device))
    throw new HostError('drift', `${identity.device} is no lasting name of a disk.`);
  const disks = await listDisks(files, run);
  const found = disks.filter((disk) => disk.serial === identity.serial);
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

/** A tree of plain files stands in for disks below a root of its own; on a live host only block devices do. */
const refuseOther = async (files: Files, handle: FileHandle, disk: DiskFacts): Promise<void> => {
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
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // File systems in memory know no direct reads; block devices always do.
    if (code === 'EINVAL' && files.root !== '/') return open(join(files.root, path), flags);
    throw new HostError('host_error', `${path} could not be opened (${String(code)}).`, { cause: error });
  }
};

export const openDisk = async (files: Files, run: Run, identity: DiskIdentity): Promise<OpenDisk> => {
  const disk = await findDisk(files, run, identity);
  refuseUsed(disk);
  const handle = await openDirect(files, `/dev/${disk.name}`);
  let isOpen = true;
  const check = async (): Promise<DiskFacts> => {
    if (!isOpen) throw new HostError('host_error', `${identity.serial} is closed.`);
    const now = await findDisk(files, run, identity);
    if (now.major_minor !== disk.major_minor || now.name !== disk.name)
      throw new HostError('drift', `Serial ${identity.serial} was ${disk.name} and is ${now.name} now.`);
    await refuseOther(files, handle, now);
    return now;
  };
  try {
    await refuseOther(files, handle, disk);
  } catch (error) {
    await handle.close();
    throw error;
  }
  const read = directReader(handle, disk.size_bytes);
  return {
    serial: identity.serial,
    major_minor: disk.major_minor ?? '',
    size_bytes: disk.size_bytes,
    wipe: async (method: WipeMethod) => {
      const before = await check();
      refuseUsed(before);
      const done = await wipeDisk(run, handle.fd, method, before);
      await check();
      return done;
    },
    read: async (offset, length) => {
      if (!isOpen) throw new HostError('host_error', `${identity.serial} is closed.`);
      return read(offset, length);
    },
    signatures: async () => {
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
        await handle.close();
      }
    },
  };
};
