import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from '@gpuaas/kit';
import { startTestApp } from '../../test/app.ts';
import { testDatabase } from '../../test/database.ts';
import { until } from '../../test/until.ts';
import { PLATFORM } from '../db/client.ts';
import { INVARIANTS } from '../db/invariant.ts';
import { createInvariantWatch } from './check-invariants.ts';

test('a violated invariant is counted and logged with its rule and rows, and ends when fixed', async (t) => {
  const { database } = await testDatabase(t);
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    service: 'test',
    host_role: 'platform_control',
    destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
  });
  const watch = createInvariantWatch({ database, log });
  assert.equal(watch.counts().size, 0);
  await database.write(PLATFORM, async (tx) => {
    await tx.query("insert into organizations (id, name, display_name, kind) values ('org_a', 'a', 'a', 'personal')");
    await tx.query("insert into quotas (organization_id, gpu_used) values ('org_a', 3)");
  });
  await watch.run();
  assert.equal(watch.counts().size, INVARIANTS.length);
  assert.equal(watch.counts().get('quota_matches_claims'), 1);
  assert.deepEqual(
    lines.map((line) => [line['level'], line['message'], line['invariant'], line['count']]),
    [['error', 'invariant violated', 'quota_matches_claims', 1]],
  );
  assert.match(JSON.stringify(lines[0]), /used 3, claims hold 0/);
  await database.write(PLATFORM, (tx) => tx.query('update quotas set gpu_used = 0'));
  await watch.run();
  assert.equal(watch.counts().get('quota_matches_claims'), 0);
  assert.equal(lines.length, 1);
});

test('a failing check does not block the others, and its age shows it', async (t) => {
  const { database } = await testDatabase(t);
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    service: 'test',
    host_role: 'platform_control',
    destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
  });
  let now = 0;
  const watch = createInvariantWatch({
    database,
    log,
    clock: { now: () => new Date(now) },
    invariants: [
      { name: 'broken', rule: 'Cannot be asked.', sql: 'select from nowhere' },
      { name: 'sound', rule: 'Holds.', sql: "select 'x' as subject_id, 'x' as detail where false" },
    ],
  });
  now = 60_000;
  await watch.run();
  now = 90_000;
  assert.deepEqual([...watch.counts()], [['sound', 0]]);
  assert.deepEqual(
    [...watch.ages()],
    [
      ['broken', 90],
      ['sound', 30],
    ],
  );
  assert.deepEqual(
    lines.map((line) => [line['message'], line['invariant']]),
    [['failed to check invariant', 'broken']],
  );
});

test('the worker exports the metric of every invariant', async (t) => {
  const closers: (() => Promise<void>)[] = [];
  const app = await startTestApp({ after: (fn) => void closers.unshift(fn) });
  t.after(async () => {
    for (const close of closers) await close();
  });
  const metrics = async () => String((await app.bearer(null).get('/metrics')).body);
  await until('the first look is over', async () =>
    (await metrics()).includes('gpuaas_invariant_violations{invariant="quota_matches_claims"} 0'),
  );
  for (const { name } of INVARIANTS)
    assert.match(await metrics(), new RegExp(`gpuaas_invariant_violations\\{invariant="${name}"\\} 0`));
  assert.match(await metrics(), /gpuaas_invariant_age_seconds\{invariant="quota_matches_claims"\} \d/);
});
