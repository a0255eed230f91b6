/** The lockfile for its readers: `make check` requires digests, `make sbom` lists the installed packages. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../gen/file.ts';

export type LockedPackage = Readonly<{
  name?: string;
  version?: string;
  integrity?: string;
  license?: string;
  link?: boolean;
  dev?: boolean;
  optional?: boolean;
  devOptional?: boolean;
  os?: readonly string[];
  cpu?: readonly string[];
  libc?: readonly string[];
  dependencies?: Readonly<Record<string, string>>;
  optionalDependencies?: Readonly<Record<string, string>>;
  peerDependencies?: Readonly<Record<string, string>>;
}>;

/** By path below the root: '' is the root itself, `server` a workspace, `node_modules/x` a package. */
export type LockedPackages = Readonly<Record<string, LockedPackage>>;

export const readLockfile = async (): Promise<LockedPackages> => {
  const lock: { packages: LockedPackages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'));
  return lock.packages;
};

/** The name of a package by its path: that of the last directory `node_modules`. */
export const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
