import assert from 'node:assert/strict';
import test from 'node:test';
import { testDatabase } from '../../test/database.ts';
import { PLATFORM, type Reader } from './client.ts';

const TENANT = { tenant_id: 'org_one', principal_id: '' };
const scopeOf = async (reader: Reader) =>
  (await reader.query<{ tenant: string; scope: string }>('select gpuaas_tenant() as tenant, $1::text as scope', ['x']))
    .rows[0]?.tenant;

test('statements sent at once run in one transaction of the scope, and all or none of them count', async (t) => {
  let woken = 0;
  const { database } = await testDatabase(t, { wake: () => woken++ });
  assert.equal(await database.readAtOnce(TENANT, scopeOf), 'org_one');
  const add = (name: string) => `insert into pools (id, name) values ('pol_${name}', '${name}')`;
  await database.writeAtOnce(PLATFORM, (tx) => {
    tx.wake();
    return Promise.all([tx.query(add('one')), tx.query(add('two'))]);
  });
  await assert.rejects(
    database.writeAtOnce(PLATFORM, (tx) => {
      tx.wake();
      return Promise.all([tx.query(add('three')), tx.query(add('one'))]);
    }),
    /duplicate key/,
  );
  const { rows } = await database.readAtOnce(PLATFORM, (reader) =>
    reader.query<{ name: string }>("select name from pools where name in ('one', 'two', 'three') order by name"),
  );
  assert.deepEqual(
    rows.map(({ name }) => name),
    ['one', 'two'],
  );
  assert.equal(woken, 1);
});

test('a statement sent after the first wait is refused, and the connection stays usable', async (t) => {
  const { database } = await testDatabase(t);
  await assert.rejects(
    database.readAtOnce(PLATFORM, async (reader) => {
      await reader.query('select 1 as one');
      return reader.query('select 2 as two');
    }),
    /no statement is sent after its commit/,
  );
  const { rows } = await database.readAtOnce(PLATFORM, (reader) => reader.query<{ one: number }>('select 1 as one'));
  assert.deepEqual(rows, [{ one: 1 }]);
});
