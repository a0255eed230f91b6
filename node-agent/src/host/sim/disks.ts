/**
 * Opening and wiping disks. A disk is found at its path and accepted only with the right serial; it is refused while
 * the host or a guest may write to it. An open disk that is no longer the same reports so.
 */
import type { WipeMethod } from '@gpuaas/contract/node';
import { type DiskIdentity, type Disks, HostError, type OpenDisk } from '../host.ts';
import type { Core } from './core.ts';
import { blockOf, type Drive, drivesOf, factsOf, holdersOf, mountsOf } from './disk-table.ts';
import { signaturesOn } from './signature.ts';

/** The open disks of this process: an image is written only to a disk that was opened here. */
export type OpenDrives = WeakSet<OpenDisk>;

const getDrive = (core: Core, { serial, device }: DiskIdentity): Drive => {
  const drive = drivesOf(core).find(({ paths }) => paths.includes(device));
  if (drive === undefined) throw new HostError('drift', `There is no disk at ${device}; ${serial} was expected there.`);
  if (drive.serial !== serial) {
    throw new HostError('drift', `${device} is ${drive.serial}, not ${serial}. Nothing was touched.`);
  }
  return drive;
};

export const refuseIfUsed = (core: Core, drive: Drive): void => {
  const refuse = (why: string): never => {
    throw new HostError('blocked', `${drive.device} (${drive.serial}) ${why}.`);
  };
  if (drive.is_boot) refuse('is the boot disk');
  const mounts = mountsOf(core, drive);
  if (mounts.length > 0) refuse(`is mounted at ${mounts.join(', ')}`);
  const holders = holdersOf(core, drive);
  if (holders.length > 0) refuse(`is held by ${holders.join(', ')}`);
  const user = core.store
    .read()
    .domains.find(
      ({ state, plan }) =>
        (state === 'running' || state === 'paused') && plan?.slots.some((slot) => slot.nvme_serial === drive.serial),
    );
  if (user !== undefined) refuse(`is in use by ${user.name}`);
};

const canErase = ({ drive }: Drive, method: WipeMethod): boolean => {
  switch (method) {
    case 'nvme_sanitize':
      return drive.erase.sanitize_block || drive.erase.sanitize_crypto;
    case 'nvme_format':
      return drive.erase.format;
    case 'blkdiscard':
      return drive.erase.discard;
  }
};

/** The status of a disk for a command that it rejects. */
const INVALID_OPCODE = 1;

const openDrive = (core: Core, identity: DiskIdentity, opened: OpenDrives): OpenDisk => {
  const drive = getDrive(core, identity);
  refuseIfUsed(core, drive);
  const block = blockOf(core, drive.serial);
  let isOpen = true;
  const check = (): void => {
    if (!isOpen) throw new HostError('host_error', `${drive.serial} is closed.`);
    const now = drivesOf(core).find(({ serial }) => serial === drive.serial);
    if (now?.major_minor !== drive.major_minor) {
      throw new HostError('drift', `${drive.serial} is no longer ${drive.major_minor}; it was when it was opened.`);
    }
  };
  const touched = [drive.serial, drive.address];
  const disk: OpenDisk = {
    serial: drive.serial,
    major_minor: drive.major_minor,
    size_bytes: block.size_bytes,
    wipe: async (method) => {
      if (!canErase(drive, method)) throw new HostError('unsupported', `${drive.drive.model} cannot ${method}.`);
      return core.act('disks.wipe', touched, async (isLie) => {
        check();
        refuseIfUsed(core, drive);
        await core.pause(core.durations.wipe_ms);
        if (core.fault('wipe_rejected', ...touched) !== undefined) return { command_status: INVALID_OPCODE };
        if (!isLie) await block.erase();
        return { command_status: 0 };
      });
    },
    read: (offset, length) =>
      core.act('disks.read', touched, () => {
        check();
        return block.read(offset, length);
      }),
    signatures: () =>
      core.act('disks.signatures', touched, () => {
        check();
        return signaturesOn(block);
      }),
    close: async () => {
      if (!isOpen) return;
      try {
        check();
      } finally {
        isOpen = false;
        opened.delete(disk);
      }
    },
  };
  opened.add(disk);
  return disk;
};

export const createDisks = (core: Core, opened: OpenDrives): Disks => ({
  list: () => core.act('disks.list', [], () => Promise.all(drivesOf(core).map((drive) => factsOf(core, drive)))),
  open: (identity) => core.act('disks.open', [identity.serial], () => openDrive(core, identity, opened)),
});
