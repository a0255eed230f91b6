/** What uses each block device: mounts, swap and devices built on it, by device number and name. */
import type { Files } from './files.ts';

export type Mount = Readonly<{ major_minor: string | null; source: string; target: string }>;

/** The kernel writes white space in paths as octal. */
const plain = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

const parseMountinfo = (text: string): Mount[] =>
  text.split('\n').flatMap((line) => {
    const [left = '', right = ''] = line.split(' - ');
    const [, , major_minor, , target] = left.split(' ');
    const [, source] = right.split(' ');
    return major_minor && target && source ? [{ major_minor, target: plain(target), source: plain(source) }] : [];
  });

const parseMounts = (text: string): Mount[] =>
  text.split('\n').flatMap((line) => {
    const [source, target] = line.split(' ');
    return source && target ? [{ major_minor: null, source: plain(source), target: plain(target) }] : [];
  });

/** The first process's view, so that a mount hidden from the agent's own namespace is seen. */
export const readMounts = async (files: Files): Promise<readonly Mount[]> => {
  for (const path of ['/proc/1/mountinfo', '/proc/self/mountinfo']) {
    const text = await files.find(path);
    if (text !== null) return parseMountinfo(text);
  }
  return parseMounts(await files.text('/proc/mounts'));
};

/** A device that the kernel names by a path is identified by its number too: a path can be created anywhere. */
export type Use = Readonly<{ major_minor: string | null; source: string }>;

const useOf = async (files: Files, path: string): Promise<Use> => {
  const source = plain(path);
  return { source, major_minor: await files.findDevice(source) };
};

export const readSwaps = async (files: Files): Promise<readonly Use[]> => {
  const lines = (await files.text('/proc/swaps')).split('\n').slice(1);
  return Promise.all(lines.flatMap((line) => line.split(/\s+/)[0] || []).map((path) => useOf(files, path)));
};

/** A loop device on a disk writes to it, and the kernel does not list it among the disk's holders. */
export const readLoops = async (files: Files): Promise<ReadonlyArray<Use & Readonly<{ name: string }>>> => {
  const names = await files.names('/sys/block', /^loop\d+$/);
  const found = await Promise.all(
    names.map(async (name) => {
      const path = await files.find(`/sys/block/${name}/loop/backing_file`);
      return path === null ? [] : [{ name, ...(await useOf(files, path)) }];
    }),
  );
  return found.flat();
};

const nameOf = (source: string): string => source.split('/').at(-1) ?? source;

/** `names` and `numbers` are those of a disk, its partitions and everything built on them. */
export const isUsing = (mount: Use, names: ReadonlySet<string>, numbers: ReadonlySet<string>): boolean =>
  (mount.major_minor !== null && numbers.has(mount.major_minor)) ||
  (mount.source.startsWith('/dev/') && names.has(nameOf(mount.source)));

const BOOT = new Set(['/', '/boot', '/boot/efi', '/efi', '/usr', '/var']);
export const isBootTarget = (target: string): boolean => BOOT.has(target);
