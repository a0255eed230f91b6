import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createLoopWatch, silentLog, systemClock } from '@gpuaas/kit';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { until } from '../../test/until.ts';
import { createEventHub } from '../ports/events/hub.ts';
import { createDispatcher } from './poll-dispatcher.ts';

const LIMIT_MS = 600_000;

it('a round that does not end is a stalled loop, although the dispatcher still wakes up', async (t) => {
  const open: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const close of open.toReversed()) await close();
  });
  const db = await testDatabase({ after: (fn) => void open.push(fn) });
  const sql = new Client({ connectionString: db.ownerUrl });
  await sql.connect();
  open.push(() => sql.end());
  let now = 0;
  const loops = createLoopWatch(() => now);
  const stalled = () => loops.stalled(LIMIT_MS).map(({ loop }) => loop);
  const hub = createEventHub();
  const trust = { current: () => ({ bundle: { version: 'v' } }) } as never;
  const deps = { database: db.database, clock: systemClock, log: silentLog(), hub, trust, secrets: {} as never };
  const dispatcher = createDispatcher({ ...deps, loops });
  open.push(() => dispatcher.stop());
  now += LIMIT_MS + 1_001;
  await until('a turn without polls', () => {
    hub.wake();
    return loops.ages()[0]?.overdue_ms === 0;
  });
  await sql.query('begin');
  await sql.query('lock table node_tasks in access exclusive mode');
  const request = { journaled_task_ids: [], trust_version: 'v', wait_s: 15, no_tasks_reason: null };
  const held = dispatcher.wait(`nod_${'1'.repeat(26)}`, request);
  await until('the round waits', async () => {
    const { rows } = await sql.query("select 1 from pg_locks where relation = 'node_tasks'::regclass and not granted");
    return rows.length > 0;
  });
  now += LIMIT_MS + 1_001;
  hub.wake();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(stalled(), ['dispatch-tasks']);
  await sql.query('rollback');
  await until('the round ends', () => stalled().length === 0);
  await dispatcher.stop();
  await held.response;
  assert.deepEqual(loops.ages(), [], 'it ends with the dispatcher');
});
