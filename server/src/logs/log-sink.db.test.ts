import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog, createLoopWatch } from '@gpuaas/kit';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { until } from '../../test/until.ts';
import { PLATFORM } from '../db/client.ts';
import { createLogSink } from './log-sink.ts';

type Row = Readonly<{ level: string; message: string; correlation_id: string | null; fields: object; number: number }>;

describe('the log lines of a process', () => {
  it('are stored in the database with their correlation id, without secrets, and none below info', async (t) => {
    const { database } = await testDatabase(t);
    const sink = createLogSink();
    const log = createLog({
      service: 'gpuaas-api',
      host_role: 'platform_control',
      level: 'debug',
      destination: { write: () => {} },
      also: sink.take,
    });
    log.info({ correlation_id: 'c-before' }, 'said before there was a database');
    sink.start({ database, days: 7 });
    log.debug('too low');
    log.error(
      { correlation_id: 'c-1', error_code: 'internal', note: 'Bearer abcdefghijkl', nested: { password: 'x' } },
      'it broke',
    );
    const rows = () =>
      database.read(
        PLATFORM,
        async (reader) => (await reader.query<Row>('select * from log_lines order by number')).rows,
      );
    await until('the lines are there', async () => (await rows()).length === 2);
    await sink.stop();
    const [first, second] = await rows();
    assert.deepEqual([first?.message, first?.correlation_id], ['said before there was a database', 'c-before']);
    assert.deepEqual([second?.level, second?.message, second?.correlation_id], ['error', 'it broke', 'c-1']);
    assert.deepEqual(second?.fields, { note: '[redacted]', nested: { password: '[redacted]' } });
    const parts = await database.read(PLATFORM, (reader) =>
      reader.query<{ place: string }>('select distinct tableoid::regclass::text as place from log_lines'),
    );
    assert.match(parts.rows[0]?.place ?? '', /^log_lines_\d{8}$/);
  });

  it('that cannot be stored leave a stalled loop, until the write ends', async (t) => {
    const open: Client[] = [];
    t.after(() => Promise.all(open.map((client) => client.end())));
    const { database, ownerUrl } = await testDatabase(t);
    const sql = new Client({ connectionString: ownerUrl });
    await sql.connect();
    open.push(sql);
    let now = 0;
    const loops = createLoopWatch(() => now);
    const stalled = () => loops.stalled(600_000).map(({ loop }) => loop);
    await sql.query('begin');
    await sql.query('lock table log_lines in access exclusive mode');
    const sink = createLogSink();
    sink.take(JSON.stringify({ level: 'info', message: 'held up' }));
    sink.start({ database, days: 7, loops });
    await until('the write waits', async () => {
      const { rows } = await sql.query("select 1 from pg_locks where relation = 'log_lines'::regclass and not granted");
      return rows.length > 0;
    });
    now = 600_001;
    assert.deepEqual(stalled(), ['store-log-lines']);
    await sql.query('rollback');
    await until('the write ends', () => stalled().length === 0);
    await sink.stop();
    assert.deepEqual(loops.ages(), []);
  });

  it('are not stored for successful reads, which clients repeat under one id', async (t) => {
    const { database } = await testDatabase(t);
    const sink = createLogSink();
    const request = (method: string, status: number) =>
      sink.take(JSON.stringify({ level: 'info', message: 'request', method, status, correlation_id: 'c-polls' }));
    for (let n = 0; n < 600; n++) request('GET', 200);
    for (const [method, status] of [
      ['POST', 202],
      ['GET', 404],
      ['GET', 500],
    ] as const)
      request(method, status);
    sink.start({ database, days: 7 });
    await sink.stop();
    const { rows } = await database.read(PLATFORM, (reader) =>
      reader.query<{ fields: object }>('select fields from log_lines order by number'),
    );
    assert.deepEqual(
      rows.map(({ fields }) => fields),
      [
        { method: 'POST', status: 202 },
        { method: 'GET', status: 404 },
        { method: 'GET', status: 500 },
      ],
    );
    assert.equal(sink.dropped(), 0);
  });

  it('may contain characters that the database cannot store, and are stored without them', async (t) => {
    const { database } = await testDatabase(t);
    const sink = createLogSink();
    const texts = ['about \\u0000 and \\ud800', 'with \0 and \ud800.', 'and 😀'];
    for (const message of texts) sink.take(JSON.stringify({ level: 'info', message, [message]: message }));
    sink.start({ database, days: 7 });
    await sink.stop();
    const { rows } = await database.read(PLATFORM, (reader) =>
      reader.query<Row>('select message, fields from log_lines order by number'),
    );
    const kept = [texts[0], 'with  and .', texts[2]];
    assert.deepEqual(
      rows,
      kept.map((message) => ({ message, fields: { [String(message)]: message } })),
    );
  });

  it('never block the process: the oldest are dropped when the database is slow', () => {
    const sink = createLogSink();
    for (let n = 0; n < 25_000; n++) sink.take('{"level":"info"}');
    assert.ok(sink.dropped() >= 15_000 && sink.dropped() < 25_000);
  });

  it('report the number of dropped lines', async (t) => {
    const { database } = await testDatabase(t);
    const sink = createLogSink();
    for (let n = 0; n < 11_000; n++) sink.take(`{"level":"info","message":"line ${n}"}`);
    sink.start({ database, days: 7 });
    await sink.stop();
    const { rows } = await database.read(PLATFORM, (reader) =>
      reader.query<{ fields: { dropped: number } }>("select fields from log_lines where level = 'warn'"),
    );
    assert.deepEqual(
      rows.map((row) => row.fields.dropped),
      [sink.dropped()],
    );
  });
});
