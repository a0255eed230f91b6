/** Commit order of one database in a cluster with others: what may delay it, and that nothing is ever skipped. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { anEvent } from '../../test/rows.ts';
import { until } from '../../test/until.ts';
import { createMemoryStream } from '../ports/events/memory.ts';
import { relayOutbox } from '../reconcilers/relay-outbox.ts';
import { PLATFORM } from './client.ts';
import { commitOrderDelay, insertOutboxEvent, listEvents, type OutboxPosition } from './outbox.ts';

const WRITERS = 12;
const EVENTS_PER_WRITER = 60;

describe('commit order', () => {
  const closers: (() => Promise<void>)[] = [];
  const t = { after: (fn: () => Promise<void>) => void closers.unshift(fn) };
  after(async () => {
    for (const close of closers) await close();
  });

  /** A transaction that has written and stays open. */
  const openWriter = async (url: string): Promise<Client> => {
    const client = new Client({ connectionString: url });
    await client.connect();
    t.after(() => client.end());
    await client.query('begin');
    await client.query('create table open_writer (id int)');
    return client;
  };

  it('a long writer in another database of the cluster delays nothing; one of this database does, and it is measured', async () => {
    const [db, other] = [await testDatabase(t), await testDatabase(t)];
    const { database } = db;
    const stream = createMemoryStream({ events_max: 10 });
    const relay = () => relayOutbox({ database, publisher: stream.connect() });
    const emit = (subject: string) => database.write(PLATFORM, (tx) => insertOutboxEvent(tx, anEvent({ subject })));
    const unsent = async () =>
      (
        await database.read(PLATFORM, (reader) =>
          reader.query<{ subject: string }>('select subject from outbox_events where sent_at is null order by id'),
        )
      ).rows.map((row) => row.subject);

    await openWriter(other.ownerUrl);
    await emit('despite another database');
    await until('the relay to send it', async () => {
      await relay();
      return (await unsent()).length === 0;
    });

    const own = await openWriter(db.ownerUrl);
    await emit('behind an own writer');
    await relay();
    assert.deepEqual(await unsent(), ['behind an own writer']);
    assert.ok((await database.read(PLATFORM, commitOrderDelay)) > 0);
    await own.query('commit');
    await until('the relay to send it', async () => {
      await relay();
      return (await unsent()).length === 0;
    });
    assert.equal(await database.read(PLATFORM, commitOrderDelay), 0);
  });

  it('a reader that follows many concurrent writers, of this and another database, sees every event once', async () => {
    const [db, other] = [await testDatabase(t, { poolMax: WRITERS + 2 }), await testDatabase(t, { poolMax: 4 })];
    const written = new Set<string>();
    let isWriting = true;
    const writer = async (number: number): Promise<void> => {
      for (let at = 0; at < EVENTS_PER_WRITER; at++) {
        const subject = `w${number}-${at}`;
        await db.database.write(PLATFORM, async (tx) => {
          await insertOutboxEvent(tx, anEvent({ subject }));
          // Some stay open while later ones commit.
          if ((number + at) % 3 === 0) await tx.query('select pg_sleep(random() * 0.01)');
          if (at % 5 === 0) await tx.query('savepoint inner_part');
        });
        written.add(subject);
      }
    };
    const noise = async (): Promise<void> => {
      while (isWriting)
        await other.database.write(PLATFORM, async (tx) => {
          await insertOutboxEvent(tx, anEvent({ subject: 'elsewhere' }));
          await tx.query('select pg_sleep(random() * 0.02)');
        });
    };
    const seen: string[] = [];
    let position: OutboxPosition = { xid: '0', id: '' };
    const follow = async (): Promise<void> => {
      const rows = await db.database.read(PLATFORM, (reader) =>
        listEvents(reader, { of: null, after: position, limit: 50 }),
      );
      seen.push(...rows.map((row) => row.subject));
      position = rows.at(-1) ?? position;
    };
    const noises = Promise.all([noise(), noise(), noise()]);
    const writers = Promise.all(Array.from({ length: WRITERS }, (_, number) => writer(number))).finally(() => {
      isWriting = false;
    });
    while (isWriting) await follow();
    await Promise.all([writers, noises]);
    await until('the rest', async () => {
      await follow();
      return seen.length >= written.size;
    });
    assert.equal(new Set(seen).size, seen.length, 'none twice');
    assert.deepEqual([...seen].sort(), [...written].sort());
  });
});
