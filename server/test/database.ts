/**
 * A PostgreSQL database per test file or test, cloned from a template with every migration and the guard of declared moves.
 * The template is named after both, so an edited migration gets a new one; concurrent files use an advisory lock to decide which creates
 * it.
 *
 * The test runner starts one cluster for all files and names it in GPUAAS_TEST_POSTGRES_URL; a file run alone starts
 * its own and stops it at the end.
 */
import { createHash, randomBytes } from 'node:crypto';
import { silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import { createDatabase, type Database } from '../src/db/client.ts';
import { APP_ROLE, migrate } from '../src/db/migrate.ts';
import { readMigrations } from '../src/db/migration-file.ts';
import { databaseName } from '../src/db/predicates.ts';
import { startTestCluster } from './cluster.ts';
import { DECLARED_MOVES } from './declared-moves.ts';

export type TestDatabase = Readonly<{
  /** Signs in as the owner of the tables, past row-level security. */
  ownerUrl: string;
  /** Signs in as the application, under row-level security. */
  url: string;
  /** Connections that act as the application. */
  database: Database;
  /** Closes `database` and drops everything; called automatically after the test when one was given. */
  drop(): Promise<void>;
}>;

type TestLike = Readonly<{ after(fn: () => Promise<void>): void }>;

const LOCK_KEY = 4_752_002;

const withName = (url: string, database: string): string => {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
};

const asApp = (url: string): string => {
  const changed = new URL(url);
  changed.searchParams.set('options', `-c role=${APP_ROLE}`);
  return changed.href.replaceAll('+', '%20');
};

const withClient = async <T>(url: string, fn: (client: Client) => Promise<T>): Promise<T> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await fn(client);
  } finally {
    await client.end();
  }
};

/**
 * As if a worker had compared the database with its heads just now, and for as long as the test takes: most tests have no
 * worker, and hosts would get no task that destroys data.
 */
export const neverRestored = async (client: Client): Promise<void> => {
  await client.query(
    `update audit_sealer s set compared_at = now() + interval '100 years', compared_in = ${databaseName('s')}`,
  );
};

let ownCluster: Promise<string> | undefined;

const startOwnCluster = async (): Promise<string> => {
  const postgres = await startTestCluster();
  // Not an `after` hook: the file's own hooks still need the database.
  process.once('exit', () => postgres.abandon());
  return postgres.url;
};

/** The URL of the cluster's own database, for tests that create databases themselves. */
export const testCluster = (): Promise<string> => {
  const given = process.env['GPUAAS_TEST_POSTGRES_URL'];
  if (given) return Promise.resolve(given);
  ownCluster ??= startOwnCluster();
  return ownCluster;
};

const templateName = async (): Promise<string> => {
  const digest = createHash('sha256').update(DECLARED_MOVES);
  for (const migration of await readMigrations()) digest.update(`${migration.name} ${migration.sha256}\n`);
  return `gpuaas_template_${digest.digest('hex').slice(0, 12)}`;
};

/** Finished templates are marked as such; a partial one of a killed run is dropped. */
const ensureTemplate = (cluster: string, name: string): Promise<void> =>
  withClient(cluster, async (client) => {
    const isFinished = async () =>
      (await client.query('select from pg_database where datname = $1 and datistemplate', [name])).rowCount === 1;
    if (await isFinished()) return;
    await client.query('select pg_advisory_lock($1)', [LOCK_KEY]);
    if (await isFinished()) return;
    await client.query(`drop database if exists ${name} with (force)`);
    await client.query(`create database ${name}`);
    await migrate({ url: withName(cluster, name), log: silentLog() });
    await withClient(withName(cluster, name), (template) => template.query(DECLARED_MOVES));
    // New connections are refused: a template in use cannot be cloned.
    await client.query(`alter database ${name} with is_template true allow_connections false`);
  });

let template: Promise<string> | undefined;

const readyTemplate = (cluster: string): Promise<string> => {
  template ??= templateName().then(async (name) => {
    await ensureTemplate(cluster, name);
    return name;
  });
  return template;
};

export const testDatabase = async (
  t?: TestLike,
  options: Readonly<{ poolMax?: number; wake?: () => void }> = {},
): Promise<TestDatabase> => {
  const cluster = await testCluster();
  const source = await readyTemplate(cluster);
  const name = `gpuaas_test_${process.pid}_${randomBytes(4).toString('hex')}`;
  await withClient(cluster, (client) => client.query(`create database ${name} template ${source} strategy file_copy`));
  const ownerUrl = withName(cluster, name);
  await withClient(ownerUrl, neverRestored);
  const database = createDatabase({ url: ownerUrl, role: APP_ROLE, log: silentLog(), poolMax: 5, ...options });

  let dropped: Promise<void> | undefined;
  const dropOnce = async () => {
    await database.end();
    await withClient(cluster, (client) => client.query(`drop database if exists ${name} with (force)`));
  };
  const drop = () => {
    dropped ??= dropOnce();
    return dropped;
  };
  t?.after(drop);
  return { ownerUrl, url: asApp(ownerUrl), database, drop };
};

/** A database without any table, for tests of the migrations themselves. */
export const emptyDatabase = async (t: TestLike): Promise<string> => {
  const cluster = await testCluster();
  const name = `gpuaas_test_${process.pid}_${randomBytes(4).toString('hex')}`;
  await withClient(cluster, (client) => client.query(`create database ${name}`));
  t.after(() =>
    withClient(cluster, (client) => client.query(`drop database if exists ${name} with (force)`)).then(() => {}),
  );
  return withName(cluster, name);
};
