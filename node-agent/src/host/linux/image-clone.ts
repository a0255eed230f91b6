/**
 * Copies an image to a disk. The image is opened once and its header checked before anything is written; the disk is
 * the one descriptor that was opened by identity and locked. The tool gets both descriptors and no path. It copies only
 * data, in parallel and in any order; zeros are skipped only on a disk that was verified to be all zeros.
 */
import type { FileHandle } from 'node:fs/promises';
import { type ImageQuestion, inspectImage } from '../../vm/image.ts';
import type { ImageFacts } from '../../vm/image-facts.ts';
import { HostError, type OpenDisk, type Progress } from '../host.ts';
import { actOn } from './open-disk.ts';
import { outputOf, type Run } from './run.ts';

const CLONE_MAX_MS = 120 * 60_000;
const WRITERS = 16;
const DISK = '/proc/self/fd/3';
const IMAGE = '/proc/self/fd/4';

export const inspectFile = async (
  file: FileHandle,
  question: Omit<ImageQuestion, 'file_bytes'>,
): Promise<ImageFacts> => {
  const inspection = inspectImage({ ...question, file_bytes: (await file.stat()).size });
  let step = inspection.next();
  while (step.done !== true) {
    const { offset, length } = step.value;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
    step = inspection.next(buffer.subarray(0, bytesRead));
  }
  return step.value;
};

/** `    (12.34/100%)`, again and again over the same line. */
export const percentsIn = (text: string): readonly number[] =>
  [...text.matchAll(/\((\d+(?:\.\d+)?)\/100%\)/g)].map(([, percent]) => Number(percent));

/** Reports the bytes copied since the start, never decreasing. */
const progressOf = (bytes: number, onProgress: Progress): ((text: string) => void) => {
  const startedAt = performance.now();
  let reported = 0;
  let rest = '';
  return (text) => {
    rest = (rest + text).slice(-100);
    const percent = percentsIn(rest).at(-1) ?? 0;
    if (percent <= reported) return;
    reported = percent;
    const seconds = Math.max(0.001, (performance.now() - startedAt) / 1000);
    onProgress({ percent, bytes_per_s: Math.round(((percent / 100) * bytes) / seconds) });
  };
};

export const cloneImage = async (
  run: Run,
  image: Readonly<{ file: FileHandle; facts: ImageFacts }>,
  to: OpenDisk,
  onProgress: Progress,
  isZero: boolean,
): Promise<void> => {
  const { format, virtual_bytes } = image.facts;
  await actOn(to, async (fd, disk) => {
    if (virtual_bytes > disk.size_bytes)
      throw new HostError('blocked', `The image has ${virtual_bytes} bytes and ${to.serial} ${disk.size_bytes}.`);
    const zero = isZero ? (['--target-is-zero'] as const) : [];
    await outputOf(run, {
      argv: [
        ...(['qemu-img', 'convert', '-p', '-n', '-f', format, '-O', 'raw', '-t', 'none', '-W'] as const),
        ...['-m', String(WRITERS), ...zero, IMAGE, DISK],
      ],
      recorded: 'qemu-img.txt',
      fd: [fd, image.file.fd],
      timeout_ms: CLONE_MAX_MS,
      ends_with_agent: true,
      onOutput: progressOf(virtual_bytes, onProgress),
    });
  });
};
