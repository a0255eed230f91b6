/** The files of a simulated VM: a small tree in memory, so that copies in and out work. It ends with the process. */

type File = { chunks: Buffer; length: number };
export type Files = Readonly<{
  home: string;
  /** From a path as it was typed to one from the root. */
  resolve(path: string): string;
  kind(path: string): 'file' | 'folder' | null;
  size(path: string): number;
  /** Names in a directory, sorted. */
  list(path: string): readonly string[];
  read(path: string, offset?: number, length?: number): Buffer;
  /** False if there is no room or no directory. A write past the end leaves zeros between. */
  write(path: string, offset: number, bytes: Uint8Array): boolean;
  truncate(path: string): boolean;
  makeFolder(path: string): boolean;
  remove(path: string): boolean;
  rename(from: string, to: string): boolean;
}>;

/** Of all files of one VM. */
const ROOM_BYTES = 128 * 1024 ** 2;
const EMPTY = Buffer.alloc(0);

export const createFiles = (username: string): Files => {
  const home = `/home/${username}`;
  const folders = new Set(['/', '/home', home, '/tmp']);
  const files = new Map<string, File>();
  let used = 0;

  const resolve = (path: string): string => {
    const parts: string[] = [];
    const whole = path.startsWith('/') ? path : `${home}/${path.replace(/^~\/?/, '')}`;
    for (const part of whole.split('/')) {
      if (part === '..') parts.pop();
      else if (part !== '' && part !== '.') parts.push(part);
    }
    return `/${parts.join('/')}`;
  };
  const parent = (path: string): string => path.slice(0, path.lastIndexOf('/')) || '/';
  const canHold = (path: string): boolean => folders.has(parent(path)) && !folders.has(path);

  const grow = (file: File, length: number): boolean => {
    if (length <= file.chunks.length) return true;
    // Doubling, so that a file written in small pieces is not copied for each.
    const capacity = Math.max(length, file.chunks.length * 2, 4096);
    if (used + capacity - file.chunks.length > ROOM_BYTES) return false;
    const larger = Buffer.alloc(capacity);
    file.chunks.copy(larger, 0, 0, file.length);
    used += capacity - file.chunks.length;
    file.chunks = larger;
    return true;
  };
  const drop = (path: string): boolean => {
    used -= files.get(path)?.chunks.length ?? 0;
    return files.delete(path);
  };

  return {
    home,
    resolve,
    kind: (path) => (files.has(path) ? 'file' : folders.has(path) ? 'folder' : null),
    size: (path) => files.get(path)?.length ?? 4096,
    list: (path) =>
      [...folders, ...files.keys()]
        .filter((one) => one !== '/' && parent(one) === path)
        .map((one) => one.slice(one.lastIndexOf('/') + 1))
        .sort(),
    read: (path, offset = 0, length = Number.POSITIVE_INFINITY) => {
      const file = files.get(path);
      return file === undefined ? EMPTY : file.chunks.subarray(offset, Math.min(file.length, offset + length));
    },
    write: (path, offset, bytes) => {
      if (!canHold(path)) return false;
      const file = files.get(path) ?? { chunks: EMPTY, length: 0 };
      if (!grow(file, offset + bytes.length)) return false;
      file.chunks.set(bytes, offset);
      file.length = Math.max(file.length, offset + bytes.length);
      files.set(path, file);
      return true;
    },
    truncate: (path) => {
      if (!canHold(path)) return false;
      drop(path);
      files.set(path, { chunks: EMPTY, length: 0 });
      return true;
    },
    makeFolder: (path) => canHold(path) && !files.has(path) && folders.add(path).has(path),
    remove: (path) => {
      if (files.has(path)) return drop(path);
      const isEmpty = ![...folders, ...files.keys()].some((one) => one !== path && parent(one) === path);
      return path !== '/' && isEmpty && folders.delete(path);
    },
    rename: (from, to) => {
      const file = files.get(from);
      if (file === undefined || !canHold(to)) return false;
      if (from === to) return true;
      drop(to);
      files.delete(from);
      files.set(to, file);
      return true;
    },
  };
};
