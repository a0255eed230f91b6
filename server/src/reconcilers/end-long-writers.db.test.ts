import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { createLog, silentLog } from '@gpuaas/kit';
import { Client, type ClientConfig } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { anEvent } from '../../test/rows.ts';
import { until } from '../../test/until.ts';
import { createDatabase, PLATFORM } from '../db/client.ts';
import { APP_ROLE, MIGRATION_APPLICATION } from '../db/migrate.ts';
import { commitOrderDelay, insertOutboxEvent } from '../db/outbox.ts';
import { createMemoryStream } from '../ports/events/memory.ts';
import { endLongWriters } from './end-long-writers.ts';
import { relayOutbox } from './relay-outbox.ts';

describe('long write transactions', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  after(async () => {
    for (const close of closers) await close();
  });

  const open = async (config: ClientConfig, isWriting: boolean): Promise<Readonly<{ sql: Client; pid: number }>> => {
    const sql = new Client(config);
    sql.on('error', () => {});
    await sql.connect();
    t.after(() => sql.end());
    await sql.query('begin');
    if (isWriting) await sql.query('select pg_current_xact_id()');
    const { rows } = await sql.query<{ pid: number }>('select pg_backend_pid() as pid');
    return { sql, pid: rows[0]?.pid ?? 0 };
  };
  const isOpen = ({ sql }: Readonly<{ sql: Client }>) =>
    sql.query('select 1').then(
      () => true,
      () => false,
    );

  it('of the own account end after their limit, with a log line, and what waited behind them is delivered', async () => {
    const { database, ownerUrl: connectionString } = await testDatabase(t);
    const writer = await open({ connectionString, application_name: 'forgotten' }, true);
    const reader = await open({ connectionString }, false);
    const migration = await open({ connectionString, application_name: MIGRATION_APPLICATION }, true);
    const lines: Record<string, unknown>[] = [];
    const log = createLog({
      service: 'test',
      host_role: 'platform_control',
      destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
    });
    await database.write(PLATFORM, (tx) => insertOutboxEvent(tx, anEvent({ subject: 'behind it' })));
    assert.ok((await database.read(PLATFORM, commitOrderDelay)) > 0);

    assert.equal(await endLongWriters({ database, log, max_s: 3_600 }), 0);
    assert.equal(await isOpen(writer), true);

    assert.equal(await endLongWriters({ database, log, max_s: 0 }), 1);
    assert.deepEqual(
      lines.map(({ pid, application_name, level }) => [pid, application_name, level]),
      [[writer.pid, 'forgotten', 'warn']],
    );
    assert.deepEqual([await isOpen(writer), await isOpen(reader), await isOpen(migration)], [false, true, true]);

    await migration.sql.query('commit');
    const stream = createMemoryStream({ events_max: 10 });
    await until('the event to be delivered', async () => {
      await relayOutbox({ database, publisher: stream.connect() });
      return (await database.read(PLATFORM, commitOrderDelay)) === 0;
    });
  });

  it('of other accounts and databases are left alone, and the account needs no more than its own rights', async () => {
    const [db, other] = [await testDatabase(t), await testDatabase(t)];
    const account = `app_${randomBytes(4).toString('hex')}`;
    const owner = await open({ connectionString: db.ownerUrl }, true);
    await owner.sql.query('commit');
    await owner.sql.query(`create role ${account} login in role ${APP_ROLE}`);
    t.after(async () => {
      await owner.sql.query(`drop role ${account}`);
    });
    const url = (of: string): string => {
      const changed = new URL(of);
      changed.username = account;
      return changed.href;
    };
    const database = createDatabase({ url: url(db.ownerUrl), log: silentLog(), poolMax: 2 });
    t.after(() => database.end());
    await owner.sql.query('begin');
    await owner.sql.query('select pg_current_xact_id()');
    const own = await open({ connectionString: url(db.ownerUrl) }, true);
    const elsewhere = await open({ connectionString: url(other.ownerUrl) }, true);
    assert.equal(await endLongWriters({ database, log: silentLog(), max_s: 0 }), 1);
    assert.deepEqual([await isOpen(own), await isOpen(owner), await isOpen(elsewhere)], [false, true, true]);
    await owner.sql.query('commit');
    await elsewhere.sql.end();
  });
});
