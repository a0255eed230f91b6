import assert from 'node:assert/strict';
import { appendFile, open, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TaskPayload, TaskResult } from '@gpuaas/contract/node';
import { mintId } from '@gpuaas/kit';
import { temporaryFolder } from '../test/agents.ts';
import { HostError } from './host/host.ts';
import { type Journal, openJournal } from './journal.ts';
import type { JournalFs } from './journal-file.ts';

const NODE = mintId('nod');
const payloadOf = (over: Partial<TaskPayload> = {}): TaskPayload => ({
  task_id: mintId('tsk'),
  node_id: NODE,
  kind: 'diag.health_probe',
  attempt: 1,
  params: {},
  allocation_id: null,
  correlation_id: 'cor_1',
  issued_at: '2026-01-01T00:00:00.000Z',
  expires_at: '2026-01-01T00:10:00.000Z',
  ...over,
});
const onSlot = (slotId: string, generation: number): TaskPayload =>
  payloadOf({ kind: 'slice.cleanup', params: { slots: [{ slot_id: slotId, generation }] } as never });
const RESULT: TaskResult = {
  attempt: 1,
  state: 'completed',
  error_code: null,
  reason: null,
  output: { report: 'x' },
  started_at: null,
  finished_at: '2026-01-01T00:00:01.000Z',
};
const live = async (journal: Journal, payload: TaskPayload): Promise<void> => {
  await journal.accept(payload);
  await journal.begin(payload.task_id);
  await journal.finish(payload.task_id, RESULT);
};

test('every step of a task is present after a restart', async (t) => {
  const state = await temporaryFolder(t);
  const [a, b, c, d] = [payloadOf(), payloadOf(), payloadOf(), payloadOf()];
  const first = await openJournal({ state });
  await first.accept(a);
  await first.accept(b);
  await first.begin(b.task_id);
  await live(first, c);
  await live(first, d);
  await first.acknowledge(d.task_id);
  await first.close();

  const second = await openJournal({ state });
  t.after(second.close);
  assert.deepEqual(
    second.open().map(({ task_id, state }) => [task_id, state]),
    [
      [a.task_id, 'accepted'],
      [b.task_id, 'begun'],
      [c.task_id, 'finished'],
    ],
  );
  assert.deepEqual(second.find(a.task_id)?.payload, a);
  assert.deepEqual(await second.resultOf(c.task_id), RESULT);
  assert.deepEqual(await second.resultOf(d.task_id), RESULT);
  assert.equal(second.judge(d).kind, 'known');
});

test('a task ID permanently belongs to one content, however often it is signed again', async (t) => {
  const journal = await openJournal({ state: await temporaryFolder(t) });
  t.after(journal.close);
  const payload = payloadOf();
  await journal.accept(payload);
  const resigned = { ...payload, issued_at: '2026-01-01T00:05:00.000Z', expires_at: '2026-01-01T00:15:00.000Z' };
  assert.equal(journal.judge(resigned).kind, 'known');
  assert.equal(journal.judge({ ...payload, kind: 'slice.reconcile' }).kind, 'forged');
  assert.equal(journal.judge({ ...payload, attempt: 2 }).kind, 'forged');
  assert.equal(journal.judge({ ...payload, params: { extra: 1 } as never }).kind, 'forged');
});

test('an older generation of a slot is permanently stale, also after compaction', async (t) => {
  const state = await temporaryFolder(t);
  const slot = mintId('slt');
  let now = new Date('2026-01-01T00:00:00Z');
  const options = { state, now: () => now, compact_above: 1 };
  const journal = await openJournal(options);
  const newest = onSlot(slot, 7);
  await live(journal, newest);
  assert.equal(journal.judge(onSlot(slot, 6)).kind, 'stale');
  assert.equal(journal.judge(onSlot(slot, 7)).kind, 'new');
  now = new Date('2026-01-03T00:00:00Z');
  await journal.acknowledge(newest.task_id);
  await journal.close();
  now = new Date('2026-01-05T00:00:00Z');
  const again = await openJournal(options);
  t.after(again.close);
  assert.equal(again.find(newest.task_id), undefined);
  assert.equal(again.judge(onSlot(slot, 6)).kind, 'stale');
  assert.equal(again.judge(onSlot(slot, 8)).kind, 'new');
});

test('compaction removes only tasks acknowledged long ago', async (t) => {
  const state = await temporaryFolder(t);
  let now = new Date('2026-01-01T00:00:00Z');
  const journal = await openJournal({ state, now: () => now, compact_above: 4096 });
  t.after(journal.close);
  const open = payloadOf();
  await journal.accept(open);
  const sizes: number[] = [];
  for (let i = 0; i < 200; i++) {
    now = new Date(now.getTime() + 3600_000);
    const payload = payloadOf();
    await live(journal, payload);
    await journal.acknowledge(payload.task_id);
    sizes.push((await stat(join(state, 'journal.jsonl'))).size);
  }
  assert.ok(Math.max(...sizes) < 80_000, `it grew to ${Math.max(...sizes)}`);
  assert.deepEqual(
    journal.open().map(({ task_id }) => task_id),
    [open.task_id],
  );
});

test('an incomplete last line is truncated, and new lines follow the last valid one', async (t) => {
  const state = await temporaryFolder(t);
  const path = join(state, 'journal.jsonl');
  const [a, b] = [payloadOf(), payloadOf()];
  const first = await openJournal({ state });
  await first.accept(a);
  await first.close();
  for (const tail of ['{"e":"begun","task_id":"tsk_', '\0\0\0\0\0', '{"e":"be\n\0\0']) {
    await appendFile(path, tail);
    const journal = await openJournal({ state });
    assert.equal(journal.torn_bytes, tail.length);
    assert.equal(journal.find(a.task_id)?.state, 'accepted');
    await journal.close();
  }
  const journal = await openJournal({ state });
  await journal.accept(b);
  await journal.close();
  assert.equal((await readFile(path, 'utf8')).trim().split('\n').length, 2);
});

test('damage in the middle is not taken for an incomplete end', async (t) => {
  const state = await temporaryFolder(t);
  const path = join(state, 'journal.jsonl');
  const journal = await openJournal({ state });
  await journal.accept(payloadOf());
  await journal.accept(payloadOf());
  await journal.close();
  const text = await readFile(path, 'utf8');
  await writeFile(path, `{"e":${text.slice(7)}`.replace('{"e":', '{"e'));
  await assert.rejects(openJournal({ state }), /damaged at line 1/);
});

/** A disk that fails the named operation on request; a failed write leaves half of its bytes behind. */
const failingDisk = () => {
  const faults = { write: '', datasync: '' };
  const fail = (code: string): never => {
    throw Object.assign(new Error(code), { code });
  };
  const fs: JournalFs = {
    open: (async (...args: Parameters<typeof open>) => {
      const handle = await open(...args);
      const write = handle.write.bind(handle) as unknown as (...args: unknown[]) => Promise<unknown>;
      const datasync = handle.datasync.bind(handle);
      Object.assign(handle, {
        write: async (bytes: Buffer, offset: number, length: number, position: number) => {
          if (faults.write === '') return write(bytes, offset, length, position);
          await write(bytes, offset, Math.floor(length / 2), position);
          return fail(faults.write);
        },
        datasync: () => (faults.datasync === '' ? datasync() : fail(faults.datasync)),
      });
      return handle;
    }) as typeof open,
  };
  return { fs, faults };
};

test('on a full disk no task is accepted, no partial line stays, and with space it continues', async (t) => {
  const state = await temporaryFolder(t);
  const { fs, faults } = failingDisk();
  const journal = await openJournal({ state, fs });
  const [a, b, c] = [payloadOf(), payloadOf(), payloadOf()];
  await journal.accept(a);
  faults.write = 'ENOSPC';
  await assert.rejects(journal.accept(b), (err: unknown) => err instanceof HostError && err.code === 'no_space');
  await assert.rejects(journal.begin(a.task_id), (err: unknown) => err instanceof HostError && err.code === 'no_space');
  assert.equal(journal.find(b.task_id), undefined);
  assert.equal(journal.find(a.task_id)?.state, 'accepted');
  // An event that cannot be written is kept in memory and written with the next line.
  assert.equal(await journal.finish(a.task_id, RESULT), false);
  assert.equal(journal.find(a.task_id)?.state, 'finished');
  faults.write = '';
  await journal.accept(c);
  await journal.close();
  const again = await openJournal({ state });
  t.after(again.close);
  assert.equal(again.torn_bytes, 0);
  assert.equal(again.find(a.task_id)?.state, 'finished');
  assert.equal(again.find(b.task_id), undefined);
  assert.equal(again.find(c.task_id)?.state, 'accepted');
});

test('after a failed sync the whole file is rewritten before anything is acknowledged', async (t) => {
  const state = await temporaryFolder(t);
  const { fs, faults } = failingDisk();
  const journal = await openJournal({ state, fs });
  const [a, b, c] = [payloadOf(), payloadOf(), payloadOf()];
  await journal.accept(a);
  faults.datasync = 'EIO';
  await assert.rejects(journal.accept(b), (err: unknown) => err instanceof HostError && err.code === 'host_error');
  const before = (await stat(join(state, 'journal.jsonl'))).ino;
  faults.datasync = '';
  await journal.accept(c);
  assert.notEqual((await stat(join(state, 'journal.jsonl'))).ino, before);
  await journal.close();
  const again = await openJournal({ state });
  t.after(again.close);
  assert.deepEqual(
    again.open().map(({ task_id }) => task_id),
    [a.task_id, c.task_id],
  );
});

const SECRET = 'the password of a tenant';
const startOf = (): TaskPayload =>
  payloadOf({ kind: 'slice.vm_start', params: { user_data: SECRET, slots: [] } as never });

test('the user data of a tenant is removed from the host when the task is acknowledged', async (t) => {
  const state = await temporaryFolder(t);
  const text = () => readFile(join(state, 'journal.jsonl'), 'utf8');
  const journal = await openJournal({ state });
  const [done, open] = [startOf(), startOf()];
  await live(journal, done);
  await journal.accept(open);
  assert.equal((await text()).split(SECRET).length - 1, 2, 'needed while it is not done');
  await journal.acknowledge(done.task_id);
  assert.equal((await text()).split(SECRET).length - 1, 1);
  assert.deepEqual(journal.find(open.task_id)?.payload, open);
  await journal.close();

  const again = await openJournal({ state });
  t.after(again.close);
  assert.deepEqual(again.find(open.task_id)?.payload, open, 'a restart goes on with it');
  assert.equal(again.judge(done).kind, 'known', 'it is judged by what was accepted');
  assert.equal(again.judge({ ...done, params: { user_data: null, slots: [] } as never }).kind, 'forged');
  assert.deepEqual(await again.resultOf(done.task_id), RESULT);
});

test('data that could not be removed from the journal goes with the next acknowledgement or start', async (t) => {
  const state = await temporaryFolder(t);
  const { fs, faults } = failingDisk();
  const text = () => readFile(join(state, 'journal.jsonl'), 'utf8');
  const trouble: unknown[] = [];
  const journal = await openJournal({ state, fs, onError: (err) => trouble.push(err) });
  const [start, cleanup] = [startOf(), payloadOf({ kind: 'slice.cleanup' })];
  await live(journal, start);
  await live(journal, cleanup);
  faults.write = 'ENOSPC';
  await journal.acknowledge(start.task_id);
  faults.write = '';
  assert.ok((await text()).includes(SECRET));
  await journal.acknowledge(cleanup.task_id);
  assert.equal((await text()).includes(SECRET), false);

  const left = startOf();
  await live(journal, left);
  await journal.close();
  await (await openJournal({ state })).close();
  assert.equal((await text()).includes(SECRET), false);
  assert.deepEqual(trouble, []);
});
