import '../../test/own-cluster.ts';
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { silentLog } from '@gpuaas/kit';
import { requires } from '../../../tools/test/requires.ts';
import { testDatabase } from '../../test/database.ts';
import { startNats, type TestNats } from '../../test/nats.ts';
import { anEvent } from '../../test/rows.ts';
import { until } from '../../test/until.ts';
import { createDatabase, type Database, PLATFORM } from '../db/client.ts';
import { insertOutboxEvent, outboxLag } from '../db/outbox.ts';
import { createEventHub } from '../ports/events/hub.ts';
import { createMemoryStream } from '../ports/events/memory.ts';
import { createNatsPublisher } from '../ports/events/nats.ts';
import type { Publisher } from '../ports/events/publisher.ts';
import { startReconciler } from './reconciler.ts';
import { relayOutbox } from './relay-outbox.ts';

const emit = (database: Database, subject: string) =>
  database.write(PLATFORM, (tx) => insertOutboxEvent(tx, anEvent({ subject })));

const lag = (database: Database) => database.read(PLATFORM, outboxLag);

const outbox = (database: Database) =>
  database.read(PLATFORM, async (reader) => {
    const { rows } = await reader.query<{
      id: string;
      subject: string;
      attempt_count: number;
      last_error: string | null;
      sent: boolean;
    }>(
      'select id, subject, attempt_count, last_error, sent_at is not null as sent from outbox_events order by outbox_events.xid, id',
    );
    return rows;
  });

const publisherTo = (t: TestContext, nats: TestNats): Publisher => {
  const publisher = createNatsPublisher({ url: nats.url });
  t.after(() => publisher.close());
  return publisher;
};

const startRelay = (t: TestContext, database: Database, publisher: Publisher) => {
  const stop = new AbortController();
  const relay = startReconciler({
    name: 'relay',
    run: (signal) => relayOutbox({ database, publisher }, signal),
    intervalMs: 20,
    log: silentLog(),
    signal: stop.signal,
  });
  t.after(() => relay.stop());
  return relay;
};

const drained = (database: Database): Promise<void> =>
  until('every event is sent', async () => (await lag(database)).unsent === 0);

describe('the relay to JetStream', { skip: requires('nats-server') }, () => {
  test('publishes events in commit order as CloudEvents and marks them sent', async (t) => {
    const nats = await startNats(t);
    const { database } = await testDatabase(t);
    for (let i = 0; i < 30; i++) await emit(database, `s${i}`);
    assert.equal((await lag(database)).unsent, 30);
    assert.ok((await lag(database)).oldest_age_s > 0);
    await relayOutbox({ database, publisher: publisherTo(t, nats) });
    const messages = await nats.stored();
    assert.deepEqual(
      messages.map((message) => message.body['subject']),
      Array.from({ length: 30 }, (_, i) => `s${i}`),
    );
    const [first] = messages;
    assert.equal(first?.subject, 'gpuaas.project.updated');
    assert.equal(first?.id, first?.body['id']);
    assert.deepEqual(Object.keys(first?.body ?? {}).sort(), [
      'correlationid',
      'data',
      'datacontenttype',
      'id',
      'organizationid',
      'projectid',
      'source',
      'specversion',
      'subject',
      'time',
      'type',
    ]);
    assert.deepEqual(await lag(database), { unsent: 0, oldest_age_s: 0 });
  });

  test('killed between publishing and marking, it publishes again without duplicates (F13)', async (t) => {
    const nats = await startNats(t);
    const { database } = await testDatabase(t);
    const publisher = publisherTo(t, nats);
    for (let i = 0; i < 5; i++) await emit(database, `s${i}`);
    const killed: Publisher = {
      ...publisher,
      publish: async (events) => {
        await publisher.publish(events);
        throw new Error('killed');
      },
    };
    await assert.rejects(relayOutbox({ database, publisher: killed }), /killed/);
    assert.equal((await lag(database)).unsent, 5);
    assert.equal((await nats.stored()).length, 5);
    for (let i = 5; i < 8; i++) await emit(database, `s${i}`);
    await relayOutbox({ database, publisher });
    assert.equal((await lag(database)).unsent, 0);
    assert.deepEqual(
      (await nats.stored()).map((message) => message.body['subject']),
      ['s0', 's1', 's2', 's3', 's4', 's5', 's6', 's7'],
    );
  });

  test('a NATS outage loses nothing and keeps the order; a wiped store continues (F12)', async (t) => {
    const nats = await startNats(t);
    const { database } = await testDatabase(t);
    startRelay(t, database, publisherTo(t, nats));
    await emit(database, 's0');
    await drained(database);
    await nats.kill();
    for (let i = 1; i < 6; i++) await emit(database, `s${i}`);
    await until('an event was refused', async () => (await outbox(database)).some((row) => row.last_error !== null));
    const waiting = await outbox(database);
    assert.equal((await lag(database)).unsent, 5);
    assert.ok(waiting.some((row) => row.attempt_count > 0 && !row.sent));
    await nats.start();
    await drained(database);
    assert.deepEqual(
      (await nats.stored()).map((message) => message.body['subject']),
      ['s0', 's1', 's2', 's3', 's4', 's5'],
    );
    assert.ok((await outbox(database)).every((row) => row.sent && row.last_error === null));

    await nats.kill();
    nats.wipe();
    await nats.start();
    await emit(database, 's6');
    await drained(database);
    assert.deepEqual(
      (await nats.stored()).map((message) => message.body['subject']),
      ['s6'],
    );
  });

  test('a stream removed under a running server is created again', async (t) => {
    const nats = await startNats(t);
    const { database } = await testDatabase(t);
    startRelay(t, database, publisherTo(t, nats));
    await emit(database, 's0');
    await drained(database);
    await nats.removeStream();
    await emit(database, 's1');
    await emit(database, 's2');
    await drained(database);
    assert.deepEqual(
      (await nats.stored()).map((message) => message.body['subject']),
      ['s1', 's2'],
    );
  });

  test('two relays under load neither duplicate nor reorder', async (t) => {
    const nats = await startNats(t);
    const { database, ownerUrl } = await testDatabase(t, { poolMax: 12 });
    const other = createDatabase({ url: ownerUrl, role: 'gpuaas_app', log: silentLog(), poolMax: 4 });
    const relays = [startRelay(t, database, publisherTo(t, nats)), startRelay(t, other, publisherTo(t, nats))];
    const writer = async (number: number) => {
      for (let i = 0; i < 50; i++)
        await database.write(PLATFORM, async (tx) => {
          await insertOutboxEvent(tx, anEvent({ subject: `w${number}.${i}` }));
          if ((i + number) % 9 === 0) await tx.query('select pg_sleep(0.01)');
        });
    };
    await Promise.all(Array.from({ length: 6 }, (_, number) => writer(number)));
    await drained(database);
    await Promise.all(relays.map((relay) => relay.stop()));
    const order = (await outbox(database)).map((row) => row.id);
    assert.equal(order.length, 300);
    assert.deepEqual(
      (await nats.stored()).map((message) => message.id),
      order,
    );
    await other.end();
  });
});

test('an event that commits late is not skipped', async (t) => {
  const { database } = await testDatabase(t);
  const stream = createMemoryStream();
  const publisher = stream.connect();
  const told = () => stream.stored().map((event) => event['subject']);
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const slow = database.write(PLATFORM, async (tx) => {
    await insertOutboxEvent(tx, anEvent({ subject: 'late' }));
    begun.resolve();
    await gate.promise;
  });
  await begun.promise;
  await emit(database, 'early');
  await relayOutbox({ database, publisher });
  assert.deepEqual(told(), [], 'nothing may be told past a running transaction');
  gate.resolve();
  await slow;
  await relayOutbox({ database, publisher });
  assert.deepEqual(told(), ['late', 'early']);
});

test('a failure in the middle of a batch marks the stored events and holds back the rest', async (t) => {
  const { database } = await testDatabase(t);
  for (let i = 0; i < 4; i++) await emit(database, `s${i}`);
  const stream = createMemoryStream();
  stream.failAfter(2);
  const publisher = stream.connect();
  const refused = 'The stream refused the event.';
  await assert.rejects(relayOutbox({ database, publisher }), { message: refused });
  assert.deepEqual(
    (await outbox(database)).map(({ subject, sent, attempt_count, last_error }) => [
      subject,
      sent,
      attempt_count,
      last_error,
    ]),
    [
      ['s0', true, 1, null],
      ['s1', true, 1, null],
      ['s2', false, 1, refused],
      ['s3', false, 1, refused],
    ],
  );
  await relayOutbox({ database, publisher });
  assert.deepEqual(
    stream.stored().map((event) => event['subject']),
    ['s0', 's1', 's2', 's3'],
  );
});

test('without NATS events are delivered in process: marked, and waiting readers are woken', async (t) => {
  const { database } = await testDatabase(t);
  const hub = createEventHub();
  for (let i = 0; i < 1_100; i += 100)
    await database.write(PLATFORM, async (tx) => {
      for (let k = 0; k < 100; k++) tx.defer(insertOutboxEvent(tx, anEvent({ subject: `s${i + k}` })));
    });
  const woken = hub.wait(60_000);
  const publisher = createMemoryStream({ events_max: 0 }).connect();
  await relayOutbox({ database, publisher, hub });
  await woken;
  assert.equal((await lag(database)).unsent, 0);
});

test('events of one transaction keep the order in which they were emitted', async (t) => {
  const { database } = await testDatabase(t);
  await database.write(PLATFORM, async (tx) => {
    for (let i = 0; i < 500; i++) tx.defer(insertOutboxEvent(tx, anEvent({ subject: `s${i}` })));
  });
  assert.deepEqual(
    (await outbox(database)).map((row) => row.subject),
    Array.from({ length: 500 }, (_, i) => `s${i}`),
  );
});
