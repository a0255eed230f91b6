/** The image cache of a real host, and cloning from it. */
import { HostError, type Images } from '../host.ts';
import { type CacheOptions, cachedOf, type Inspect, openCache, stampOf } from './image-cache.ts';
import { cloneImage, inspectFile } from './image-clone.ts';
import { createImageSource } from './image-source.ts';
import type { Run } from './run.ts';

export type ImagesOptions = CacheOptions &
  Readonly<{
    /** A folder or an http(s) address; without one only what is cached can be used. */
    source?: string;
  }>;

/** Whatever the size of a disk, such an image is none that we take. */
const inspect: Inspect = async (file, { format }) => {
  await inspectFile(file, { declared: format, disk_bytes: Number.MAX_SAFE_INTEGER });
};

export const createImages = (run: Run, options: ImagesOptions): Images => {
  const cache = openCache(options);
  const source = options.source === undefined ? undefined : createImageSource(options.source);
  /** Who asks for what is on its way already waits for it. */
  const pulls = new Map<string, ReturnType<Images['pull']>>();
  return {
    list: async () => (await cache.entries()).map(cachedOf),
    pull: async (name, onProgress) => {
      const cached = await cache.find(name);
      if (cached !== undefined) return cachedOf(cached);
      if (source === undefined)
        throw new HostError('unsupported', `${name.name} is not cached and this host has no source of images.`);
      const image = await source.find(name);
      const key = image.digest;
      const pull = pulls.get(key) ?? cache.add(image, source, inspect, onProgress).then(cachedOf);
      pulls.set(key, pull);
      try {
        return await pull;
      } finally {
        if (pulls.get(key) === pull) pulls.delete(key);
      }
    },
    evict: (digest) => cache.evict(digest),
    clone: async (name, to, onProgress, shown) => {
      const entry = await cache.find(name);
      if (entry === undefined) throw new HostError('drift', `${name.name} is not in the image cache; pull it first.`);
      const file = await cache.openVerified(entry);
      try {
        const facts = await inspectFile(file, { declared: entry.format, disk_bytes: to.size_bytes });
        const before = await stampOf(file);
        await cloneImage(run, { file, facts }, to, onProgress, shown?.is_zero === true);
        if ((await stampOf(file)) !== before)
          throw new HostError('drift', `${entry.name} was changed in the image cache while it was cloned.`);
        return { bytes_written: facts.virtual_bytes, digest: entry.digest };
      } finally {
        await file.close();
      }
    },
  };
};
