/**
 * Profiles in ~/.config/gpuaas/config.toml. The file contains refresh tokens, so it is 0600 in a 0700 directory and
 * refused when others can read it. It is replaced by rename so that a crash never leaves half a file, and changed under
 * a lock so that two concurrent commands do not both use one refresh token.
 */
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse, stringify } from 'smol-toml';
import { CliError } from './exit.ts';
import type { Env } from './io.ts';

export type Profile = Readonly<{
  url?: string;
  organization?: string;
  project?: string;
  /** A fixed API token; the other fields belong to a sign-in that is renewed automatically. */
  token?: string;
  issuer?: string;
  client_id?: string;
  access_token?: string;
  refresh_token?: string;
  expires_at?: string;
  /** The user of the embedded issuer, for a sign-in without a browser. */
  dev_user?: string;
}>;

export type ConfigFile = Readonly<{ default_profile: string; profiles: Readonly<Record<string, Profile>> }>;

const EMPTY: ConfigFile = { default_profile: 'default', profiles: {} };
const KEYS = [
  'url',
  'organization',
  'project',
  'token',
  'issuer',
  'client_id',
  'access_token',
  'refresh_token',
  'expires_at',
  'dev_user',
] as const;

export const configPath = (env: Env): string =>
  join(env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'), 'gpuaas', 'config.toml');

const codeOf = (err: unknown): string | undefined =>
  err instanceof Error && 'code' in err && typeof err.code === 'string' ? err.code : undefined;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What is wrong with the permissions of the file, or null. Windows has no such modes. */
export const permissionProblem = async (path: string): Promise<string | null> => {
  if (process.platform === 'win32') return null;
  const mode = await stat(path).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  );
  return (mode & 0o077) === 0 ? null : `${path} is readable by other users (mode 0${mode.toString(8)}).`;
};

const profileOf = (value: unknown): Profile => {
  if (!isRecord(value)) return {};
  return Object.fromEntries(KEYS.flatMap((key) => (typeof value[key] === 'string' ? [[key, value[key]]] : [])));
};

export const readConfig = async (path: string): Promise<ConfigFile> => {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (err) {
    if (codeOf(err) === 'ENOENT') return EMPTY;
    throw new CliError('failure', `${path} cannot be read: ${codeOf(err) ?? err}.`);
  }
  const problem = await permissionProblem(path);
  if (problem !== null) throw new CliError('auth', problem, `It holds credentials. Run: chmod 600 ${path}`);
  let data: Record<string, unknown>;
  try {
    data = parse(text);
  } catch (err) {
    throw new CliError('failure', `${path} is not TOML: ${err instanceof Error ? err.message.split('\n')[0] : err}`);
  }
  const profiles = isRecord(data['profiles']) ? data['profiles'] : {};
  return {
    default_profile: typeof data['default_profile'] === 'string' ? data['default_profile'] : EMPTY.default_profile,
    profiles: Object.fromEntries(Object.entries(profiles).map(([name, value]) => [name, profileOf(value)])),
  };
};

const LOCK_WAIT_MS = 15_000;
const LOCK_STALE_MS = 60_000;

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (err) {
    return codeOf(err) === 'EPERM';
  }
};

/** A lock whose owner is dead, or that is older than any owner would hold it. */
const isStale = async (lock: string): Promise<boolean> => {
  const [text, found] = await Promise.all([readFile(lock, 'utf8').catch(() => ''), stat(lock).catch(() => null)]);
  if (found === null) return false;
  const age = Date.now() - found.mtimeMs;
  const pid = Number(text);
  return age > LOCK_STALE_MS || (Number.isInteger(pid) && pid > 0 && !isAlive(pid));
};

const withLock = async <T>(path: string, fn: () => Promise<T>): Promise<T> => {
  const lock = `${path}.lock`;
  const deadline = Date.now() + LOCK_WAIT_MS;
  for (;;) {
    try {
      const handle = await open(lock, 'wx', 0o600);
      await handle.writeFile(String(process.pid));
      await handle.close();
      break;
    } catch (err) {
      if (codeOf(err) !== 'EEXIST') throw err;
      if (await isStale(lock)) await rm(lock, { force: true });
      else if (Date.now() > deadline)
        throw new CliError(
          'transient',
          `${path} is in use by another command.`,
          `If no other command is running, remove ${lock}`,
        );
      else await sleep(25);
    }
  }
  try {
    return await fn();
  } finally {
    await rm(lock, { force: true });
  }
};

const write = async (path: string, config: ConfigFile): Promise<void> => {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await writeFile(temporary, stringify(config), { mode: 0o600, flag: 'wx' });
    await chmod(temporary, 0o600);
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
};

/** Reads, changes and replaces the file as one step. `change` may take long (a refresh); other commands wait for it. */
export const updateConfig = async (
  path: string,
  change: (config: ConfigFile) => Promise<ConfigFile> | ConfigFile,
): Promise<ConfigFile> => {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  return withLock(path, async () => {
    const before = await readConfig(path);
    const next = await change(before);
    if (next !== before) await write(path, next);
    return next;
  });
};

export const withProfile = (config: ConfigFile, name: string, profile: Profile): ConfigFile => ({
  ...config,
  profiles: { ...config.profiles, [name]: profile },
});
