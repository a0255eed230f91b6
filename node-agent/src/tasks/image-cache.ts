/** `image.pull`, `image.evict` and `image.verify`: the image cache of the host. */

import type { TaskHandler } from './task.ts';
import { withinTime } from './task-locks.ts';

export const imagePull: TaskHandler<'image.pull'> = async (ctx, params) => {
  const { digest, size_bytes } = await withinTime(
    ctx.signal,
    `the download of ${params.image.name}`,
    ctx.host.images.pull(params.image, ctx.progress),
  );
  return { digest, size_bytes };
};

export const imageEvict: TaskHandler<'image.evict'> = (ctx, params) =>
  withinTime(ctx.signal, `the removal of ${params.digest}`, ctx.host.images.evict(params.digest));

export const imageVerify: TaskHandler<'image.verify'> = (ctx, params) =>
  withinTime(ctx.signal, `the check of ${params.digest}`, ctx.host.images.verify(params.digest));
