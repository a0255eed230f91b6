/**
 * Uses an image from the cache of this host. A damaged copy is fetched again once, so that it fails no task. If the
 * fresh copy cannot be used either, the cache of this host is at fault, and the task fails with `bad_image_cache`.
 */
import type { TaskOutput } from '@gpuaas/contract/node';
import { HostError, type ImageName, type OpenDisk } from '../host/host.ts';
import type { TaskContext } from './task.ts';
import type { Act } from './task-locks.ts';

type Copy = Readonly<{ image: ImageName; disk: OpenDisk }>;

/** From the cache if it is there. A VM's disk is only opened for an image that the host has and has checked. */
export const pullImage = async (ctx: TaskContext, act: Act, asked: ImageName): Promise<ImageName> => {
  const { digest } = await act(
    `the download of ${asked.name}`,
    ctx.host.images.pull(asked, (progress) => ctx.progress({ ...progress, percent: progress.percent / 2 })),
  );
  return { name: asked.name, digest };
};

const withFreshCopy = async <T>(
  ctx: TaskContext,
  act: Act,
  image: ImageName,
  use: (isAgain: boolean) => Promise<T>,
): Promise<T> => {
  try {
    return await use(false);
  } catch (err) {
    if (!(err instanceof HostError) || err.code !== 'bad_image_cache' || ctx.signal.aborted) throw err;
    ctx.log.warn({ image: image.name, err }, 'cached image damaged; fetching it again');
    await pullImage(ctx, act, image);
    return use(true);
  }
};

export const checkImage = (ctx: TaskContext, act: Act, { image, disk }: Copy): Promise<void> =>
  withFreshCopy(ctx, act, image, () =>
    act(`the check of ${image.name}`, ctx.host.images.check(image, disk.size_bytes)),
  );

/** `is_zero`: the disk was read as zeros. A second copy finds what the first one wrote. */
export const cloneImage = (
  ctx: TaskContext,
  act: Act,
  { image, disk, is_zero }: Copy & Readonly<{ is_zero: boolean }>,
): Promise<TaskOutput<'slice.image_clone'>> =>
  withFreshCopy(ctx, act, image, (isAgain) =>
    act(
      `the clone of ${image.name}`,
      ctx.host.images.clone(
        image,
        disk,
        (progress) => ctx.progress({ ...progress, percent: 50 + progress.percent / 2 }),
        { is_zero: is_zero && !isAgain },
      ),
    ),
  );
