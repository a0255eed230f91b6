/** What a migration may wait for, and what it refuses before it applies anything. */
import assert from 'node:assert/strict';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createLog, type Log, silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { nextName } from '../../test/migrations.ts';
import { startPgProxy } from '../../test/pg-proxy.ts';
import { until } from '../../test/until.ts';
import { connectOnce } from './database-url.ts';
import { migrate } from './migrate.ts';
import { findMisnumbered, MIGRATIONS_DIR, readMigrations, statementsOf } from './migration-file.ts';

const log = silentLog();

describe('a migration', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  after(async () => {
    for (const close of closers) await close();
  });

  const lastName = async () => (await readMigrations()).at(-1)?.name ?? '';

  /** The migrations of this build and these files after them. */
  const dirWith = async (...texts: readonly string[]) => {
    const dir = await mkdtemp(join(tmpdir(), 'gpuaas-migrations-'));
    t.after(() => rm(dir, { recursive: true, force: true }));
    await cp(MIGRATIONS_DIR, dir, { recursive: true });
    const names: string[] = [];
    for (const text of texts) {
      names.push(nextName(names.at(-1) ?? (await lastName())));
      await writeFile(join(dir, names.at(-1) ?? ''), text);
    }
    return { dir, names };
  };

  const open = async (url: string): Promise<Client> => {
    const client = new Client({ connectionString: url });
    await client.connect();
    client.on('error', () => {});
    t.after(() => client.end());
    return client;
  };
  const pidOf = async (client: Client): Promise<number> =>
    (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid ?? 0;

  const collecting = (lines: Record<string, unknown>[]): Log =>
    createLog({
      service: 'test',
      host_role: 'platform_control',
      destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
    });

  it('waits briefly for a lock, lets others pass between its attempts, and applies once it is free', async () => {
    const { ownerUrl: url } = await testDatabase(t);
    const { dir, names } = await dirWith('alter table regions add column note text;');
    const [reader, other] = [await open(url), await open(url)];
    await reader.query('begin');
    await reader.query('select from regions');
    const lines: Record<string, unknown>[] = [];
    const migrating = migrate({ url, log: collecting(lines), dir, lock_timeout_ms: 50 });
    await until('a second attempt', () => lines.filter(({ attempt }) => attempt !== undefined).length >= 2);
    assert.match(String(lines.find(({ attempt }) => attempt === 1)?.['open_transactions']), /^session \d+ of \w+, /);
    await other.query('select from regions');
    await reader.query('commit');
    assert.deepEqual(await migrating, names);
  });

  it('that never gets its lock names the transaction that holds it, and leaves nothing behind', async () => {
    const { ownerUrl: url } = await testDatabase(t);
    const { dir, names } = await dirWith('create table half (id int); alter table regions add column note text;');
    const reader = await open(url);
    await reader.query('begin');
    await reader.query('select from regions');
    await assert.rejects(migrate({ url, log, dir, lock_timeout_ms: 20, attempts_max: 2 }), ({ message }: Error) => {
      assert.match(message, new RegExp(`^Migration ${names[0]} did not get its lock in 2 attempts`));
      assert.match(message, /session \d+ of \w+, idle in transaction for \d+ s/);
      return true;
    });
    const { rows } = await reader.query("select to_regclass('half') as half");
    assert.deepEqual(rows, [{ half: null }]);
  });

  it('waits for another process that migrates, and names its session when that takes too long', async () => {
    const { ownerUrl: url } = await testDatabase(t);
    const holder = await open(url);
    await holder.query('select pg_advisory_lock(4752001)');
    const pid = await pidOf(holder);
    await assert.rejects(
      migrate({ url, log, turn_within_ms: 50 }),
      new RegExp(`Another process has been migrating this database .*session ${pid}\\)`),
    );
    const { dir, names } = await dirWith('select 1;');
    const lines: Record<string, unknown>[] = [];
    const migrating = migrate({ url, log: collecting(lines), dir });
    await until('it to wait', () => lines.length > 0);
    await holder.query('select pg_advisory_unlock(4752001)');
    assert.deepEqual(await migrating, names);
  });

  it('without a transaction builds indexes while others write, and replaces one that an interrupted attempt left invalid', async () => {
    const { ownerUrl: url } = await testDatabase(t);
    const client = await open(url);
    await client.query('create table numbers (n int); insert into numbers values (1), (1)');
    const { dir, names } = await dirWith(`-- no transaction
      -- Two indexes; the second fails at first.
      create index concurrently numbers_plain on numbers (n);
      create unique index concurrently numbers_once on numbers (n);`);
    const indexes = async () =>
      (
        await client.query(
          `select relname, indisvalid from pg_index join pg_class on oid = indexrelid where relname like 'numbers_%' order by 1`,
        )
      ).rows.map(({ relname, indisvalid }) => `${relname} ${indisvalid}`);
    await assert.rejects(migrate({ url, log, dir }), /could not create unique index/);
    assert.deepEqual(await indexes(), ['numbers_once false', 'numbers_plain true']);
    await client.query('delete from numbers where ctid = (select max(ctid) from numbers)');
    assert.deepEqual(await migrate({ url, log, dir }), names);
    assert.deepEqual(await indexes(), ['numbers_once true', 'numbers_plain true']);
    assert.deepEqual(await migrate({ url, log, dir }), []);
  });

  it('without a transaction holds only statements that may run twice', () => {
    const file = (sql: string) => ({ name: '0999_x.sql', sql: `-- no transaction\n${sql}` });
    assert.equal(
      statementsOf(
        file(`drop index concurrently if exists a;
          create unique index concurrently b
            on t (x);
          alter table t validate constraint c;`),
      ).length,
      3,
    );
    for (const sql of [
      'create index b on t (x)',
      'create index concurrently if not exists b on t (x)',
      'drop index concurrently b',
      'update t set x = 1',
    ])
      assert.throws(
        () => statementsOf(file(sql)),
        /0999_x\.sql runs without a transaction, so it may only contain/,
        sql,
      );
  });

  it('is refused with a gap or a number that two files have', async () => {
    const names = (await readMigrations()).map(({ name }) => name);
    assert.equal(findMisnumbered(names), undefined);
    assert.match(
      findMisnumbered(names.filter((name) => !name.startsWith('0020'))) ?? '',
      /^Migration 0020 is missing before 0021_/,
    );
    assert.match(
      findMisnumbered([...names, '0005_twice.sql'].sort()) ?? '',
      /^Migrations 0005_oidc\.sql and 0005_twice\.sql have one number/,
    );
    const { ownerUrl: url } = await testDatabase(t);
    const { dir, names: added } = await dirWith('select 1;', 'select 1;');
    await rm(join(dir, added[0] ?? ''));
    await assert.rejects(migrate({ url, log, dir }), /is missing before/);
  });

  it('is refused below the newest one that is applied', async () => {
    const { ownerUrl: url } = await testDatabase(t);
    const client = await open(url);
    const { dir, names } = await dirWith('create table late (id int);');
    await client.query(`insert into schema_migrations (name, sha256) values ($1, 'x')`, [
      (names[0] ?? '').replace('next', 'of_another_branch'),
    ]);
    await assert.rejects(migrate({ url, log, dir }), new RegExp(`Migration ${names[0]} is not applied, but .* is`));
    assert.deepEqual(await migrate({ url, log }), [], 'an earlier build has nothing to apply');
    assert.deepEqual((await client.query("select to_regclass('late') as late")).rows, [{ late: null }]);
  });

  it('and the start of a process end with the reason when the database is silent', async () => {
    const { ownerUrl } = await testDatabase(t);
    const proxy = await startPgProxy(t, ownerUrl);
    const client = await connectOnce(proxy.url, { query_timeout: 100 });
    proxy.silence();
    await assert.rejects(client.query('select 1'), /Query read timeout/);
    await client.end();
    await assert.rejects(
      connectOnce(proxy.url, { connectionTimeoutMillis: 100 }),
      /No host of the database URL accepts work: host 1: /,
    );
  });
});
