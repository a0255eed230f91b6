/** Signatures on a disk: file systems, partition tables, RAID and LVM members. */
import { join } from 'node:path';
import { HostError } from '../host.ts';
import type { Files } from './files.ts';
import { jsonOf, outputOf, type Run } from './run.ts';

export type Signatures = ReadonlyMap<string, readonly string[]>;

/** `lsblk` as a tree: file systems, partition tables and members of RAID or LVM, by device name. */
export const signaturesOf = (text: string): Signatures => {
  const found = new Map<string, readonly string[]>();
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const one = node as Readonly<Record<string, unknown>>;
    const name = String(one['name'] ?? '').replace(/^\/dev\/(?:mapper\/)?/, '');
    const types = [one['fstype'], one['pttype']].filter((type) => typeof type === 'string' && type !== '') as string[];
    found.set(name, [...new Set([...(found.get(name) ?? []), ...types])]);
    if (Array.isArray(one['children'])) for (const child of one['children']) visit(child);
  };
  const tree = jsonOf(text, 'lsblk') as { blockdevices?: unknown };
  if (!Array.isArray(tree.blockdevices)) throw new HostError('host_error', 'lsblk listed no block devices.');
  for (const node of tree.blockdevices) visit(node);
  return found;
};

/** The signatures on the devices themselves; no output means that there are none. */
export const wipefsTypesOf = (text: string): readonly string[] => {
  if (text.trim() === '') return [];
  const { signatures } = jsonOf(text, 'wipefs') as { signatures?: readonly Readonly<{ type?: string }>[] };
  return (signatures ?? []).map((one) => one.type ?? 'unknown');
};

/**
 * `lsblk` repeats what udev knows, and knows nothing if udev does not run; it can add signatures but never prove that
 * there are none. `wipefs` reads the disk itself. If it fails, only this disk is reported as unreadable.
 */
export const readSignatures = async (
  files: Files,
  run: Run,
  name: string,
  own: readonly string[],
  known: Signatures,
): Promise<Readonly<{ filesystems: string[]; unreadable?: string }>> => {
  const knownTypes = own.flatMap((one) => known.get(one) ?? []);
  try {
    const text = await outputOf(run, {
      argv: ['wipefs', '--no-act', '--json', ...own.map((one) => join(files.root, 'dev', one))],
      recorded: `wipefs-${name}.json`,
    });
    return { filesystems: [...new Set([...wipefsTypesOf(text), ...knownTypes])].sort() };
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    return { filesystems: knownTypes.toSorted(), unreadable: error.message };
  }
};

export const readLsblk = async (run: Run): Promise<Signatures> => {
  try {
    return signaturesOf(
      await outputOf(run, {
        argv: ['lsblk', '--json', '--bytes', '--paths', '--output', 'NAME,TYPE,SIZE,FSTYPE,PTTYPE'],
        recorded: 'lsblk.json',
      }),
    );
  } catch (error) {
    if (error instanceof HostError && error.code === 'unsupported') return new Map();
    throw error;
  }
};
