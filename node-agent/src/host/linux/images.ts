/** The image cache of a real host, and cloning from it. */
import { HostError, type ImageName, type Images } from '../host.ts';
import { type CacheEntry, type CacheOptions, cachedOf, type Inspect, openCache, stampOf } from './image-cache.ts';
import { cloneImage, inspectFile } from './image-clone.ts';
import { createImageSource } from './image-source.ts';
import type { Run } from './run.ts';

export type ImagesOptions = CacheOptions &
  Readonly<{
    /** A directory or an http(s) URL; without one only cached images can be used. */
    source?: string;
  }>;

/** Larger images are refused, whatever the size of the disk. A refusal here is about the image: no disk is known yet. */
const inspect: Inspect = async (file, { name, format }) => {
  try {
    await inspectFile(file, { declared: format, disk_bytes: Number.MAX_SAFE_INTEGER });
  } catch (cause) {
    if (!(cause instanceof HostError)) throw cause;
    throw new HostError('bad_image', `${name}: ${cause.message}`, { cause });
  }
};

const isDamage = (error: unknown): error is HostError => error instanceof HostError && error.code === 'bad_image_cache';

/** A requested image is about to be cloned. */
const REQUESTED_MS = 10 * 60_000;

export const createImages = (run: Run, options: ImagesOptions): Images => {
  const { now = () => new Date() } = options;
  const requestedAt = new Map<string, number>();
  /** The number of running clones of each. */
  const cloning = new Map<string, number>();
  const isNeeded = (digest: string): boolean =>
    cloning.has(digest) || now().getTime() - (requestedAt.get(digest) ?? Number.NEGATIVE_INFINITY) < REQUESTED_MS;
  const cache = openCache(options, isNeeded);
  const whileCloning = async <T>(digest: string, work: () => Promise<T>): Promise<T> => {
    cloning.set(digest, (cloning.get(digest) ?? 0) + 1);
    try {
      return await work();
    } finally {
      const left = (cloning.get(digest) ?? 1) - 1;
      if (left === 0) cloning.delete(digest);
      else cloning.set(digest, left);
    }
  };
  const source = options.source === undefined ? undefined : createImageSource(options.source);
  /** Concurrent requests for one image share its pull. */
  const pulls = new Map<string, ReturnType<Images['pull']>>();
  /** Open, and checked for a disk of this size. */
  const openFor = async (entry: CacheEntry, disk_bytes: number) => {
    const file = await cache.openVerified(entry);
    try {
      return { file, facts: await inspectFile(file, { declared: entry.format, disk_bytes }) };
    } catch (error) {
      await file.close();
      throw error;
    }
  };
  /** A damaged copy is removed, so that the next pull fetches the image again. */
  const damageOf = async (entry: CacheEntry): Promise<HostError | undefined> => {
    try {
      await (await cache.openVerified(entry)).close();
      return undefined;
    } catch (error) {
      if (!isDamage(error)) throw error;
      return error;
    }
  };
  const getCached = async (name: ImageName): Promise<CacheEntry> => {
    const entry = await cache.find(name);
    if (entry === undefined)
      throw new HostError('bad_image_cache', `${name.name} is not in the image cache; pull it first.`);
    return entry;
  };
  return {
    list: async () => (await cache.entries()).map(cachedOf),
    pull: async (name, onProgress) => {
      const cached = await cache.find(name);
      const damage = cached === undefined ? undefined : await damageOf(cached);
      if (cached !== undefined && damage === undefined) {
        requestedAt.set(cached.digest, now().getTime());
        return cachedOf(cached);
      }
      if (source === undefined && damage !== undefined) throw damage;
      if (source === undefined)
        throw new HostError('unsupported', `${name.name} is not cached and this host has no source of images.`);
      const image = await source.find(name);
      const key = image.digest;
      requestedAt.set(key, now().getTime());
      const pull = pulls.get(key) ?? cache.add(image, source, inspect, onProgress).then(cachedOf);
      pulls.set(key, pull);
      try {
        return await pull;
      } finally {
        if (pulls.get(key) === pull) pulls.delete(key);
      }
    },
    evict: async (digest) => {
      if (cloning.has(digest)) throw new HostError('conflict', `${digest} is being cloned; evict it afterwards.`);
      requestedAt.delete(digest);
      return cache.evict(digest);
    },
    verify: async (digest) => {
      const entry = await cache.find({ name: '', digest });
      if (entry === undefined) throw new HostError('bad_image_cache', `${digest} is not in the image cache.`);
      try {
        await (await cache.openVerified(entry, true)).close();
        return { is_intact: true, size_bytes: entry.size_bytes };
      } catch (error) {
        if (!isDamage(error)) throw error;
        return { is_intact: false, size_bytes: entry.size_bytes };
      }
    },
    check: async (name, diskBytes) => {
      const entry = await getCached(name);
      await whileCloning(entry.digest, async () => (await openFor(entry, diskBytes)).file.close());
    },
    clone: async (name, to, onProgress, shown) => {
      const entry = await getCached(name);
      return whileCloning(entry.digest, async () => {
        const { file, facts } = await openFor(entry, to.size_bytes);
        try {
          const before = await stampOf(file);
          await cloneImage(run, { file, facts }, to, onProgress, shown?.is_zero === true);
          if ((await stampOf(file)) !== before)
            throw new HostError('bad_image_cache', `${entry.name} was changed in the image cache while it was cloned.`);
          await cache.noteUse(entry.digest);
          return { bytes_written: facts.virtual_bytes, digest: entry.digest };
        } finally {
          await file.close();
        }
      });
    },
  };
};
