/**
 * A host of two halves: disks and images are Linux's own on loop devices, everything else is simulated, under the same
 * serials and addresses. So slots are complete, and no rule is relaxed for a machine without GPUs.
 */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Subject } from '../src/host/host.contract.ts';
import type { WipeMethod } from '../src/host/host.ts';
import { createLinuxHost } from '../src/host/linux/host.ts';
import { createRun } from '../src/host/linux/run.ts';
import { createSimHost } from '../src/host/sim/sim-host.ts';
import { putImage } from './image-folder.ts';
import { type LoopDisks, makeLoopDisks } from './loop-disks.ts';

const MIB = 1024 ** 2;

export type LoopHostOptions = Readonly<{
  slots?: number;
  disk_bytes?: number;
  /** Programs that stand in front of the machine's own. */
  programs?: Readonly<Record<string, string>>;
  /** What the firmware says of itself, as `nvme id-ctrl` prints it. */
  id_ctrl?: string;
  wipe_minimum?: WipeMethod;
  /** A folder of images; else an empty one of its own. */
  source?: string;
}>;

export const makeLoopHost = async (options: LoopHostOptions = {}) => {
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-loop-'));
  const sim = createSimHost({ dir: join(dir, 'sim'), name: 'j22u15', profile: 'dell-xe9680-h200' });
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
  const linux = createLinuxHost({
    root: disks.root,
    run: createRun(disks.path),
    images: { dir: cache, source },
    ...(options.wipe_minimum === undefined ? {} : { wipe_minimum: options.wipe_minimum }),
  });
  const { during: _, ...rest } = sim;
  return {
    dir,
    source,
    cache,
    disks,
    sim,
    host: {
      ...rest,
      disks: linux.disks,
      images: linux.images,
      ...(options.wipe_minimum === undefined ? {} : { wipe_minimum: options.wipe_minimum }),
    },
    slots: slots.map(({ gpu, vf, module_id, serial }) => ({ gpu, vf, module_id, disk: disks.identityOf(serial) })),
    close: async () => {
      await disks.remove();
      await rm(dir, { recursive: true, force: true });
    },
  };
};

const SUBJECT_BYTES = 16 * MIB;
let shared: Promise<string> | undefined;

/** Made once a process, and as large as a drive, so that its partition table ends where the drive does. */
const sharedImages = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'gpuaas-images-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  await putImage(folder, { name: 'debian-12', size_bytes: SUBJECT_BYTES });
  return folder;
};

export const loopSubject = async (): Promise<Subject> => {
  shared ??= sharedImages();
  const made = await makeLoopHost({ disk_bytes: SUBJECT_BYTES, source: await shared });
  const { disks, cache } = made;
  return {
    host: made.host,
    image: 'debian-12',
    slots: made.slots,
    arrange: {
      mount: disks.mount,
      hold: disks.hold,
      write: disks.write,
      fillImageCache: async () => {
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', cache]);
        disks.onRemove(() => execFileSync('umount', [cache]));
      },
    },
    close: made.close,
  };
};
