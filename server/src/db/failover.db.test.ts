/** Several hosts in the database URL, and a database that refuses writes. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import { startTestApp } from '../../test/app.ts';
import { testDatabase } from '../../test/database.ts';
import { startPgProxy } from '../../test/pg-proxy.ts';
import { until } from '../../test/until.ts';
import { createDatabase, PLATFORM } from './client.ts';

const LIMIT_MS = 500;

describe('a database with several hosts', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  after(async () => {
    for (const close of closers) await close();
  });

  const setting = async (poolMax: number) => {
    const db = await testDatabase(t);
    const [first, second] = [await startPgProxy(t, db.ownerUrl), await startPgProxy(t, db.ownerUrl)];
    const { username, pathname } = new URL(first.url);
    const url = `postgresql://${username}@${new URL(first.url).host},${new URL(second.url).host}${pathname}`;
    const database = createDatabase({
      ...{ url, role: 'gpuaas_app', log: silentLog(), poolMax },
      ...{ queryTimeoutMs: LIMIT_MS * 4, connectTimeoutMs: LIMIT_MS },
    });
    t.after(() => database.end());
    const one = () =>
      database.read(PLATFORM, async (reader) => (await reader.query<{ one: number }>('select 1 as one')).rows[0]?.one);
    return { db, first, second, database, one };
  };

  it('whose first one is silent: those that wait behind its connections go to the next one too', async () => {
    const { first, second, one } = await setting(2);
    first.silence();
    const asked = await Promise.allSettled(Array.from({ length: 8 }, one));
    assert.deepEqual(
      asked.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason)),
      Array.from({ length: 8 }, () => 1),
    );
    const connections = first.connections();
    assert.equal(second.connections(), 2);
    assert.equal(await one(), 1);
    assert.equal(first.connections(), connections, 'the silent one is not asked again');
  });

  it('that are all silent: every request ends with 503, and works again when one is back', async () => {
    const { first, second, one } = await setting(2);
    first.silence();
    second.silence();
    for (const asked of await Promise.allSettled(Array.from({ length: 4 }, one))) {
      assert.equal(asked.status, 'rejected');
      assert.equal(asked.reason.code, 'unavailable');
    }
    first.heal();
    assert.equal(await one(), 1);
  });

  it('whose first one is no standby but refuses writes: the change and all later work go to the next one', async () => {
    const { db, first, second, database, one } = await setting(1);
    const owner = new Client({ connectionString: db.ownerUrl });
    await owner.connect();
    t.after(() => owner.end());
    const set = (what: string) =>
      owner.query(`do $$ begin
        execute format('alter database %I ${what}', current_database()); end $$`);
    // A session keeps what its database had when it began: only that of the first host refuses writes.
    await set('set default_transaction_read_only = on');
    assert.equal(await one(), 1);
    await owner.query('set default_transaction_read_only = off');
    await set('reset default_transaction_read_only');
    const write = () =>
      database.write(PLATFORM, async (tx) => void (await tx.query('update projects set name = name where false')));
    await write();
    assert.deepEqual([first.connections(), second.connections()], [1, 1]);
    await write();
    assert.equal(first.connections(), 1, 'the one that refused is not asked again');
  });

  it('whose connections are all in use: a request does not connect elsewhere', async () => {
    const { first, second, database, one } = await setting(1);
    const client = await database.connect();
    await assert.rejects(one(), { code: 'unavailable' });
    assert.deepEqual([first.connections(), second.connections()], [1, 0]);
    client.release();
    assert.equal(await one(), 1);
  });
});

describe('a database that refuses writes', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  after(async () => {
    for (const close of closers) await close();
  });

  it('a change is 503 and never 500, and succeeds with the same key when writes are accepted again', async () => {
    const test = await startTestApp(t);
    const ada = await test.user('ada');
    const owner = new Client({ connectionString: test.db.ownerUrl });
    await owner.connect();
    t.after(() => owner.end());
    const setReadOnly = async (value: string): Promise<void> => {
      await owner.query('set default_transaction_read_only = off');
      await owner.query(`do $$ begin
        execute format('alter database %I set default_transaction_read_only = ${value}', current_database()); end $$`);
      // New sessions have the setting; the present ones end, as a demoted server ends them.
      await owner.query(
        'select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
    };
    const create = (name: string, key: string) =>
      ada.post(`/api/v1/organizations/${ada.organization_id}/projects`, { name }, { 'idempotency-key': key });

    const wanted = Array.from({ length: 12 }, () => ({ name: `p-${randomUUID()}`, key: randomUUID() }));
    const [before, ...during] = wanted;
    assert.ok(before !== undefined);
    assert.equal((await create(before.name, before.key)).status, 201);
    await setReadOnly('on');
    const refused = await Promise.all(during.map(({ name, key }) => create(name, key)));
    for (const { status, body, headers } of refused) {
      assert.deepEqual([status, body.code, body.retryable], [503, 'unavailable', true]);
      assert.ok(Number(headers['retry-after']) > 0);
    }
    assert.equal((await ada.get('/api/v1/me')).status, 200, 'reads work');
    await setReadOnly('off');
    for (const { name, key } of during)
      await until('the change to succeed', async () => {
        const { status, body } = await create(name, key);
        assert.ok([201, 503].includes(status), JSON.stringify(body));
        return status === 201;
      });
    const { rows } = await owner.query("select name from projects where name like 'p-%'");
    assert.deepEqual(new Set(rows.map(({ name }) => name)), new Set(wanted.map(({ name }) => name)));
    assert.equal(rows.length, wanted.length);
  });
});
