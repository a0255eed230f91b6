import '../../test/own-cluster.ts';
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { silentLog } from '@gpuaas/kit';
import { testDatabase } from '../../test/database.ts';
import { anAuditRow, anEvent } from '../../test/rows.ts';
import type { ReadCtx } from '../context.ts';
import { insertAuditLog } from '../db/audit.ts';
import { createDatabase, type Database, PLATFORM, type Reader, type Scope } from '../db/client.ts';
import { INVARIANTS } from '../db/invariant.ts';
import { insertOutboxEvent, listEvents, type NewOutboxEvent } from '../db/outbox.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { createEventFeed } from '../pipeline/event-feed.ts';
import { createEventHub } from '../ports/events/hub.ts';
import { startListening } from '../ports/events/listen.ts';
import { createWaker } from '../ports/events/waker.ts';
import { adminEventStream, eventList, eventStream, organizationEventList, organizationEventStream } from './event.ts';

const SCOPE: Scope = { tenant_id: 'org_a', principal_id: 'usr_a' };

const contextOf = (database: Database, operation: string, hub = createEventHub()): ReadCtx =>
  ({
    deps: { database, events: createEventFeed({ database, hub, log: silentLog() }) },
    operation,
    principal: null,
    organization_id: 'org_a',
    project_id: 'prj_a',
    read: <T>(fn: (reader: Reader) => Promise<T>) => database.read(SCOPE, fn),
  }) as unknown as ReadCtx;

const emit = (database: Database, event: Partial<NewOutboxEvent> = {}) =>
  database.write(PLATFORM, (tx) => insertOutboxEvent(tx, anEvent(event)));

const request = <Q>(query: Q, last_event_id?: string) =>
  ({ params: { project_id: 'prj_a' }, query, body: {}, if_match: undefined, last_event_id }) as const;

/** The next `count` subjects of a stream. */
const take = async (events: AsyncIterator<{ subject: string }>, count: number): Promise<string[]> => {
  const subjects: string[] = [];
  while (subjects.length < count) {
    const step = await events.next();
    if (step.done) break;
    subjects.push(step.value.subject);
  }
  return subjects;
};

const iterate = async (ctx: ReadCtx, query: { type?: string } = {}, last?: string) =>
  (await eventStream(ctx, request(query, last)))[Symbol.asyncIterator]();

/** A transaction that has written an event and waits to commit. */
const heldEvent = async (database: Database, subject: string): Promise<() => Promise<void>> => {
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const done = database.write(PLATFORM, async (tx) => {
    await insertOutboxEvent(tx, anEvent({ subject }));
    begun.resolve();
    await gate.promise;
  });
  await begun.promise;
  return () => {
    gate.resolve();
    return done;
  };
};

test('a project lists its own events in commit order, page by page, by type', async (t) => {
  const { database } = await testDatabase(t);
  const ctx = contextOf(database, 'eventList');
  for (let i = 0; i < 5; i++) await emit(database, { subject: `s${i}` });
  await emit(database, { subject: 'made', event_type: 'project.created' });
  await emit(database, { subject: 'elsewhere', project_id: 'prj_b' });
  await emit(database, { subject: 'foreign', organization_id: 'org_b' });
  const subjects: string[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await eventList(ctx, request({ limit: 2, ...(cursor ? { cursor } : {}) }));
    subjects.push(...page.items.map((item) => item.subject));
    cursor = page.next_cursor;
  } while (cursor !== null);
  assert.deepEqual(subjects, ['s0', 's1', 's2', 's3', 's4', 'made']);
  const typed = await eventList(ctx, request({ type: 'project.created' }));
  assert.deepEqual(
    typed.items.map((item) => item.subject),
    ['made'],
  );
});

test('an organization lists and follows its own events and those of all its projects, and of no other', async (t) => {
  const { database } = await testDatabase(t);
  const ctx = { ...contextOf(database, 'organizationEventList'), project_id: null } as ReadCtx;
  const ask = <Q>(query: Q, last_event_id?: string) => ({
    ...request(query, last_event_id),
    params: { organization_id: 'org_a' },
  });
  const follow = async (last?: string) => (await organizationEventStream(ctx, ask({}, last)))[Symbol.asyncIterator]();
  const all = ['own', 'in a', 'in b'];
  const stream = await follow();
  const ofProject = await iterate(contextOf(database, 'eventStream'));
  await emit(database, { subject: 'own', project_id: null });
  await emit(database, { subject: 'foreign', organization_id: 'org_b', project_id: null });
  await emit(database, { subject: 'foreign project', organization_id: 'org_b', project_id: 'prj_z' });
  await emit(database, { subject: 'of none', organization_id: null, project_id: null });
  await emit(database, { subject: 'in a' });
  await emit(database, { subject: 'in b', project_id: 'prj_b' });
  const told = [];
  while (told.length < 3) told.push((await stream.next()).value);
  assert.deepEqual(
    told.map((event) => [event?.subject, event?.organizationid, event?.projectid]),
    [
      ['own', 'org_a', undefined],
      ['in a', 'org_a', 'prj_a'],
      ['in b', 'org_a', 'prj_b'],
    ],
  );
  assert.deepEqual(await take(ofProject, 1), ['in a'], 'a project hears nothing of its organization');
  const subjects: string[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await organizationEventList(ctx, ask({ limit: 2, ...(cursor ? { cursor } : {}) }));
    subjects.push(...page.items.map((item) => item.subject));
    cursor = page.next_cursor;
  } while (cursor !== null);
  assert.deepEqual(subjects, all);
  const resumed = await follow(told[0]?.id);
  assert.deepEqual(await take(resumed, 2), all.slice(1));
  const { rows } = await database.read(PLATFORM, (tx) =>
    tx.query<{ id: string }>("select id from outbox_events where subject = 'foreign'"),
  );
  await assert.rejects(follow(rows[0]?.id), { code: 'gone', message: REFUSALS.events_gone });
  for (const open of [stream, ofProject, resumed]) await open.return?.();
});

test('a malformed cursor is a bad request, not a failed query', async (t) => {
  const { database } = await testDatabase(t);
  const ctx = contextOf(database, 'eventList');
  for (const key of [['x', 'evt_a'], ['99999999999999999999', 'evt_a'], [7, 'evt_a'], ['-1', 'evt_a'], ['1']]) {
    const cursor = Buffer.from(JSON.stringify(['eventList', 'prj_a', ...key])).toString('base64url');
    await assert.rejects(eventList(ctx, request({ cursor })), { code: 'invalid_request' });
  }
});

test('a stream starts now, or after the event it names, and is refused when that event is unknown, of others or purged', async (t) => {
  const { database, ownerUrl } = await testDatabase(t);
  const ctx = contextOf(database, 'eventStream');
  await emit(database, { subject: 's0' });
  await emit(database, { subject: 's1' });
  const [s0] = (await eventList(contextOf(database, 'eventList'), request({}))).items;
  const fresh = await iterate(ctx);
  const resumed = await iterate(ctx, {}, s0?.id);
  const typed = await iterate(ctx, { type: 'project.created' });
  await emit(database, { subject: 's2' });
  await emit(database, { subject: 's3', event_type: 'project.created' });
  assert.deepEqual(await take(fresh, 2), ['s2', 's3']);
  assert.deepEqual(await take(resumed, 3), ['s1', 's2', 's3']);
  assert.deepEqual(await take(typed, 1), ['s3']);
  for (const stream of [fresh, resumed, typed]) await stream.return?.();

  await emit(database, { subject: 'elsewhere', project_id: 'prj_b' });
  const { rows } = await database.read(PLATFORM, (tx) =>
    tx.query<{ id: string }>("select id from outbox_events where subject = 'elsewhere'"),
  );
  const owner = createDatabase({ url: ownerUrl, log: silentLog(), poolMax: 1 });
  t.after(() => owner.end());
  await owner.write(PLATFORM, (tx) => tx.query('delete from outbox_events where id = $1', [s0?.id]));
  for (const id of ['evt_00000000000000000000000000', 'no id', rows[0]?.id, s0?.id])
    await assert.rejects(iterate(ctx, {}, id), { code: 'gone', message: REFUSALS.events_gone }, id);
});

test('a stream delivers an event that commits late, and not one committed before it began', async (t) => {
  const { database } = await testDatabase(t);
  const commitOld = await heldEvent(database, 'held before');
  await emit(database, { subject: 'committed before' });
  const stream = await iterate(contextOf(database, 'eventStream'));
  const commitNew = await heldEvent(database, 'held after');
  await emit(database, { subject: 'after' });
  await commitOld();
  assert.deepEqual(await take(stream, 1), ['held before']);
  await commitNew();
  assert.deepEqual(await take(stream, 2), ['held after', 'after']);
  await stream.return?.();
});

test('a stream that resumes behind a late event still delivers it once', async (t) => {
  const { database } = await testDatabase(t);
  const ctx = contextOf(database, 'eventStream');
  await emit(database, { subject: 's0' });
  const first = (await eventList(contextOf(database, 'eventList'), request({}))).items[0];
  const commit = await heldEvent(database, 'late');
  await emit(database, { subject: 's1' });
  const stream = await iterate(ctx, {}, first?.id);
  const two = take(stream, 2);
  await commit();
  assert.deepEqual(await two, ['late', 's1']);
  await stream.return?.();
});

/** A transaction that has its id and writes its event later, as one that waits for a lock. */
const waitingEvent = async (database: Database, subject: string) => {
  const [begun, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const [mayWrite, mayCommit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const done = database.write(PLATFORM, async (tx) => {
    await tx.query('select pg_current_xact_id()');
    begun.resolve();
    await mayWrite.promise;
    await insertOutboxEvent(tx, anEvent({ subject }));
    written.resolve();
    await mayCommit.promise;
  });
  await begun.promise;
  return {
    write: () => {
      mayWrite.resolve();
      return written.promise;
    },
    commit: () => {
      mayCommit.resolve();
      return done;
    },
  };
};

test('an event is read after those that were committed before it was written, though its transaction is older', async (t) => {
  const { database } = await testDatabase(t);
  const ctx = contextOf(database, 'eventStream');
  const stream = await iterate(ctx);
  t.after(() => stream.return?.());
  const release = await waitingEvent(database, 'releasing');
  await emit(database, { subject: 'provisioning' });
  await release.write();
  await release.commit();
  await emit(database, { subject: 'released' });
  const order = ['provisioning', 'releasing', 'released'];
  assert.deepEqual(await take(stream, 3), order);
  const { items } = await eventList(contextOf(database, 'eventList'), request({}));
  assert.deepEqual(
    items.map(({ subject }) => subject),
    order,
  );
  const resumed = await iterate(ctx, {}, items[0]?.id);
  t.after(() => resumed.return?.());
  assert.deepEqual(await take(resumed, 2), order.slice(1));
});

test('a stream delivers an event that was written before it began and placed behind others, once', async (t) => {
  const { database } = await testDatabase(t);
  const late = await waitingEvent(database, 'late');
  await emit(database, { subject: 'committed before' });
  await late.write();
  const stream = await iterate(contextOf(database, 'eventStream'));
  t.after(() => stream.return?.());
  await late.commit();
  for (const subject of ['after', 'last']) await emit(database, { subject });
  assert.deepEqual(await take(stream, 2), ['late', 'after']);
});

test('an event placed behind others is compared with the audit row of its own transaction', async (t) => {
  const { database } = await testDatabase(t);
  await database.write(PLATFORM, async (tx) => {
    await tx.query('select pg_current_xact_id()');
    await emit(database, { subject: 'committed before' });
    const change = { event_type: 'allocation.changed', subject: 'alc_a', data: { state: 'releasing' } };
    await insertOutboxEvent(tx, anEvent(change));
    await insertAuditLog(tx, anAuditRow({ target_kind: 'allocation', target_id: 'alc_a' }));
  });
  const audited = INVARIANTS.find(({ name }) => name === 'change_is_audited');
  const { rows } = await database.read(PLATFORM, (reader) => reader.query(audited?.sql ?? ''));
  assert.deepEqual(rows, []);
});

test('the platform stream delivers events of every tenant and of none; the latter name no organization', async (t) => {
  const { database } = await testDatabase(t);
  const ctx = { ...contextOf(database, 'adminEventStream'), read: (fn) => database.read(PLATFORM, fn) } as ReadCtx;
  const stream = async (query: { type?: string } = {}, last_event_id?: string) =>
    (await adminEventStream(ctx, { ...request(query, last_event_id), params: {} }))[Symbol.asyncIterator]();
  await emit(database, { subject: 'before' });
  const all = await stream();
  const typed = await stream({ type: 'node.changed' });
  const commit = await heldEvent(database, 'late');
  await emit(database, { subject: 'mine' });
  await emit(database, { subject: 'theirs', organization_id: 'org_b', project_id: 'prj_b' });
  await emit(database, { subject: 'host', event_type: 'node.changed', organization_id: null, project_id: null });
  await commit();
  const told = [];
  while (told.length < 4) told.push((await all.next()).value);
  assert.deepEqual(
    told.map((event) => [event?.subject, event?.organizationid, event?.projectid]),
    [
      ['late', 'org_a', 'prj_a'],
      ['mine', 'org_a', 'prj_a'],
      ['theirs', 'org_b', 'prj_b'],
      ['host', undefined, undefined],
    ],
  );
  assert.ok(told[3] !== undefined && !('projectid' in told[3]));
  assert.deepEqual(await take(typed, 1), ['host']);
  const resumed = await stream({}, told[1]?.id);
  assert.deepEqual(await take(resumed, 2), ['theirs', 'host']);
  for (const open of [all, typed, resumed]) await open.return?.();
});

test('the next platform events are found by their position in commit order, regardless of their number', async (t) => {
  const { database, ownerUrl } = await testDatabase(t);
  const owner = createDatabase({ url: ownerUrl, log: silentLog(), poolMax: 1 });
  t.after(() => owner.end());
  await owner.write(PLATFORM, async (tx) => {
    await tx.query(`insert into outbox_events (id, event_type, subject, data, correlation_id, sent_at)
      select 'evt_' || lpad(n::text, 26, '0'), 'node.changed', 'x', '{}', 'c', now() from generate_series(1, 20000) n`);
    await tx.query('analyze outbox_events');
  });
  let plan = '';
  await database.read(PLATFORM, async (reader) => {
    const explaining: Reader = {
      query: async (text, values) => {
        if (!text.includes('outbox_events')) return reader.query(text, values);
        const { rows } = await reader.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values);
        plan = rows.map((row) => row['QUERY PLAN']).join('\n');
        return { rows: [], rowCount: 0 };
      },
    };
    await listEvents(explaining, { of: null, after: { xid: '5', id: '' }, limit: 200 });
  });
  assert.match(plan, /Index Scan using outbox_events_by_commit/);
  assert.doesNotMatch(plan, /Sort/);
});

const abortable = (t: TestContext) => {
  const controller = new AbortController();
  t.after(() => controller.abort());
  return controller;
};

test('a stream ends immediately when it is aborted or returned while it waits', async (t) => {
  const { database } = await testDatabase(t);
  const controller = abortable(t);
  const ctx = contextOf(database, 'eventStream');
  const of = { organization_id: 'org_a', project_id: 'prj_a' };
  const stream = await ctx.deps.events.follow({ read: ctx.read, of, signal: controller.signal });
  const pending = stream.next();
  controller.abort();
  assert.equal((await pending).done, true);
  const returned = await iterate(ctx);
  const waiting = returned.next();
  await returned.return?.();
  assert.equal((await waiting).done, true);
});

test('an event reaches a stream in another process by notification, even after the connection broke', async (t) => {
  const { database, ownerUrl } = await testDatabase(t, { wake: () => waker.afterCommit() });
  const other = createDatabase({ url: ownerUrl, role: 'gpuaas_app', log: silentLog(), poolMax: 4 });
  const signal = abortable(t).signal;
  const hub = createEventHub();
  const listener = startListening({ database: other, hub, log: silentLog(), signal });
  await listener.ready;
  const waker = createWaker({ database, hub: createEventHub(), log: silentLog() });
  const tell = async (subject: string) =>
    database.write(PLATFORM, async (tx) => {
      await insertOutboxEvent(tx, anEvent({ subject }));
      tx.wake();
    });
  const woken = hub.wait(60_000);
  await tell('s0');
  await woken;

  // Without polling, so that only notifications can wake it.
  const unpolled = { wake: hub.wake, wait: (_: number, abort?: AbortSignal) => hub.wait(60_000, abort) };
  const stream = await createEventFeed({ database: other, hub: unpolled, log: silentLog() }).follow({
    read: (fn) => other.read(SCOPE, fn),
    of: { organization_id: 'org_a', project_id: 'prj_a' },
    signal,
  });
  const first = take(stream, 1);
  await tell('s1');
  assert.deepEqual(await first, ['s1']);

  // Losing the connection wakes no listener, restoring it wakes all.
  const back = hub.wait(60_000);
  const owner = createDatabase({ url: ownerUrl, log: silentLog(), poolMax: 1 });
  const ended = await owner.write(PLATFORM, (tx) =>
    tx.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %' and datname = current_database()",
    ),
  );
  await owner.end();
  assert.equal(ended.rowCount, 1);
  await back;
  const second = take(stream, 1);
  await tell('s2');
  assert.deepEqual(await second, ['s2']);
  await stream.return?.();
  await waker.stop();
  await listener.stop();
  await other.end();
});

test('a thousand simultaneous commits send a handful of notifications', async (t) => {
  const { database } = await testDatabase(t);
  let connects = 0;
  const counting = {
    connect: () => {
      connects += 1;
      return database.connect();
    },
  };
  const hub = createEventHub();
  const waker = createWaker({ database: counting, hub, log: silentLog() });
  const woken = hub.wait(60_000);
  for (let i = 0; i < 1_000; i++) waker.afterCommit();
  await woken;
  await waker.stop();
  assert.equal(connects, 2, 'the first at once, and one for all that came after');
});
