import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createLoopWatch, silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { createDatabase, type Database } from '../db/client.ts';
import { readMigrations } from '../db/migration-file.ts';
import { createReadiness } from './readiness.ts';

const STALLED_MS = 1_000;

const readinessOf = async (database: Database, expected_migration?: string, loops = createLoopWatch()) =>
  createReadiness({
    database,
    loops,
    stalled_ms: STALLED_MS,
    expected_migration: expected_migration ?? (await readMigrations()).at(-1)?.name ?? '',
  })();

it('a role that bypasses row-level security is not ready', async (t) => {
  const { database, ownerUrl } = await testDatabase({ after: (fn) => t.after(fn) });
  assert.deepEqual(await readinessOf(database), {
    ready: true,
    checks: { database: 'ok', schema: 'ok', loops: 'ok' },
  });

  const owner = createDatabase({ url: ownerUrl, log: silentLog(), poolMax: 1 });
  t.after(() => owner.end());
  const { ready, checks } = await readinessOf(owner);
  assert.equal(ready, false);
  assert.match(checks['database'] ?? '', /row-level security/);
});

it('a schema that lacks the last migration is not ready', async (t) => {
  const { database } = await testDatabase({ after: (fn) => t.after(fn) });
  const { ready, checks } = await readinessOf(database, '9999_future.sql');
  assert.deepEqual([ready, checks['schema']], [false, 'migration 9999_future.sql is missing']);
});

it('a database that can be read but refuses writes is not ready, and is again when it accepts them', async (t) => {
  const { database, ownerUrl } = await testDatabase({ after: (fn) => t.after(fn) });
  const owner = new Client({ connectionString: ownerUrl });
  await owner.connect();
  owner.on('error', () => {});
  assert.equal((await readinessOf(database)).ready, true);
  const setReadOnly = (value: string) =>
    owner.query(`do $$ begin
      execute format('alter database %I set default_transaction_read_only = ${value}', current_database()); end $$`);
  await setReadOnly('on');
  // New sessions have the setting; the pool's present one is ended as a demoted server would end it.
  const endSessions = () =>
    owner.query(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
  await endSessions();
  const { ready, checks } = await readinessOf(database);
  assert.deepEqual([ready, checks['database']], [false, 'accepts no writes']);
  await owner.query('set default_transaction_read_only = off');
  await setReadOnly('off');
  assert.equal((await readinessOf(database)).ready, true, 'the connections of the refused writes were dropped');
  await owner.end();
});

it('a loop that no longer completes its turns is named, until it does', async (t) => {
  const { database } = await testDatabase({ after: (fn) => t.after(fn) });
  let time = 0;
  const loops = createLoopWatch(() => time);
  const loop = loops.add('seal-audit', 250);
  const { promise, resolve } = Promise.withResolvers<void>();
  const turn = loop.turn(() => promise);
  time += STALLED_MS + 1;
  assert.deepEqual(await readinessOf(database, undefined, loops), {
    ready: false,
    checks: { database: 'ok', schema: 'ok', loops: 'no longer running: seal-audit' },
  });
  resolve();
  await turn;
  assert.equal((await readinessOf(database, undefined, loops)).ready, true);
});
