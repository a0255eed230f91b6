/**
 * The image cache of a host. Data is written to a temporary file and hashed on the way, and gets its name only when
 * digest and size match. The index entry is written last and removed first, so every listed image is complete.
 * Leftovers of a crash are removed before the next pull.
 *
 * An entry records the file's metadata at verification. An unchanged file needs no second hash; a changed one is hashed
 * again before use, and removed if it differs or cannot be read. An entry that cannot be parsed is not listed.
 *
 * Errors distinguish the image from this host: `bad_image` is about the bytes that the source serves, `bad_image_cache` about
 * the file system of the cache.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { CachedImage } from '@gpuaas/contract/node';
import { readIfThere, syncFolder, writeDurably } from '../../control-plane/durable.ts';
import { HostError, type ImageName, type Progress } from '../host.ts';
import { makeRoom } from '../image-room.ts';
import { hexOf, type ImageSource, type SourceImage } from './image-source.ts';

export type CacheEntry = SourceImage &
  Readonly<{ schema: 1; stamp: string; verified_at?: string; last_used_at?: string }>;
export type CacheOptions = Readonly<{
  dir: string;
  /** In total; without it only the space of the file system counts. */
  max_bytes?: number;
  /** Unneeded images are evicted for a pull, the least recently used first. */
  evicts_unused?: boolean;
  now?: () => Date;
}>;
/** Checks the data before it gets a name; throws to refuse it. */
export type Inspect = (file: FileHandle, image: SourceImage) => Promise<void>;

const READ_BYTES = 4 * 1024 * 1024;
const PARTIAL = '.partial';
const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');
const isZero = (bytes: Uint8Array): boolean =>
  bytes[0] === 0 && Buffer.compare(bytes.subarray(1), bytes.subarray(0, -1)) === 0;

/** Changes when the file is written, replaced or gets other permissions. */
export const stampOf = async (file: FileHandle): Promise<string> => {
  const { ino, size, mtimeNs, ctimeNs } = await file.stat({ bigint: true });
  return [ino, size, mtimeNs, ctimeNs].join(' ');
};

const parseEntry = (text: string): readonly CacheEntry[] => {
  try {
    const read = JSON.parse(text) as Partial<CacheEntry> | null;
    return typeof read?.digest === 'string' && typeof read.stamp === 'string' ? [read as CacheEntry] : [];
  } catch {
    return [];
  }
};

/** What fails while it yields is about the source, not about the cache. */
async function* bytesOf(source: ImageSource, image: SourceImage): AsyncGenerator<Uint8Array> {
  try {
    yield* source.open(image);
  } catch (cause) {
    if (cause instanceof HostError) throw cause;
    throw new HostError('host_error', `${image.name} could not be read from its source: ${String(cause)}`, { cause });
  }
}

const hashFile = async (file: FileHandle): Promise<string> => {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  for (let at = 0; ; ) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) return `sha256:${hash.digest('hex')}`;
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
};

/** `isNeeded`: it is being cloned, or about to be. */
export const openCache = (
  { dir, max_bytes, evicts_unused = false, now = () => new Date() }: CacheOptions,
  isNeeded: (digest: string) => boolean = () => false,
) => {
  const blobAt = (digest: string): string => join(dir, `sha256-${hexOf(digest)}`);
  const entryAt = (digest: string): string => `${blobAt(digest)}.json`;

  const entries = async (): Promise<readonly CacheEntry[]> => {
    const names = await readdir(dir).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return [] as string[];
      throw new HostError('bad_image_cache', `The image cache ${dir} could not be read.`, { cause: error });
    });
    const listed = names.filter(
      (name) => /^sha256-[0-9a-f]{64}\.json$/.test(name) && names.includes(name.slice(0, -5)),
    );
    const texts = await Promise.all(listed.sort().map((name) => readIfThere(join(dir, name))));
    // One that was removed since its name was read is not listed.
    return texts.flatMap((text) => (text === undefined ? [] : parseEntry(text)));
  };

  const find = async (image: ImageName): Promise<CacheEntry | undefined> =>
    (await entries()).find((one) => (image.digest === null ? one.name === image.name : one.digest === image.digest));

  const evict = async (digest: string): Promise<Readonly<{ freed_bytes: number }>> => {
    const entry = await find({ name: '', digest });
    await rm(entryAt(digest), { force: true });
    await rm(blobAt(digest), { force: true });
    return { freed_bytes: entry?.size_bytes ?? 0 };
  };

  /** Partial files, and data without an entry; not those that are being written now. */
  const sweep = async (writing: ReadonlySet<string>): Promise<void> => {
    // Names first: an image that completes between the two reads is listed by then. Files being written stay.
    const names = await readdir(dir);
    const before = [...writing];
    const listed = new Set(
      (await entries()).flatMap(({ digest }) => [blobAt(digest), entryAt(digest), `${entryAt(digest)}.new`]),
    );
    for (const name of names) {
      const path = join(dir, name);
      if (
        /^sha256-[0-9a-f]{64}/.test(name) &&
        !listed.has(path) &&
        ![...before, ...writing].some((one) => path.startsWith(one))
      )
        await rm(path, { force: true });
    }
  };

  /** The size on disk, where holes take nothing: the space that its removal frees. */
  const takenBy = async ({ digest }: CacheEntry): Promise<number> => {
    const found = await stat(blobAt(digest)).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return { blocks: 0 };
      throw new HostError('bad_image_cache', `The image cache ${dir} could not be read.`, { cause: error });
    });
    return found.blocks * 512;
  };

  const ensureRoom = async (image: SourceImage): Promise<void> => {
    const all = await Promise.all((await entries()).map(async (one) => ({ ...one, size_bytes: await takenBy(one) })));
    const used = all.reduce((sum, one) => sum + one.size_bytes, 0);
    const { bavail, bsize } = await statfs(dir);
    const room = Math.min(bavail * bsize, max_bytes === undefined ? Number.POSITIVE_INFINITY : max_bytes - used);
    if (image.size_bytes <= room) return;
    const going = evicts_unused ? makeRoom(all, { missing_bytes: image.size_bytes - room, is_needed: isNeeded }) : null;
    for (const digest of going ?? []) await evict(digest);
    if (going === null)
      throw new HostError(
        'no_space',
        `The image cache has room for ${Math.max(0, room)} bytes and ${image.name} has ${image.size_bytes}; evict an image first.`,
      );
  };

  /** Zeros are skipped: an image is mostly empty and stays sparse here. */
  const receive = async (
    file: FileHandle,
    image: SourceImage,
    source: ImageSource,
    onProgress: Progress,
  ): Promise<void> => {
    const hash = createHash('sha256');
    const startedAt = performance.now();
    let at = 0;
    for await (const chunk of bytesOf(source, image)) {
      if (at + chunk.length > image.size_bytes)
        throw new HostError('bad_image', `${image.name} is longer than the ${image.size_bytes} bytes it should have.`);
      const written = isZero(chunk) ? undefined : file.writev([chunk], at);
      hash.update(chunk);
      const { bytesWritten } = (await written) ?? { bytesWritten: chunk.length };
      if (bytesWritten !== chunk.length)
        throw new HostError('no_space', `Only part of image ${image.name} was written.`);
      at += chunk.length;
      onProgress({
        percent: (at / image.size_bytes) * 100,
        bytes_per_s: Math.round(at / Math.max(0.001, (performance.now() - startedAt) / 1000)),
      });
    }
    if (at !== image.size_bytes)
      throw new HostError('bad_image', `${image.name} ended after ${at} of ${image.size_bytes} bytes.`);
    const digest = `sha256:${hash.digest('hex')}`;
    if (digest !== image.digest)
      throw new HostError('bad_image', `${image.name} was fetched as ${digest}, not as ${image.digest}.`);
    await file.truncate(image.size_bytes);
  };

  const fill = async (
    path: string,
    image: SourceImage,
    source: ImageSource,
    inspect: Inspect,
    onProgress: Progress,
  ) => {
    const file = await open(path, 'w+', 0o400);
    try {
      await receive(file, image, source, onProgress);
      await inspect(file, image);
      await file.sync();
    } finally {
      await file.close();
    }
  };

  const stampAt = async (path: string): Promise<string> => {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      return await stampOf(file);
    } finally {
      await file.close();
    }
  };

  const writing = new Set<string>();
  const add = async (
    image: SourceImage,
    source: ImageSource,
    inspect: Inspect,
    onProgress: Progress,
  ): Promise<CacheEntry> => {
    const blob = blobAt(image.digest);
    const partial = `${blob}${PARTIAL}`;
    writing.add(blob);
    try {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      await sweep(writing);
      await ensureRoom(image);
      await fill(partial, image, source, inspect, onProgress);
      await rename(partial, blob);
      await syncFolder(dir);
      const entry = { schema: 1 as const, ...image, stamp: await stampAt(blob), verified_at: now().toISOString() };
      await writeDurably(entryAt(image.digest), JSON.stringify(entry));
      return entry;
    } catch (error) {
      await rm(partial, { force: true });
      await rm(entryAt(image.digest), { force: true });
      await rm(blob, { force: true });
      if (codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT')
        throw new HostError('no_space', `The image cache ran out of room for ${image.name}; evict an image first.`, {
          cause: error,
        });
      if (error instanceof HostError) throw error;
      throw new HostError('bad_image_cache', `${image.name} could not be kept in the image cache: ${String(error)}`, {
        cause: error,
      });
    } finally {
      writing.delete(blob);
    }
  };

  /** Open for reading, with its catalog entry. `isAnew`: hashed even if unchanged. */
  const openVerified = async (entry: CacheEntry, isAnew = false): Promise<FileHandle> => {
    const path = blobAt(entry.digest);
    /** Nothing of it is kept; if even that fails, the next pull reports it. */
    const damaged = async (what: string, cause?: unknown): Promise<never> => {
      await evict(entry.digest).catch(() => undefined);
      throw new HostError('bad_image_cache', `${entry.name} ${what} in the image cache; it was removed.`, { cause });
    };
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch((cause: unknown) =>
      damaged('could not be opened', cause),
    );
    try {
      const stamp = await stampOf(file);
      if (stamp === entry.stamp && !isAnew) return file;
      const digest = await hashFile(file).catch((cause: unknown) => damaged('could not be read', cause));
      if (digest !== entry.digest) await damaged(`is no longer ${entry.digest}`);
      await note({ ...entry, stamp, verified_at: now().toISOString() });
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  };

  const note = (entry: CacheEntry): Promise<void> => writeDurably(entryAt(entry.digest), JSON.stringify(entry));
  const noteUse = async (digest: string): Promise<void> => {
    const entry = await find({ name: '', digest });
    if (entry !== undefined) await note({ ...entry, last_used_at: now().toISOString() });
  };

  return { entries, find, evict, add, openVerified, noteUse };
};

export const cachedOf = ({ digest, name, size_bytes, verified_at, last_used_at }: CacheEntry): CachedImage => ({
  digest,
  name,
  size_bytes,
  ...(verified_at === undefined ? {} : { verified_at }),
  ...(last_used_at === undefined ? {} : { last_used_at }),
});
