/**
 * What the boot of a guest does to its data disks where the seed has them formatted: a blank one gets an ext4 superblock
 * of its own, and each ext4 is mounted, as by the commands in the seed of a real VM.
 */
import { randomBytes } from 'node:crypto';
import { DATA_DISK_FOLDER } from '@gpuaas/contract/node';
import { drivesOf } from '../../vm/drives.ts';
import type { VmPlan } from '../host.ts';
import type { Core } from './core.ts';
import { blockOf } from './disk-table.ts';
import { EXT4_MAGIC, signaturesOn } from './signature.ts';

/** A superblock and what precedes it; the UUID tells one file system from the next. */
const SUPERBLOCK_END = 2048;
export const EXT4_UUID = { offset: 1128, length: 16 } as const;

/** The folders with a mounted disk. */
export const setUpDataDisks = async (core: Core, plan: VmPlan['plan']): Promise<string[]> => {
  const mounts: string[] = [];
  for (const [index, slot] of drivesOf(plan).slice(1).entries()) {
    const block = blockOf(core, slot.nvme_serial);
    const start = await block.read(0, SUPERBLOCK_END);
    if (start.every((byte) => byte === 0)) {
      EXT4_MAGIC.bytes.copy(start, EXT4_MAGIC.offset);
      randomBytes(EXT4_UUID.length).copy(start, EXT4_UUID.offset);
      await block.write(0, start);
    }
    if ((await signaturesOn(block)).includes('ext4')) mounts.push(`${DATA_DISK_FOLDER}/${index + 1}`);
  }
  return mounts;
};
