import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { findProcessIdentity, isProcessAlive } from '@gpuaas/kit';
import { Client } from 'pg';
import { requires } from '../../../../tools/test/requires.ts';
import { type EmbeddedPostgres, removeEmbeddedPostgres, startEmbeddedPostgres } from './embedded.ts';

const MODULE = new URL('./embedded.ts', import.meta.url).href;

const scratch = (t: TestContext): string => {
  const dir = mkdtempSync(join(tmpdir(), 'gpuaas-pg-'));
  chmodSync(dir, 0o711);
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

const start = async (
  t: TestContext,
  dataDir: string,
  more: { outsideDir?: string } = {},
): Promise<EmbeddedPostgres> => {
  const postgres = await startEmbeddedPostgres({ dataDir, durability: 'throwaway', ...more });
  t.after(() => postgres.stop());
  return postgres;
};

const query = async (postgres: EmbeddedPostgres, text: string): Promise<Record<string, unknown>[]> => {
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  return client
    .query(text)
    .then((result) => result.rows)
    .finally(() => client.end());
};

/** Starts a cluster in a process that is then killed, so that the cluster is not stopped. */
const startAndDie = (dataDir: string): number => {
  const script = `
    const { startEmbeddedPostgres } = await import(${JSON.stringify(MODULE)});
    const { pid } = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, durability: 'throwaway' });
    process.getBuiltinModule('node:fs').writeSync(1, String(pid));
    process.kill(process.pid, 'SIGKILL');`;
  const result = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    cwd: import.meta.dirname,
  });
  const pid = Number(result.stdout);
  assert.ok(pid > 0, result.stderr);
  return pid;
};

test('a cluster keeps its data across restarts and leaves no process behind', async (t) => {
  const dataDir = join(scratch(t), 'pg');
  const first = await start(t, dataDir);
  await query(first, 'create table kept as select 42 as n');
  await first.stop();
  assert.equal(findProcessIdentity(first.pid), undefined);
  const second = await start(t, dataDir);
  assert.deepEqual(await query(second, 'select n from kept'), [{ n: 42 }]);
});

test('the database is not reachable over the network, and by the socket only for its own user', async (t) => {
  const postgres = await start(t, join(scratch(t), 'pg'));
  const settings = await query(
    postgres,
    "select name, setting from pg_settings where name in ('listen_addresses', 'unix_socket_permissions') order by 1",
  );
  assert.deepEqual(settings, [
    { name: 'listen_addresses', setting: '' },
    { name: 'unix_socket_permissions', setting: '0700' },
  ]);
});

test('a second start of a cluster in use is refused and names the process', async (t) => {
  const dataDir = join(scratch(t), 'pg');
  const first = await start(t, dataDir);
  await assert.rejects(startEmbeddedPostgres({ dataDir }), new RegExp(`in use by process ${process.pid}`));
  assert.equal((await query(first, 'select 1 as one')).length, 1);
});

test('the cluster of a killed process is stopped and started again', async (t) => {
  const dataDir = join(scratch(t), 'pg');
  const orphan = findProcessIdentity(startAndDie(dataDir));
  assert.ok(orphan !== undefined);
  const next = await start(t, dataDir);
  assert.equal(isProcessAlive(orphan), false);
  assert.equal((await query(next, 'select 1 as one')).length, 1);
});

test('removing a cluster also ends the one that a killed process left behind', async (t) => {
  const dataDir = join(scratch(t), 'pg');
  const orphan = findProcessIdentity(startAndDie(dataDir));
  assert.ok(orphan !== undefined);
  await removeEmbeddedPostgres(dataDir);
  assert.equal(isProcessAlive(orphan), false);
  assert.equal(existsSync(dataDir), false);
});

test('a stale lock that names an unrelated running process does not block the next start', async (t) => {
  const dataDir = join(scratch(t), 'pg');
  const first = await start(t, dataDir);
  const lock = readFileSync(join(dataDir, 'data', 'postmaster.pid'), 'utf8');
  await first.stop();
  writeFileSync(join(dataDir, 'data', 'postmaster.pid'), lock.replace(/^\d+/, String(process.pid)));
  assert.equal((await query(await start(t, dataDir), 'select 1 as one')).length, 1);
});

test('long paths, spaces and commas work, and a short socket directory is removed with the cluster', async (t) => {
  const postgres = await start(t, join(scratch(t), `a path, with spaces ${'x'.repeat(100)}`));
  assert.equal((await query(postgres, 'select 1 as one')).length, 1);
  const socketDir = new URL(postgres.url).searchParams.get('host') ?? '';
  assert.ok(existsSync(socketDir));
  await postgres.stop();
  assert.equal(existsSync(socketDir), false);
});

test('as root, a directory that others cannot traverse keeps a pointer and the cluster lies outside', {
  skip: requires('root'),
}, async (t) => {
  const outsideDir = scratch(t);
  const closed = join(scratch(t), 'closed');
  mkdirSync(closed, { mode: 0o700 });
  const dataDir = join(closed, 'pg');
  const first = await start(t, dataDir, { outsideDir });
  await query(first, 'create table kept as select 42 as n');
  await first.stop();
  assert.equal(readdirSync(outsideDir).length, 1);
  assert.equal(existsSync(join(dataDir, 'data')), false);
  const second = await start(t, dataDir, { outsideDir });
  assert.deepEqual(await query(second, 'select n from kept'), [{ n: 42 }]);
  await second.stop();
  await removeEmbeddedPostgres(dataDir);
  assert.deepEqual(readdirSync(outsideDir), []);
});

test('as root, an outside directory that others can write to is refused', { skip: requires('root') }, async (t) => {
  const outsideDir = scratch(t);
  chmodSync(outsideDir, 0o777);
  const closed = join(scratch(t), 'closed');
  mkdirSync(closed, { mode: 0o700 });
  await assert.rejects(startEmbeddedPostgres({ dataDir: join(closed, 'pg'), outsideDir }), /only root can write/);
});
