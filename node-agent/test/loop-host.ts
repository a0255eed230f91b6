/**
 * A host of two halves: disks and images are real on loop devices, everything else is simulated, with the same serials
 * and addresses. So slots are complete, and no rule is relaxed for a computer without GPUs.
 */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WipeMethod } from '@gpuaas/contract/node';
import { type LoopSpec, openLoopHost, openLoopSim } from './composed-open.ts';
import { type LoopDisks, makeLoopDisks } from './loop-disks.ts';

const MIB = 1024 ** 2;

export type LoopHostOptions = Readonly<{
  slots?: number;
  disk_bytes?: number;
  /** Programs that take precedence over the system's own. */
  programs?: Readonly<Record<string, string>>;
  /** The capabilities of the firmware, as `nvme id-ctrl` prints them. */
  id_ctrl?: string;
  wipe_minimum?: WipeMethod;
  /** A directory of images; by default an empty one. */
  source?: string;
}>;

export const makeLoopHost = async (options: LoopHostOptions = {}) => {
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-loop-'));
  const sim = openLoopSim(dir);
  const listed = await sim.disks.list();
  const slots = sim.slots.slice(0, options.slots ?? 2);
  const drives = slots.map(({ serial, nvme }) => ({
    serial,
    address: nvme,
    eui: listed.find((disk) => disk.serial === serial)?.eui ?? '',
    size_bytes: options.disk_bytes ?? 64 * MIB,
  }));
  const disks: LoopDisks = await makeLoopDisks(drives, options.programs, options.id_ctrl);
  const source = options.source ?? join(dir, 'source');
  const cache = join(dir, 'cache');
  await mkdir(cache, { recursive: true });
  const spec: LoopSpec = {
    dir,
    root: disks.root,
    path: disks.path,
    cache,
    source,
    ...(options.wipe_minimum === undefined ? {} : { wipe_minimum: options.wipe_minimum }),
  };
  return {
    dir,
    source,
    cache,
    disks,
    sim,
    spec,
    host: openLoopHost(spec, sim),
    slots: slots.map(({ gpu, vf, module_id, serial }) => ({ gpu, vf, module_id, disk: disks.identityOf(serial) })),
    close: async () => {
      await disks.remove();
      await rm(dir, { recursive: true, force: true });
    },
  };
};

/** Mounts a cache that is too small for any image; the returned function removes it. */
export const fillCache = (cache: string) => {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', cache]);
  return async (): Promise<void> => void execFileSync('umount', [cache]);
};
