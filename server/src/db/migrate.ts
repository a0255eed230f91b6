/**
 * Forward-only migrations: numbered SQL files, each recorded with its digest. A file that changed after it was applied
 * is refused: history is not edited. Several processes may start at once; one migrates.
 *
 * A running control plane is not stopped by them. A statement that waits for a lock makes every later query of that
 * table wait behind it, so the wait is short and the file is tried again. Nothing here waits without a limit but a
 * statement that does its work.
 */
import { backoffMs, type Log, pause } from '@gpuaas/kit';
import type { Client, QueryConfig } from 'pg';
import { connectOnce } from './database-url.ts';
import { sqlState } from './errors.ts';
import {
  findLate,
  findMisnumbered,
  hasTransaction,
  type Migration,
  readMigrations,
  type Statement,
  statementsOf,
} from './migration-file.ts';

export const APP_ROLE = 'gpuaas_app';
/** Of the connection that migrates: the worker never ends it. */
export const MIGRATION_APPLICATION = 'gpuaas-migrate';
const LOCK_KEY = 4_752_001;
const SERVER_VERSION_MIN = 150_000;

export type MigrateOptions = Readonly<{
  url: string;
  log: Log;
  dir?: string;
  /** How long one attempt of a file waits for a lock. */
  lock_timeout_ms?: number;
  /** How often a file is tried whose lock another transaction holds. */
  attempts_max?: number;
  /** How long another process may take that migrates at the same time. */
  turn_within_ms?: number;
}>;

type Limits = Required<Pick<MigrateOptions, 'lock_timeout_ms' | 'attempts_max' | 'turn_within_ms'>>;

const LIMITS: Limits = { lock_timeout_ms: 3_000, attempts_max: 20, turn_within_ms: 600_000 };
/** Building an index waits for the transactions that began before it, and blocks no one meanwhile. */
const BUILD_LOCK_FACTOR = 20;
const RETRY = { baseMs: 500, capMs: 5_000 };
const LOOK_AGAIN_MS = 200;
/** The work itself has no limit. A connection that is lost ends by its keepalive, on both ends. */
const WORK_MS = 2 ** 31 - 1;
const KEEPALIVE = {
  keepAliveInitialDelayMillis: 10_000,
  options: '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3',
};

const work = (client: Client, text: string) => client.query({ text, query_timeout: WORK_MS } as QueryConfig);

/**
 * Roles belong to the cluster, not the database, so several databases may race to create this one. From PostgreSQL 16
 * on membership does not include the right to switch to a role, so that right is checked.
 */
const ensureAppRole = (client: Client) =>
  client.query(`do $$ declare may text := case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end; begin
    begin
      if not exists (select from pg_roles where rolname = '${APP_ROLE}') then create role ${APP_ROLE} nologin; end if;
    exception when duplicate_object or unique_violation then null;
    end;
    if not pg_has_role(current_user, '${APP_ROLE}', may) then execute format('grant ${APP_ROLE} to %I', current_user); end if;
  end $$`);

const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;

/** Asked again and again: a query that waits has a snapshot, for which an index that is being built waits in turn. */
const takeTurn = async (client: Client, log: Log, withinMs: number): Promise<void> => {
  const deadline = performance.now() + withinMs;
  for (let asked = 0; ; asked++) {
    const { rows } = await client.query<{ is_mine: boolean }>('select pg_try_advisory_lock($1) as is_mine', [LOCK_KEY]);
    if (rows[0]?.is_mine) return;
    if (asked === 0) log.info('another process migrates; waiting for it');
    if (performance.now() > deadline) {
      const holder = await client.query<{ pid: number }>(
        "select pid from pg_locks where locktype = 'advisory' and granted and objid = $1 and database = (select oid from pg_database where datname = current_database())",
        [LOCK_KEY],
      );
      throw new Error(
        `Another process has been migrating this database for ${seconds(withinMs)} (database session ${holder.rows.map(({ pid }) => pid).join(', ') || 'ended'}). Read its log. If it hangs, end its session with pg_terminate_backend and start again.`,
      );
    }
    await pause(LOOK_AGAIN_MS);
  }
};

type OpenTransaction = Readonly<{ pid: number; usename: string; state: string; age_s: number }>;

const listOpenTransactions = async (client: Client): Promise<string> => {
  const { rows } = await client.query<OpenTransaction>(
    `select pid, usename, state, extract(epoch from clock_timestamp() - xact_start)::int as age_s from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
     order by xact_start limit 3`,
  );
  const sessions = rows.map(
    ({ pid, usename, state, age_s }) => `session ${pid} of ${usename}, ${state} for ${age_s} s`,
  );
  return sessions.length === 0 ? 'none is open now' : sessions.join('; ');
};

/** Another transaction had the lock for too long, or each waited for the other. */
const isLocked = (err: unknown): boolean => ['55P03', '40P01'].includes(sqlState(err) ?? '');

const withLockRetries = async (
  client: Client,
  { name, log, limits }: Readonly<{ name: string; log: Log; limits: Limits }>,
  apply: () => Promise<void>,
): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await apply();
    } catch (err) {
      if (!isLocked(err)) throw err;
      const open = await listOpenTransactions(client);
      if (attempt >= limits.attempts_max)
        throw new Error(
          `Migration ${name} did not get its lock in ${attempt} attempts of ${seconds(limits.lock_timeout_ms)}. The oldest transactions: ${open}. Let them end, or end them with pg_terminate_backend, then migrate again. Files before it are applied.`,
          { cause: err },
        );
      log.warn({ migration: name, attempt, open_transactions: open }, 'migration waits for a lock; trying again');
      await pause(backoffMs(attempt, RETRY));
    }
  }
};

const recordApplied = (client: Client, { name, sha256 }: Migration) =>
  client.query('insert into schema_migrations (name, sha256) values ($1, $2)', [name, sha256]);

const setLockTimeout = (client: Client, ms: number) =>
  client.query("select set_config('lock_timeout', $1, false)", [String(ms)]);

const applyInTransaction = async (client: Client, migration: Migration): Promise<void> => {
  await client.query('begin');
  try {
    await work(client, migration.sql);
    await recordApplied(client, migration);
    await client.query('commit');
  } catch (err) {
    await client.query('rollback').catch(() => {});
    throw err;
  }
};

/** An attempt that failed leaves an invalid index, which is removed; a valid one was built before the interruption. */
const build = async (client: Client, { sql, index }: Statement): Promise<void> => {
  if (index !== undefined) {
    const { rows } = await client.query<{ is_valid: boolean }>(
      'select indisvalid as is_valid from pg_index where indexrelid = to_regclass($1)',
      [index],
    );
    if (rows[0]?.is_valid) return;
    if (rows[0] !== undefined) await work(client, `drop index concurrently ${client.escapeIdentifier(index)}`);
  }
  await work(client, sql);
};

const applyEach = async (client: Client, migration: Migration): Promise<void> => {
  for (const statement of statementsOf(migration)) await build(client, statement);
  await recordApplied(client, migration);
};

const applyOne = (client: Client, migration: Migration, log: Log, limits: Limits): Promise<void> => {
  const lock_timeout_ms = limits.lock_timeout_ms * (hasTransaction(migration.sql) ? 1 : BUILD_LOCK_FACTOR);
  const apply = hasTransaction(migration.sql) ? applyInTransaction : applyEach;
  return withLockRetries(client, { name: migration.name, log, limits: { ...limits, lock_timeout_ms } }, async () => {
    await setLockTimeout(client, lock_timeout_ms);
    await apply(client, migration);
  });
};

const listFresh = async (client: Client, files: readonly Migration[]): Promise<readonly Migration[]> => {
  const { rows } = await client.query<{ name: string; sha256: string }>('select name, sha256 from schema_migrations');
  const done = new Map(rows.map((row) => [row.name, row.sha256]));
  for (const { name, sha256 } of files)
    if (done.has(name) && done.get(name) !== sha256)
      throw new Error(`Migration ${name} was changed after it was applied; add a new one instead.`);
  const late = findLate(
    files.map(({ name }) => name),
    new Set(done.keys()),
  );
  if (late !== undefined) throw new Error(late);
  return files.filter(({ name }) => !done.has(name));
};

export const migrate = async (options: MigrateOptions): Promise<readonly string[]> => {
  const { dir, url, log, ...given } = options;
  const limits: Limits = { ...LIMITS, ...given };
  const files = await readMigrations(dir);
  const misnumbered = findMisnumbered(files.map(({ name }) => name));
  if (misnumbered !== undefined) throw new Error(misnumbered);
  const client = await connectOnce(url, { ...KEEPALIVE, application_name: MIGRATION_APPLICATION });
  try {
    const version = await client.query<{ v: number }>("select current_setting('server_version_num')::int as v");
    if ((version.rows[0]?.v ?? 0) < SERVER_VERSION_MIN) throw new Error('PostgreSQL 15 or newer is needed.');
    await takeTurn(client, log, limits.turn_within_ms);
    await setLockTimeout(client, limits.lock_timeout_ms);
    await ensureAppRole(client);
    await client.query(`create table if not exists schema_migrations
      (name text primary key, sha256 text not null, applied_at timestamptz not null default now())`);
    await client.query(`grant select on schema_migrations to ${APP_ROLE}`);
    const fresh = await listFresh(client, files);
    for (const migration of fresh) {
      await applyOne(client, migration, log, limits);
      log.info({ migration: migration.name }, 'migration applied');
    }
    return fresh.map(({ name }) => name);
  } finally {
    await client.end();
  }
};
