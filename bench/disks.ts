/**
 * Disk operations compared with common tools, on a loop device over a file. `clone` writes an image to a blank disk by
 * the agent, with all its checks, compared with `qemu-img` alone and with a plain copy of every byte. `wipe-verify` is
 * the read-back of a proof, hashed and evaluated, compared with `dd` reading the same ranges past the cache.
 */
import { execFile, execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { OpenDisk } from '../node-agent/src/host/host.ts';
import { rangesOf, readBack } from '../node-agent/src/tasks/read-back.ts';
import { makeRaw, putFile } from '../node-agent/test/image-folder.ts';
import { makeLoopHost } from '../node-agent/test/loop-host.ts';
import { requires } from '../tools/test/requires.ts';
import { interleave, lowerQuarter, round } from './pairs.ts';
import type { Bench, Measurement } from './types.ts';

const MIB = 1024 ** 2;
const DISK_BYTES = 4096 * MIB;
/** The size of a small system image; our extra work does not grow with it. */
const DATA_BYTES = 512 * MIB;
const VERIFY_BYTES = 1024 * MIB;
const CLONE_PAIRS = 9;
const COPY_PAIRS = 3;
const VERIFY_PAIRS = 15;

const run = promisify(execFile);
const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
};
const ms = (value: number): string => `${Math.round(value)} ms`;

const lacks = (): string | false => requires('loop', 'qemu-img', 'sgdisk');

const withLoopHost = async <T>(
  diskBytes: number,
  measure: (made: Awaited<ReturnType<typeof makeLoopHost>>, serial: string) => Promise<T>,
): Promise<T> => {
  const made = await makeLoopHost({ slots: 1, disk_bytes: diskBytes });
  try {
    return await measure(made, made.slots[0]?.disk.serial ?? '');
  } finally {
    await made.close();
  }
};

const withDisk = async <T>(
  { host, disks }: Awaited<ReturnType<typeof makeLoopHost>>,
  serial: string,
  work: (disk: OpenDisk) => Promise<T>,
): Promise<T> => {
  const disk = await host.disks.open(disks.identityOf(serial));
  try {
    return await work(disk);
  } finally {
    await disk.close();
  }
};

/** A disk with a partition table, a file system and incompressible data. */
const makeImage = async (folder: string) => {
  const raw = join(folder, 'image.raw');
  await makeRaw(raw, DISK_BYTES);
  const fill = ['if=/dev/urandom', `of=${raw}`, 'bs=1M', `count=${DATA_BYTES / MIB}`, 'seek=256', 'conv=notrunc'];
  execFileSync('dd', [...fill, 'status=none']);
  const qcow2 = join(folder, 'image.qcow2');
  execFileSync('qemu-img', ['convert', '-f', 'raw', '-O', 'qcow2', raw, qcow2]);
  return { raw, qcow2 };
};

type Clones = Readonly<{ tool: Measurement; copy: Measurement }>;

const measureClone = (): Promise<Clones> =>
  withLoopHost(DISK_BYTES, async (made, serial) => {
    const { raw, qcow2 } = await makeImage(made.dir);
    const image = await putFile(made.source, qcow2, { name: 'bench', format: 'qcow2' });
    await made.host.images.pull(image, () => undefined);
    const cached = join(made.cache, image.digest.replace(':', '-'));
    const device = made.disks.loopOf(serial);
    const onBlank = async (work: () => Promise<unknown>): Promise<number> => {
      await run('blkdiscard', [device]);
      await run('sync', ['--file-system', made.dir]);
      return timed(work);
    };
    const ours = () =>
      onBlank(() =>
        withDisk(made, serial, (disk) => made.host.images.clone(image, disk, () => undefined, { is_zero: true })),
      );
    const fast = ['-n', '--target-is-zero', '-W', '-m', '16', '-t', 'none'];
    const tool = () => onBlank(() => run('qemu-img', ['convert', ...fast, '-f', 'qcow2', '-O', 'raw', cached, device]));
    const copy = () =>
      onBlank(() => run('dd', [`if=${raw}`, `of=${device}`, 'bs=16M', 'oflag=direct', 'conv=fsync', 'status=none']));
    const byTool = await interleave(ours, tool, CLONE_PAIRS, { of: lowerQuarter });
    const byCopy = await interleave(ours, copy, COPY_PAIRS, { of: lowerQuarter });
    await rm(raw);
    const what = `${DATA_BYTES / MIB} MiB of data in a ${DISK_BYTES / MIB} MiB disk`;
    const shared = { name: 'clone' };
    return {
      tool: {
        ...shared,
        ratio: byTool.ratio,
        goal: '<=1.5',
        reference: `${ms(byTool.reference)} by qemu-img convert ${fast.join(' ')}`,
        ours: `${ms(byTool.ours)} to open, clone and close, ${what}`,
        pairs: byTool.pairs,
      },
      copy: {
        ...shared,
        ratio: byCopy.ratio,
        goal: '<=0.35',
        reference: `${ms(byCopy.reference)} by dd of every byte`,
        ours: `${ms(byCopy.ours)} to open, clone and close, ${what}`,
        pairs: byCopy.pairs,
      },
    };
  });

/** By dd's own clock: starting 34 of them is not counted. */
const ddRanges = async (device: string, ranges: ReturnType<typeof rangesOf>): Promise<number> => {
  let spent = 0;
  for (const { offset, length } of ranges) {
    const { stderr } = await run('dd', [
      ...[`if=${device}`, 'of=/dev/null', 'iflag=direct,skip_bytes,count_bytes'],
      ...[`bs=${Math.min(MIB, length)}`, `skip=${offset}`, `count=${length}`],
    ]);
    const seconds = /copied, ([\d.e-]+) s/.exec(stderr)?.[1];
    if (seconds === undefined) throw new Error(`dd said nothing of its time: ${stderr}`);
    spent += Number(seconds) * 1000;
  }
  return spent;
};

const measureVerify = (): Promise<Measurement> =>
  withLoopHost(VERIFY_BYTES, async (made, serial) => {
    const device = made.disks.loopOf(serial);
    // Zeros allocated on the disk below and read from there: a hole would cost nothing.
    await run('dd', ['if=/dev/zero', `of=${device}`, 'bs=16M', 'oflag=direct', 'conv=fsync', 'status=none']).catch(
      (error: Error & { stderr?: string }) => {
        if (!/No space left/.test(error.stderr ?? '')) throw error;
      },
    );
    await run('losetup', ['--direct-io=on', device]);
    return withDisk(made, serial, async (disk) => {
      const ranges = rangesOf(disk.size_bytes);
      const bytes = ranges.reduce((sum, { length }) => sum + length, 0);
      // The signature scan is a separate program, and dd has none.
      const reading = { ...disk, signatures: async () => [] };
      const pairs = await interleave(
        () => timed(() => readBack(reading, { ranges, blocks: new Map() })),
        () => ddRanges(device, ranges),
        VERIFY_PAIRS,
      );
      return {
        name: 'wipe-verify',
        ratio: pairs.ratio,
        goal: '<=1.5',
        reference: `${ms(pairs.reference)} by dd iflag=direct of the same ${ranges.length} places`,
        ours: `${ms(pairs.ours)} to read back, hash and judge ${round(bytes / MIB)} MiB`,
        pairs: pairs.pairs,
      };
    });
  });

/** Both figures come from one set-up. */
let clones: Promise<Clones> | undefined;
const clonePart = (figure: keyof Clones): Bench => ({
  name: 'clone',
  lacks,
  run: async () => {
    clones ??= measureClone();
    return (await clones)[figure];
  },
});

export const diskBenches: readonly Bench[] = [
  clonePart('tool'),
  clonePart('copy'),
  { name: 'wipe-verify', lacks, run: measureVerify },
];
