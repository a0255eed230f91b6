/** The network between a process and its database goes silent: nothing is closed, nothing arrives. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createLoopWatch, silentLog } from '@gpuaas/kit';
import { testDatabase } from '../../test/database.ts';
import { startPgProxy } from '../../test/pg-proxy.ts';
import { until } from '../../test/until.ts';
import { createEventHub } from '../ports/events/hub.ts';
import { startListening } from '../ports/events/listen.ts';
import { createDatabase, PLATFORM } from './client.ts';

const LIMIT_MS = 1_500;

describe('a silent database', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  after(async () => {
    for (const close of closers) await close();
  });

  const setting = async (poolMax: number) => {
    const db = await testDatabase(t);
    const proxy = await startPgProxy(t, db.ownerUrl);
    const database = createDatabase({
      ...{ url: proxy.url, role: 'gpuaas_app', log: silentLog(), poolMax },
      ...{ queryTimeoutMs: LIMIT_MS, connectTimeoutMs: LIMIT_MS },
    });
    t.after(() => database.end());
    return { db, proxy, database };
  };
  const one = (database: ReturnType<typeof createDatabase>) =>
    database.read(PLATFORM, async (reader) => (await reader.query<{ one: number }>('select 1 as one')).rows[0]?.one);
  const isUnavailable = { name: 'AppError', code: 'unavailable' };

  it('every query ends with 503, and the first after it is back succeeds: no dead connection is used again', async () => {
    const { proxy, database } = await setting(4);
    await Promise.all(Array.from({ length: 4 }, () => one(database)));
    const before = proxy.connections();
    assert.equal(before, 4, 'the pool is full of connections');
    proxy.silence();
    await assert.rejects(one(database), isUnavailable);
    proxy.heal();
    assert.equal(await one(database), 1, 'the other three were dropped with the silent one');
    assert.deepEqual(await Promise.all(Array.from({ length: 4 }, () => one(database))), [1, 1, 1, 1]);
    assert.equal(proxy.connections(), before + 4);
  });

  it('a transaction that goes silent in its middle ends, and its connection is not returned', async () => {
    const { proxy, database } = await setting(1);
    const started = database.write(PLATFORM, async (tx) => {
      await tx.query('select 1');
      proxy.silence();
      await tx.query('select 2');
    });
    await assert.rejects(started, isUnavailable);
    proxy.heal();
    assert.equal(await one(database), 1);
  });

  it('a commit without a response is reported as unknown', async () => {
    const { proxy, database } = await setting(1);
    const started = database.write(PLATFORM, async (tx) => {
      await tx.query('select 1');
      proxy.silence();
    });
    await assert.rejects(started, { ...isUnavailable, message: /may have been saved/ });
  });

  it('a connection that only listens notices the silence and listens again', async () => {
    const { db, proxy, database } = await setting(2);
    const hub = createEventHub();
    let woken = 0;
    hub.wake();
    const loops = createLoopWatch();
    const signal = new AbortController();
    const options = { database, hub, log: silentLog(), loops, signal: signal.signal, heartbeat_ms: 50 };
    const listener = startListening(options);
    t.after(() => listener.stop());
    await listener.ready;
    const wakeUps = async () => {
      for (; !signal.signal.aborted; woken++) await hub.wait(60_000, signal.signal);
    };
    const counting = wakeUps();
    proxy.silence();
    const before = proxy.connections();
    await until('it to connect again', () => proxy.connections() > before);
    proxy.heal();
    const notified = woken;
    await until('a notification to arrive', async () => {
      await db.database.write(PLATFORM, (tx) => tx.query("select pg_notify('gpuaas_events', '')"));
      return woken > notified;
    });
    signal.abort();
    await Promise.all([counting, listener.stop()]);
    assert.deepEqual(loops.ages(), [], 'a loop that ended is not watched');
  });

  it('a listener without news is not stalled before its heartbeat is due', async () => {
    const { database } = await setting(1);
    let now = 0;
    const loops = createLoopWatch(() => now);
    const signal = new AbortController();
    const options = { database, hub: createEventHub(), log: silentLog(), loops, signal: signal.signal };
    const listener = startListening({ ...options, heartbeat_ms: 60_000 });
    t.after(() => listener.stop());
    await listener.ready;
    const stalled = () => loops.stalled(1_000).map(({ loop }) => loop);
    now = 30_000;
    assert.deepEqual(stalled(), []);
    now = 62_000;
    assert.deepEqual(stalled(), ['event-notifications']);
    signal.abort();
    await listener.stop();
  });
});
