/**
 * A real PostgreSQL for laptops and tests, run as a child of this process and reached by a socket that only its owner
 * (and root) may open.
 *
 * One cluster has one owner: the process that started it, named on the postmaster's command line. A postmaster whose
 * owner was killed is stopped and started again; one whose owner is running is left alone and reported.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, constants, existsSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { findProcessIdentity, type Log, pause } from '@gpuaas/kit';
import { Client } from 'pg';
import { findHome, type Placement, place, placeSocketDir, removePlacement } from './placement.ts';
import { clearStaleLock, killPostmaster, stopOrphan } from './postmaster.ts';

export type EmbeddedPostgresOptions = Readonly<{
  /** Directory for the cluster and its log; created when missing. */
  dataDir: string;
  /** Created when missing; the returned URL is its URL. */
  database?: string;
  /** `throwaway` trades durability for speed: for disposable data. */
  durability?: 'safe' | 'throwaway';
  log?: Log;
  /** Where root places a cluster that its unprivileged user could not reach. */
  outsideDir?: string;
}>;

export type EmbeddedPostgres = Readonly<{
  url: string;
  pid: number;
  logFile: string;
  /** Settles when the postmaster ends, for any reason. */
  exited: Promise<void>;
  /** Ends sessions, writes everything to disk and returns when the process has ended. Safe to call twice. */
  stop(): Promise<void>;
  /**
   * For `exit` handlers, which cannot wait: ends it immediately without writing to disk, and removes a throwaway's
   * files.
   */
  abandon(): void;
}>;

const OWNER = 'gpuaas';
const READY_WITHIN_MS = 60_000;
const FAST_STOP_WITHIN_MS = 20_000;
const IMMEDIATE_STOP_WITHIN_MS = 5_000;
const MINIMAL_ENV = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
const THROWAWAY = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];

const lastLines = (file: string, count = 15): string =>
  existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n') : '';

/** Created elsewhere and renamed, so that a cluster is complete or absent. */
const initCluster = (placement: Placement): void => {
  const { data, binaries, runAs } = placement;
  const aside = `${data}.${process.pid}`;
  rmSync(aside, { recursive: true, force: true });
  const args = ['-D', aside, '-U', OWNER, '-A', 'trust', '--no-sync', '--encoding=UTF8', '--lc-messages=C'];
  const locale = process.platform === 'darwin' ? 'C' : 'C.UTF-8';
  const result = spawnSync(join(binaries.dir, 'bin', 'initdb'), [...args, `--locale=${locale}`], {
    ...runAs,
    cwd: '/',
    env: MINIMAL_ENV,
    encoding: 'utf8',
  });
  if (result.status !== 0) {
    rmSync(aside, { recursive: true, force: true });
    throw new Error(`initdb failed: ${result.error?.message ?? (result.stderr.trim() || result.stdout.trim())}`);
  }
  try {
    renameSync(aside, data);
  } catch (err) {
    // Another process created it in the meantime; PostgreSQL's own lock decides whose postmaster wins.
    rmSync(aside, { recursive: true, force: true });
    if (!existsSync(join(data, 'PG_VERSION'))) throw err;
  }
};

const ensureCluster = (placement: Placement): void => {
  const versionFile = join(placement.data, 'PG_VERSION');
  if (!existsSync(versionFile)) {
    initCluster(placement);
    return;
  }
  const found = readFileSync(versionFile, 'utf8').trim();
  const major = placement.binaries.version.split('.')[0];
  if (found !== major)
    throw new Error(`${placement.data} was made by PostgreSQL ${found}, this is ${major}; \`make reset\` clears it.`);
};

const connect = async (url: string): Promise<Client> => {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
};

const ensureDatabase = async (urlOf: (database: string) => string, database: string): Promise<void> => {
  const client = await connect(urlOf('postgres'));
  try {
    const found = await client.query('select from pg_database where datname = $1', [database]);
    if (found.rowCount === 0) await client.query(`create database ${client.escapeIdentifier(database)}`);
  } finally {
    await client.end();
  }
};

const hasEnded = (child: ChildProcess): boolean =>
  child.pid === undefined || child.exitCode !== null || child.signalCode !== null;

const waitUntilReady = async (url: string, child: ChildProcess): Promise<void> => {
  const deadline = Date.now() + READY_WITHIN_MS;
  for (;;) {
    try {
      return await (await connect(url)).end();
    } catch (err) {
      if (hasEnded(child)) throw new Error('it ended at once', { cause: err });
      if (Date.now() > deadline) throw new Error(`no answer within ${READY_WITHIN_MS / 1000} s`, { cause: err });
      await pause(20);
    }
  }
};

const stopChild = async (child: ChildProcess, exited: Promise<void>): Promise<void> => {
  const gone = new AbortController();
  void exited.then(() => gone.abort());
  const steps = [
    ['SIGINT', FAST_STOP_WITHIN_MS],
    ['SIGQUIT', IMMEDIATE_STOP_WITHIN_MS],
    ['SIGKILL', IMMEDIATE_STOP_WITHIN_MS],
  ] as const;
  for (const [signal, withinMs] of steps) {
    if (hasEnded(child)) return;
    child.kill(signal);
    await pause(withinMs, gone.signal);
  }
};

const spawnPostmaster = (placement: Placement, socketDir: string, durability: string): ChildProcess => {
  if (existsSync(placement.logFile)) renameSync(placement.logFile, `${placement.logFile}.1`);
  // Never through a link: the directory belongs to the database's user, and this process may be root.
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
  const log = openSync(placement.logFile, flags, 0o600);
  const settings = [
    'listen_addresses=',
    'unix_socket_permissions=0700',
    'max_connections=200',
    'jit=off',
    'timezone=UTC',
    'log_timezone=UTC',
    `gpuaas.owner_process=${findProcessIdentity(process.pid)}`,
    ...(durability === 'throwaway' ? THROWAWAY : []),
  ];
  try {
    // A session of its own: Ctrl-C in the terminal reaches only this process, which stops it after its users.
    return spawn(
      join(placement.binaries.dir, 'bin', 'postgres'),
      ['-D', placement.data, '-k', socketDir, ...settings.flatMap((setting) => ['-c', setting])],
      { ...placement.runAs, cwd: '/', env: MINIMAL_ENV, stdio: ['ignore', log, log], detached: true },
    );
  } finally {
    closeSync(log);
  }
};

export const startEmbeddedPostgres = async (options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> => {
  const placement = place({ dir: options.dataDir, outsideDir: options.outsideDir });
  ensureCluster(placement);
  await stopOrphan(placement.data, options.log);
  clearStaleLock(placement.data);

  const socket = placeSocketDir(placement);
  const urlOf = (database: string) =>
    `postgresql://${OWNER}@localhost/${encodeURIComponent(database)}?host=${encodeURIComponent(socket.dir)}`;
  const database = options.database ?? OWNER;
  const child = spawnPostmaster(placement, socket.dir, options.durability ?? 'safe');
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  }).then(() => {
    if (socket.temporary) rmSync(socket.dir, { recursive: true, force: true });
  });
  // It must not delay the end of this process; callers that wait use `exited` or `stop`.
  child.unref();
  try {
    await waitUntilReady(urlOf('postgres'), child);
    await ensureDatabase(urlOf, database);
  } catch (err) {
    await stopChild(child, exited);
    throw new Error(
      `The embedded PostgreSQL did not start: ${(err as Error).message}.\n${lastLines(placement.logFile)}`,
      { cause: err },
    );
  }
  const { pid } = child;
  if (pid === undefined) throw new Error('The embedded PostgreSQL has no process id.');
  options.log?.info({ pid, data_dir: placement.data }, 'embedded PostgreSQL is ready');
  let stopping: Promise<void> | undefined;
  return {
    url: urlOf(database),
    pid,
    logFile: placement.logFile,
    exited,
    stop: () => {
      stopping ??= stopChild(child, exited).then(() => exited);
      return stopping;
    },
    abandon: () => {
      killPostmaster(pid);
      if (socket.temporary) rmSync(socket.dir, { recursive: true, force: true });
      if (options.durability === 'throwaway') removePlacement(options.dataDir);
    },
  };
};

/** Stops a cluster that a killed process left behind; throws when the process that started it is running. */
export const stopEmbeddedPostgres = async (dataDir: string, log?: Log): Promise<void> => {
  if (existsSync(dataDir)) await stopOrphan(join(findHome(dataDir), 'data'), log);
};

/** Stops a leftover cluster and removes everything that belonged to it. */
export const removeEmbeddedPostgres = async (dataDir: string, log?: Log): Promise<void> => {
  if (!existsSync(dataDir)) return;
  await stopEmbeddedPostgres(dataDir, log);
  removePlacement(dataDir);
};
