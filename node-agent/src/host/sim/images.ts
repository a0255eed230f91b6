/**
 * The image cache, and cloning: real data at the start, middle and end of the disk, with a partition table and an ext4
 * superblock in their places. So a guest can detect a bootable disk, and an incomplete wipe is found by reading.
 */
import { createHash } from 'node:crypto';
import type { CachedImage } from '@gpuaas/contract/node';
import { HostError, type ImageName, type Images, type OpenDisk, type Progress } from '../host.ts';
import { makeRoom } from '../image-room.ts';
import type { Core } from './core.ts';
import { blockOf } from './disk-table.ts';
import type { OpenDrives } from './disks.ts';
import { hexOf } from './identity.ts';
import { EXT4_MAGIC, FIRST_PARTITION, GPT_MAGIC } from './signature.ts';

const CHUNK = 64 * 1024;
const IMAGE_BYTES = 4 * 1024 ** 3;
const STEPS = 4;
/** The parts of an image do not overlap. */
const LEAST_DISK_BYTES = FIRST_PARTITION + 2 * CHUNK;

/** A name always means the same image. */
export const digestOf = (name: string): string => `sha256:${hexOf(64, 'image', name)}`;

/** The content of an image at a place: never zero, different for every image and place. */
export const imageBytes = (digest: string, place: number): Buffer => {
  const line = createHash('sha512')
    .update(`${digest}\0${place}`)
    .digest()
    .map((byte) => byte | 1);
  return Buffer.concat(Array.from({ length: CHUNK / line.length }, () => line));
};

const piecesOf = (digest: string, size: number): ReadonlyArray<Readonly<{ offset: number; bytes: Buffer }>> => {
  const start = imageBytes(digest, 0);
  GPT_MAGIC.bytes.copy(start, GPT_MAGIC.offset);
  const partition = imageBytes(digest, 1);
  EXT4_MAGIC.bytes.copy(partition, EXT4_MAGIC.offset);
  const end = imageBytes(digest, 3);
  GPT_MAGIC.bytes.copy(end, CHUNK - 512);
  const middle = Math.floor(size / 2 / CHUNK) * CHUNK;
  return [
    { offset: 0, bytes: start },
    { offset: FIRST_PARTITION, bytes: partition },
    { offset: middle, bytes: imageBytes(digest, 2) },
    { offset: size - CHUNK, bytes: end },
  ];
};

/** The number of running clones of each image; a dead process has none. */
const cloningOf = new WeakMap<Core, Map<string, number>>();
const cloningOn = (core: Core): Map<string, number> => {
  const found = cloningOf.get(core) ?? new Map<string, number>();
  cloningOf.set(core, found);
  return found;
};

const findCached = (images: readonly CachedImage[], image: ImageName): CachedImage | undefined =>
  images.find((one) => (image.digest === null ? one.name === image.name : one.digest === image.digest));

/** The least recently used images are evicted; on a full file system this does not help. */
const ensureRoom = (core: Core, image: ImageName): void => {
  const { images } = core.store.read();
  const used = images.reduce((sum, one) => sum + one.size_bytes, 0);
  const missing = used + IMAGE_BYTES - core.profile.image_cache_bytes;
  const cloning = cloningOn(core);
  const going =
    core.fault('image_cache_full') === undefined
      ? makeRoom(images, { missing_bytes: missing, is_needed: (digest) => cloning.has(digest) })
      : null;
  if (going === null)
    throw new HostError('no_space', `The image cache has no room for ${image.name}; evict an image first.`);
  if (going.length > 0)
    core.store.change((state) => {
      state.images = state.images.filter(({ digest }) => !going.includes(digest));
    });
};

const pull = async (core: Core, image: ImageName, onProgress: Progress, isLie: boolean): Promise<CachedImage> => {
  const cached = findCached(core.store.read().images, image);
  if (cached !== undefined) return cached;
  ensureRoom(core, image);
  for (let step = 1; step <= STEPS; step++) {
    await core.pause(core.durations.pull_ms / STEPS);
    onProgress({ percent: (step / STEPS) * 100, bytes_per_s: rate(IMAGE_BYTES, core.durations.pull_ms) });
  }
  const expected = image.digest ?? digestOf(image.name);
  // The fetched data is not the requested image: the digest differs, and nothing is kept.
  if (isLie)
    throw new HostError('bad_image', `${image.name} was fetched as ${digestOf('another')}, not as ${expected}.`);
  const verified_at = core.now().toISOString();
  const added = { digest: expected, name: image.name, size_bytes: IMAGE_BYTES, verified_at };
  return core.store.change((state) => {
    const already = findCached(state.images, { name: image.name, digest: expected });
    if (already === undefined) state.images.push(added);
    return already ?? added;
  });
};

const rate = (bytes: number, ms: number): number | null => (ms === 0 ? null : Math.round(bytes / (ms / 1000)));

const used = (core: Core, digest: string): void =>
  core.store.change((state) => {
    const image = state.images.find((one) => one.digest === digest);
    if (image !== undefined) image.last_used_at = core.now().toISOString();
  });

const getUsable = (core: Core, image: ImageName, diskBytes: number): CachedImage => {
  const cached = findCached(core.store.read().images, image);
  if (cached === undefined)
    throw new HostError('bad_image_cache', `${image.name} is not in the image cache; pull it first.`);
  if (core.fault('image_cache_damaged') !== undefined) {
    core.store.change((state) => {
      state.images = state.images.filter(({ digest }) => digest !== cached.digest);
    });
    throw new HostError('bad_image_cache', `${image.name} could not be read in the image cache; it was removed.`);
  }
  if (diskBytes < LEAST_DISK_BYTES)
    throw new HostError(
      'blocked',
      `the image is refused: it is a disk of ${LEAST_DISK_BYTES} bytes, and the disk has ${diskBytes}`,
    );
  return cached;
};

const clone = async (core: Core, image: ImageName, to: OpenDisk, onProgress: Progress, isLie: boolean) => {
  const cached = getUsable(core, image, to.size_bytes);
  const cloning = cloningOn(core);
  cloning.set(cached.digest, (cloning.get(cached.digest) ?? 0) + 1);
  try {
    return await writePieces(core, cached, to, onProgress, isLie);
  } finally {
    const left = (cloning.get(cached.digest) ?? 1) - 1;
    if (left === 0) cloning.delete(cached.digest);
    else cloning.set(cached.digest, left);
    used(core, cached.digest);
  }
};

const writePieces = async (core: Core, cached: CachedImage, to: OpenDisk, onProgress: Progress, isLie: boolean) => {
  const block = blockOf(core, to.serial);
  const pieces = piecesOf(cached.digest, block.size_bytes);
  let written = 0;
  for (const [index, { offset, bytes }] of pieces.entries()) {
    await core.pause(core.durations.clone_ms / pieces.length);
    // Queries the open disk, which reports whether it is still the same one.
    await to.read(offset, 0);
    if (!isLie) await block.write(offset, bytes);
    written += bytes.length;
    onProgress({
      percent: Math.round(((index + 1) / pieces.length) * 100),
      bytes_per_s: rate(IMAGE_BYTES, core.durations.clone_ms),
    });
  }
  return { bytes_written: written, digest: cached.digest };
};

export const createImages = (core: Core, opened: OpenDrives): Images => ({
  list: () => core.act('images.list', [], () => core.store.read().images),
  pull: (image, onProgress) => core.act('images.pull', [], (isLie) => pull(core, image, onProgress, isLie)),
  verify: (digest) =>
    core.act('images.verify', [], (isLie) => {
      const image = core.store.read().images.find((one) => one.digest === digest);
      if (image === undefined) throw new HostError('bad_image_cache', `${digest} is not in the image cache.`);
      core.store.change((state) => {
        if (isLie) state.images = state.images.filter((one) => one.digest !== digest);
        for (const one of state.images) if (one.digest === digest) one.verified_at = core.now().toISOString();
      });
      return { is_intact: !isLie, size_bytes: image.size_bytes };
    }),
  evict: (digest) =>
    core.act('images.evict', [], () => {
      if (cloningOn(core).has(digest))
        throw new HostError('conflict', `${digest} is being cloned; evict it afterwards.`);
      return core.store.change((state) => {
        const freed = state.images.filter((image) => image.digest === digest);
        state.images = state.images.filter((image) => image.digest !== digest);
        return { freed_bytes: freed.reduce((sum, image) => sum + image.size_bytes, 0) };
      });
    }),
  check: (image, diskBytes) => core.act('images.check', [], () => void getUsable(core, image, diskBytes)),
  clone: (image, to, onProgress) =>
    core.act('images.clone', [to.serial], (isLie) => {
      if (!opened.has(to)) throw new HostError('conflict', `${to.serial} is not open here.`);
      return clone(core, image, to, onProgress, isLie);
    }),
});
