/**
 * The location and user of an embedded PostgreSQL. PostgreSQL refuses to run as root. Started by root it runs as an
 * unprivileged user, and that user must be able to reach both the programs and the data; a clone in /root or below any
 * closed directory hides them. Then both are placed in a separate directory under /var/lib/gpuaas, and `placement.json`
 * in the requested directory points there, so that the next start and the reset find it. Reachability is tried as that
 * user rather than computed from modes, which ignore access lists.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Binaries, copyBinaries, findBinaries, linkLibraries } from './binaries.ts';

/** Undefined: the user of this process. */
export type RunAs = Readonly<{ uid: number; gid: number }> | undefined;

export type Placement = Readonly<{
  runAs: RunAs;
  /** Holds the cluster, and the programs too if they had to be copied. Owned by the user that PostgreSQL runs as. */
  home: string;
  data: string;
  binaries: Binaries;
  logFile: string;
}>;

export type PlacementOptions = Readonly<{ dir: string; outsideDir?: string | undefined }>;

const OUTSIDE_DIR = '/var/lib/gpuaas';
const POINTER = 'placement.json';
/** The longest socket path that every supported kernel accepts, less the name of the socket itself. */
const SOCKET_DIR_BYTES_MAX = 103 - '/.s.PGSQL.5432'.length;

export const isRoot = (): boolean => process.getuid?.() === 0;

/** initdb looks its user up by id, so the user must have an entry. */
const unprivilegedUser = (): NonNullable<RunAs> => {
  const entries = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const entry = entries.find((fields) => fields[0] === name);
    if (entry) return { uid: Number(entry[2]), gid: Number(entry[3]) };
  }
  throw new Error('PostgreSQL does not run as root, and there is neither a user "postgres" nor a user "nobody".');
};

/** A cluster that exists keeps its owner, whichever user would be picked today. */
const ownerOf = (data: string): RunAs => {
  if (!existsSync(data)) return undefined;
  const { uid, gid } = statSync(data);
  return uid === 0 ? undefined : { uid, gid };
};

const succeedsAs = (runAs: RunAs, file: string, args: readonly string[]): boolean =>
  spawnSync(file, args, { ...runAs, cwd: '/', env: {}, stdio: 'ignore' }).status === 0;

const readPointer = (dir: string): string | undefined => {
  const file = join(dir, POINTER);
  // Only what root wrote is followed: the directory may belong to the database's user.
  if (!isRoot() || !existsSync(file) || lstatSync(file).uid !== 0) return undefined;
  const { home } = JSON.parse(readFileSync(file, 'utf8')) as { home: string };
  return existsSync(home) ? home : undefined;
};

/** Anyone may create directories in a shared place before we do; one that others can change is not trusted. */
const ensureTrustedDir = (dir: string): void => {
  mkdirSync(dir, { recursive: true, mode: 0o711 });
  const { uid, mode } = lstatSync(dir);
  if (!lstatSync(dir).isDirectory() || uid !== 0 || (mode & 0o022) !== 0)
    throw new Error(`${dir} must be a directory of root that only root can write to.`);
  chmodSync(dir, 0o711);
};

const placeOutside = (dir: string, outsideDir: string, runAs: NonNullable<RunAs>): string => {
  ensureTrustedDir(outsideDir);
  const home = mkdtempSync(join(outsideDir, 'postgres-'));
  writeFileSync(join(dir, POINTER), `${JSON.stringify({ home })}\n`, { mode: 0o600 });
  chownSync(home, runAs.uid, runAs.gid);
  if (!succeedsAs(runAs, '/bin/sh', ['-c', `test -w "$1"`, 'sh', home]))
    throw new Error(`User ${runAs.uid} cannot write to ${home}, where the embedded PostgreSQL was to be placed.`);
  return home;
};

const placeHome = (options: PlacementOptions): Readonly<{ home: string; runAs: RunAs }> => {
  const dir = resolve(options.dir);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (!isRoot()) return { home: dir, runAs: undefined };
  const elsewhere = readPointer(dir);
  if (elsewhere !== undefined)
    return { home: elsewhere, runAs: ownerOf(join(elsewhere, 'data')) ?? unprivilegedUser() };
  const runAs = ownerOf(join(dir, 'data')) ?? unprivilegedUser();
  chownSync(dir, runAs.uid, runAs.gid);
  if (succeedsAs(runAs, '/bin/sh', ['-c', `test -w "$1"`, 'sh', dir])) return { home: dir, runAs };
  chownSync(dir, 0, 0);
  return { home: placeOutside(dir, options.outsideDir ?? OUTSIDE_DIR, runAs), runAs };
};

const placeBinaries = (home: string, runAs: RunAs): Binaries => {
  const packaged = findBinaries();
  const linked = linkLibraries(packaged.dir);
  const runs = (binaries: Binaries) => succeedsAs(runAs, join(binaries.dir, 'bin', 'initdb'), ['--version']);
  if (linked && runs(packaged)) return packaged;
  const copy = copyBinaries(packaged, home);
  if (runs(copy)) return copy;
  throw new Error(`The embedded PostgreSQL in ${copy.dir} does not run on this machine; set DATABASE_URL instead.`);
};

export const place = (options: PlacementOptions): Placement => {
  const { home, runAs } = placeHome(options);
  return {
    runAs,
    home,
    data: join(home, 'data'),
    binaries: placeBinaries(home, runAs),
    logFile: join(resolve(options.dir), 'postgres.log'),
  };
};

/** The kernel limits the length of a socket path, and commas separate directories in PostgreSQL's list of them. */
export const placeSocketDir = (placement: Placement): Readonly<{ dir: string; temporary: boolean }> => {
  const beside = join(placement.home, 'socket');
  const temporary = Buffer.byteLength(beside) > SOCKET_DIR_BYTES_MAX || /[,"]/.test(beside);
  const dir = temporary ? mkdtempSync(join(tmpdir(), 'gpuaas-')) : beside;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (placement.runAs) chownSync(dir, placement.runAs.uid, placement.runAs.gid);
  return { dir, temporary };
};

export const findHome = (dir: string): string => readPointer(resolve(dir)) ?? resolve(dir);

/** Removes everything that a placement created, here and outside. The cluster must be stopped. */
export const removePlacement = (dir: string): void => {
  for (const folder of new Set([findHome(dir), resolve(dir)])) rmSync(folder, { recursive: true, force: true });
};
