/** The directory of all state of `make up`: database, keys, password, logs. Other users cannot list or change it. */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Settings } from './settings.ts';

const MARKER = '.made-by-gpuaas';

export type StatePaths = Readonly<{
  dir: string;
  /** The supervising process, and whether the lab is ready: see run-file.ts. */
  runFile: string;
  postgresDir: string;
  devPassword: string;
  /** The simulated hosts: a directory each. */
  fleetDir: string;
  serverLog: string;
  fleetLog: string;
  /** Output of the supervisor of a detached start. */
  upLog: string;
}>;

export const statePaths = (settings: Settings): StatePaths => ({
  dir: settings.stateDir,
  runFile: join(settings.stateDir, 'up.json'),
  postgresDir: join(settings.stateDir, 'postgres'),
  devPassword: join(settings.stateDir, 'dev-password'),
  fleetDir: join(settings.stateDir, 'fleet'),
  serverLog: join(settings.stateDir, 'log', 'server.log'),
  fleetLog: join(settings.stateDir, 'log', 'fleet.log'),
  upLog: join(settings.stateDir, 'log', 'up.log'),
});

/**
 * As root the database runs as another user, who must pass through this directory to its own: 0711 lets it pass and
 * list nothing. Every file of ours in it is 0600 or below a 0700 directory.
 */
const stateMode = (): number => (process.getuid?.() === 0 ? 0o711 : 0o700);

export const ensureState = (settings: Settings): StatePaths => {
  const paths = statePaths(settings);
  try {
    const isNew = !existsSync(paths.dir) || readdirSync(paths.dir).length === 0;
    mkdirSync(join(paths.dir, 'log'), { recursive: true, mode: 0o700 });
    chmodSync(paths.dir, stateMode());
    if (isNew) writeFileSync(join(paths.dir, MARKER), 'Cleared by `make reset`.\n', { mode: 0o600 });
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM' && code !== 'EROFS') throw err;
    throw new Error(
      `The state directory ${paths.dir} cannot be used (${code}). It may belong to another user: ` +
        'run `make reset` as that user, or set GPUAAS_STATE_DIR to another directory.',
    );
  }
  return paths;
};

/** Made once, so that a restart keeps everyone's sign-in. */
export const ensureDevPassword = (paths: StatePaths): string => {
  if (!existsSync(paths.devPassword))
    writeFileSync(paths.devPassword, `${randomBytes(12).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  return readFileSync(paths.devPassword, 'utf8').trim();
};

/** One earlier log is kept. */
export const rotate = (file: string): void => {
  if (existsSync(file)) renameSync(file, `${file}.1`);
};

export const lastLines = (file: string, count = 20): string =>
  existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n') : '';

/** False when the lab did not create the directory: then it stays. */
export const removeState = (settings: Settings): boolean => {
  if (!settings.isDefaultStateDir && !existsSync(join(settings.stateDir, MARKER))) return false;
  rmSync(settings.stateDir, { recursive: true, force: true });
  return true;
};
