/**
 * All access to a host's files, below a root that is `/` on a live host and a directory for a recording. "Not found" and
 * "unreadable" differ: `find…` returns null only for the first, and every other failure throws. Names that begin with a dot
 * are not listed, so that a repository can keep an empty directory.
 */
import { constants } from 'node:fs';
import { open, readdir, readFile, readlink, realpath, stat, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { HostError } from '../host.ts';
import { majorMinorOf } from './device-number.ts';

export type Files = Readonly<{
  root: string;
  /** Without trailing white space. */
  text(path: string): Promise<string>;
  find(path: string): Promise<string | null>;
  findBytes(path: string): Promise<Buffer | null>;
  /** Reads at most this many bytes. */
  findHead(path: string, length: number): Promise<Buffer | null>;
  /** Sorted; only those that match the pattern, if one is given. */
  names(path: string, like?: RegExp): Promise<readonly string[]>;
  findNames(path: string, like?: RegExp): Promise<readonly string[] | null>;
  /** Where a symbolic link points, as written. */
  findLink(path: string): Promise<string | null>;
  /** Where a path leads after all links, as seen from the root. */
  findReal(path: string): Promise<string | null>;
  exists(path: string): Promise<boolean>;
  /** To an existing file, such as one of sysfs. Most of those cannot be opened for reading. */
  write(path: string, text: string): Promise<void>;
  /** The number of the block device that a path resolves to, whatever its name; null for anything else. */
  findDevice(path: string): Promise<string | null>;
}>;

const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'ENODEV', 'ENXIO']);
const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';

const orAbsent = async <T>(path: string, read: () => Promise<T>): Promise<T | null> => {
  try {
    return await read();
  } catch (error) {
    if (ABSENT.has(codeOf(error))) return null;
    throw new HostError('host_error', `${path} could not be read (${codeOf(error)}).`, { cause: error });
  }
};

const readHead = async (path: string, length: number): Promise<Buffer> => {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
};

const required = async <T>(path: string, read: Promise<T | null>): Promise<T> => {
  const value = await read;
  if (value === null) throw new HostError('host_error', `${path} is not there.`);
  return value;
};

export const createFiles = (root = '/'): Files => {
  const at = (path: string): string => join(root, path);
  const findBytes = (path: string): Promise<Buffer | null> => orAbsent(path, () => readFile(at(path)));
  const find = async (path: string): Promise<string | null> =>
    (await findBytes(path))?.toString('utf8').trimEnd() ?? null;
  const findNames = (path: string, like = /./): Promise<readonly string[] | null> =>
    orAbsent(path, async () =>
      (await readdir(at(path))).filter((name) => !name.startsWith('.') && like.test(name)).sort(),
    );
  const findReal = (path: string): Promise<string | null> =>
    orAbsent(path, async () => {
      const [base, real] = await Promise.all([root === '/' ? root : realpath(root), realpath(at(path))]);
      const inside = relative(base, real);
      if (inside === '..' || inside.startsWith(`..${sep}`))
        throw new HostError('host_error', `${path} points outside the recording.`);
      return `/${inside}`;
    });
  return {
    root,
    find,
    findBytes,
    findHead: (path, length) => orAbsent(path, () => readHead(at(path), length)),
    findNames,
    findReal,
    text: (path) => required(path, find(path)),
    names: (path, like) => required(path, findNames(path, like)),
    findLink: (path) =>
      orAbsent(path, async () => {
        try {
          return await readlink(at(path));
        } catch (error) {
          // Not a link.
          if (codeOf(error) === 'EINVAL') return null;
          throw error;
        }
      }),
    exists: async (path) => (await findReal(path)) !== null,
    write: async (path, text) => {
      try {
        await writeFile(at(path), text, { flag: constants.O_WRONLY });
      } catch (error) {
        throw new HostError('host_error', `${path} could not be written (${codeOf(error)}).`, { cause: error });
      }
    },
    findDevice: (path) =>
      orAbsent(path, async () => {
        const found = await stat(path.startsWith(`${root}/`) ? path : at(path));
        return found.isBlockDevice() ? majorMinorOf(found.rdev) : null;
      }),
  };
};

/** A whole number, or an error that quotes the text. */
export const integerOf = (text: string, what: string): number => {
  const value = Number(text.trim());
  if (!Number.isSafeInteger(value)) throw new HostError('host_error', `${what} is not a number: ${text.slice(0, 40)}`);
  return value;
};
