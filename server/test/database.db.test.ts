import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { PLATFORM } from '../src/db/client.ts';
import { emptyDatabase, testCluster, testDatabase } from './database.ts';

const withClient = async <T>(url: string, fn: (client: Client) => Promise<T>): Promise<T> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  return fn(client).finally(() => client.end());
};

test('a test database has every migration and connects as the application role', async (t) => {
  const { database, ownerUrl, url } = await testDatabase(t);
  const found = await database.read(PLATFORM, (reader) =>
    reader.query<{ role: string; n: number }>('select current_user as role, count(*)::int as n from schema_migrations'),
  );
  assert.equal(found.rows[0]?.role, 'gpuaas_app');
  assert.ok((found.rows[0]?.n ?? 0) >= 3);
  const role = 'select current_user as role';
  assert.equal((await withClient(url, (client) => client.query(role))).rows[0].role, 'gpuaas_app');
  assert.equal((await withClient(ownerUrl, (client) => client.query(role))).rows[0].role, 'gpuaas');
});

test('two test databases share nothing', async (t) => {
  const [one, two] = await Promise.all([testDatabase(t), testDatabase(t)]);
  await withClient(one.ownerUrl, (client) => client.query('create table only_here (id int)'));
  const found = await withClient(two.ownerUrl, (client) => client.query("select to_regclass('only_here') as t"));
  assert.equal(found.rows[0].t, null);
});

test('a dropped test database is gone even while a session is open', async () => {
  const { drop, ownerUrl } = await testDatabase();
  const name = new URL(ownerUrl).pathname.slice(1);
  const open = new Client({ connectionString: ownerUrl });
  open.on('error', () => {});
  await open.connect();
  await drop();
  const left = await withClient(await testCluster(), (client) =>
    client.query('select from pg_database where datname = $1', [name]),
  );
  assert.equal(left.rowCount, 0);
  await open.end().catch(() => {});
});

test('an empty database has no tables of the application', async (t) => {
  const url = await emptyDatabase(t);
  const found = await withClient(url, (client) =>
    client.query("select count(*)::int as n from pg_tables where schemaname = 'public'"),
  );
  assert.equal(found.rows[0].n, 0);
});
