import '../../test/own-cluster.ts';
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createLog } from '@gpuaas/kit';
import { testDatabase } from '../../test/database.ts';
import { anEvent } from '../../test/rows.ts';
import { until } from '../../test/until.ts';
import { type Database, PLATFORM, type Reader } from '../db/client.ts';
import { insertOutboxEvent, type NewOutboxEvent, type OutboxRow } from '../db/outbox.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError } from '../errors.ts';
import { createEventHub } from '../ports/events/hub.ts';
import { createEventFeed } from './event-feed.ts';

const OF = { organization_id: 'org_a', project_id: 'prj_a' };
type Rows = AsyncIterator<OutboxRow, void>;

/** A feed whose reads are counted and can be made to fail: its own, and those of its streams. */
const feedOf = async (t: TestContext) => {
  const { database } = await testDatabase(t);
  const hub = createEventHub();
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    service: 'gpuaas-api',
    host_role: 'platform_control',
    destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
  });
  const seen = {
    shared: 0,
    sharedNow: 0,
    sharedAtOnce: 0,
    own: 0,
    ownNow: 0,
    ownAtOnce: 0,
    isDown: false,
    isRestored: false,
  };
  const fail = async () => {
    if (seen.isDown) throw new AppError('unavailable', 'The database does not respond.');
  };
  /** With the snapshots of a database that has fewer transactions. */
  const restored = (tx: Reader): Reader => ({
    query: (text, values) =>
      tx.query(seen.isRestored ? text.replaceAll('pg_current_snapshot()', "'700:700:'::pg_snapshot") : text, values),
  });
  const counting: Pick<Database, 'read'> = {
    read: async (scope, fn) => {
      seen.shared += 1;
      seen.sharedAtOnce = Math.max(seen.sharedAtOnce, ++seen.sharedNow);
      try {
        await fail();
        return await database.read(scope, (tx) => fn(restored(tx)));
      } finally {
        seen.sharedNow -= 1;
      }
    },
  };
  const closing = new AbortController();
  t.after(() => closing.abort());
  const feed = createEventFeed({ database: counting, hub, log });
  const read = async <T>(fn: (reader: Reader) => Promise<T>): Promise<T> => {
    seen.own += 1;
    seen.ownAtOnce = Math.max(seen.ownAtOnce, ++seen.ownNow);
    try {
      await fail();
      return await database.read({ tenant_id: 'org_a', principal_id: 'usr_a' }, (tx) => fn(restored(tx)));
    } finally {
      seen.ownNow -= 1;
    }
  };
  const emit = async (...events: Partial<NewOutboxEvent>[]) => {
    await database.write(PLATFORM, async (tx) => {
      for (const event of events) await insertOutboxEvent(tx, anEvent(event));
    });
    hub.wake();
  };
  const follow = (after_id?: string): Promise<Rows> => feed.follow({ read, of: OF, after_id, signal: closing.signal });
  return { database, emit, feed, follow, hub, lines, read, seen };
};

const take = async (rows: Rows, count: number): Promise<OutboxRow[]> => {
  const taken: OutboxRow[] = [];
  while (taken.length < count) {
    const step = await rows.next();
    if (step.done) break;
    taken.push(step.value);
  }
  return taken;
};
const subjects = (rows: readonly OutboxRow[]) => rows.map(({ subject }) => subject);
const named = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `s${from + n}`);

test('idle streams do not read: one reader finds the events for all', async (t) => {
  const { emit, follow, seen } = await feedOf(t);
  const streams = await Promise.all(Array.from({ length: 300 }, () => follow()));
  const opened = seen.own;
  for (const subject of named(0, 20)) await emit({ subject }, { subject: 'elsewhere', project_id: 'prj_b' });
  for (const stream of streams) assert.deepEqual(subjects(await take(stream, 20)), named(0, 20));
  assert.equal(seen.own, opened, 'no stream read the outbox for itself');
  assert.equal(seen.sharedAtOnce, 1, 'one connection serves all');
  assert.ok(seen.ownAtOnce <= 1, 'streams of one organization open one after another');
  for (const stream of streams) await stream.return?.();
});

test('without streams nothing is read', async (t) => {
  const { emit, follow, hub, seen } = await feedOf(t);
  await emit({ subject: 'before' });
  assert.equal(seen.shared, 0);
  const stream = await follow();
  await emit({ subject: 's0' });
  await take(stream, 1);
  await stream.return?.();
  const left = seen.shared;
  await emit({ subject: 's1' });
  hub.wake();
  assert.equal(seen.shared, left);
  const again = await follow();
  await emit({ subject: 's2' });
  assert.deepEqual(subjects(await take(again, 1)), ['s2']);
});

test('a stream gets a row of its project only from its own organization', async (t) => {
  const { emit, follow } = await feedOf(t);
  const stream = await follow();
  await emit({ subject: 'foreign', organization_id: 'org_b' }, { subject: 'nobody', organization_id: null });
  await emit({ subject: 'mine' });
  assert.deepEqual(subjects(await take(stream, 1)), ['mine']);
});

test('a stream whose client does not read has a bounded queue and loses nothing; others are not delayed', async (t) => {
  const { emit, follow, seen } = await feedOf(t);
  const slow = await follow();
  const quick = await follow();
  const opened = seen.own;
  await emit({ subject: 's0' });
  assert.deepEqual(subjects(await take(slow, 1)), ['s0']);
  await take(quick, 1);
  for (let n = 1; n <= 901; n += 100) {
    await emit(...named(n, n + 100).map((subject) => ({ subject })));
    assert.deepEqual(subjects(await take(quick, 100)), named(n, n + 100));
  }
  assert.equal(seen.own, opened, 'who does not read costs no query');
  assert.deepEqual(subjects(await take(slow, 600)), named(1, 601));
  await emit({ subject: 's1001' });
  assert.deepEqual(subjects(await take(slow, 401)), named(601, 1002));
  assert.ok(seen.own > opened, 'it read for itself what its queue could not hold');
});

test('a stream continues after an outage from its last event, and the outage is logged once', async (t) => {
  const { emit, follow, hub, lines, seen } = await feedOf(t);
  const live = await follow();
  await emit({ subject: 's0' });
  const [first] = await take(live, 1);
  const resumed = await follow(first?.id);
  seen.isDown = true;
  const before = seen.shared;
  const waiting = Promise.all([take(live, 2), take(resumed, 2)]);
  await emit({ subject: 's1' });
  await until('the reader tried again', () => seen.shared >= before + 3);
  await assert.rejects(follow(), { code: 'unavailable' });
  await emit({ subject: 's2' });
  seen.isDown = false;
  hub.wake();
  for (const rows of await waiting) assert.deepEqual(subjects(rows), ['s1', 's2']);
  assert.deepEqual(
    lines.map(({ message }) => message),
    ['failed to read the outbox; event streams wait', 'event streams continue'],
  );
});

test('all streams end when the database was restored to older transactions, and later ones start again', async (t) => {
  const { emit, follow, hub, lines, seen } = await feedOf(t);
  const quiet = await follow();
  const busy = await follow();
  await emit({ subject: 's0' });
  const [last] = await take(busy, 1);
  await take(quiet, 1);
  const resumed = await follow(last?.id);
  const waiting = [quiet, busy, resumed].map((rows) =>
    assert.rejects(Promise.resolve(rows.next()), { code: 'gone', message: REFUSALS.events_restored }),
  );
  seen.isRestored = true;
  hub.wake();
  await Promise.all(waiting);
  assert.deepEqual(
    lines.map(({ message, streams }) => [message, streams]),
    [['the database has fewer transactions than before; event streams end', 3]],
  );
  await assert.rejects(
    follow(last?.id),
    { code: 'gone', message: REFUSALS.events_gone },
    'its transaction is not here yet',
  );
  const fresh = await follow();
  seen.isRestored = false;
  await emit({ subject: 's1' });
  assert.deepEqual(subjects(await take(fresh, 1)), ['s1']);
});

test('however often a stream is cut and resumed during writes, every event is delivered once, in order', async (t) => {
  const { database, emit, follow, hub } = await feedOf(t);
  await emit({ subject: 'start' });
  let stream = await follow();
  await emit({ subject: 'begin' });
  let [last] = await take(stream, 1);
  const perWriter = 60;
  const writers = Array.from({ length: 5 }, async (_, writer) => {
    for (let n = 0; n < perWriter; n++) {
      await database.write(PLATFORM, async (tx) => {
        await insertOutboxEvent(tx, anEvent({ subject: `w${writer}-${n}` }));
        if (n % 7 === 0) await tx.query('select pg_sleep(0.01)');
      });
      hub.wake();
    }
  });
  const told: OutboxRow[] = [];
  while (told.length < 5 * perWriter) {
    const part = await take(stream, Math.min(1 + (told.length % 23), 5 * perWriter - told.length));
    told.push(...part);
    last = part.at(-1) ?? last;
    await stream.return?.();
    stream = await follow(last?.id);
  }
  await Promise.all(writers);
  assert.equal(new Set(told.map(({ id }) => id)).size, 5 * perWriter);
  for (let writer = 0; writer < 5; writer++)
    assert.deepEqual(
      subjects(told).filter((subject) => subject.startsWith(`w${writer}-`)),
      Array.from({ length: perWriter }, (_, n) => `w${writer}-${n}`),
    );
});
