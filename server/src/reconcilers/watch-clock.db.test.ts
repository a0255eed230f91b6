/**
 * The clock of the database moves by hours, as seen from the data: every stored time is moved by as much the other way, and
 * so is the monotonic time of the process. No real clock is touched.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { createLoopWatch, silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import { startTestApp } from '../../test/app.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode, anAllocation } from '../../test/placement.ts';
import { anAuditRow } from '../../test/rows.ts';
import { readRun, scripted, start, workerOf } from '../../test/scripted-workflow.ts';
import { must } from '../../test/tenants.ts';
import { until } from '../../test/until.ts';
import { insertAuditLog } from '../db/audit.ts';
import { PLATFORM } from '../db/client.ts';
import { isClockTrusted } from '../db/clock-guard.ts';
import { claimIdempotencyKey, isKeyTaken } from '../db/idempotency.ts';
import { putHeartbeats } from '../db/node-agent.ts';
import { refreshSummary } from '../placement/summary.ts';
import { createHeadsFile } from '../ports/objects/heads-file.ts';
import { createSegmentFiles } from '../ports/objects/segment-files.ts';
import { waitForSignal } from '../workflows/engine/outcome.ts';
import { archiveAudit } from './archive-audit.ts';
import { endCooldown } from './end-cooldown.ts';
import { endGrace } from './end-grace.ts';
import { expireTasks } from './expire-tasks.ts';
import { markOffline } from './mark-offline.ts';
import { purgeExpired } from './purge-expired.ts';
import { releaseDue } from './release-due.ts';
import { sealAudit } from './seal-audit.ts';
import { createClockWatch } from './watch-clock.ts';

const CLOCK = '/api/v1/admin/clock';

/** Every stored time by which something ends, and the guard's own. */
const TIMES: Readonly<Record<string, readonly string[]>> = {
  allocations: ['created_at', 'activated_at', 'release_at'],
  usage_records: ['started_at'],
  workflow_runs: ['due_at', 'wake_at', 'lease_until', 'deadline_at', 'signal_deadline_at'],
  node_tasks: ['created_at', 'dispatched_at', 'expires_at'],
  idempotency_keys: ['expires_at'],
  trust_keys: ['state_since', 'retires_at'],
  node_agents: ['last_seen_at'],
  nodes: ['launch_failed_at'],
  clock_guard: ['seen_at', 'hold_since', 'ended_at'],
};

const world = async (t: TestContext) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const app = await startTestApp(t, { roles: ['gpuaas-api'] });
  const sql = new Client({ connectionString: app.db.ownerUrl });
  await sql.connect();
  open.push(sql);
  const { database } = app.db;
  const nodes: string[] = [];
  for (let count = 0; count < 4; count++) nodes.push((await aNode(sql)).id);
  const [first = ''] = nodes;
  const made = await anAllocation(sql, { node: { id: first }, state: 'active', max_duration_s: 7_200 } as never);
  await sql.query("update allocations set release_at = activated_at + interval '2 hours' where id = $1", [made.id]);
  await sql.query('update nodes set launch_failures = 1, launch_failed_at = now() where id = $1', [first]);
  for (const id of nodes) await database.write(PLATFORM, (tx) => refreshSummary(tx, id));
  const task = `tsk_${'1'.repeat(26)}`;
  await sql.query(
    `insert into node_tasks (id, node_id, kind, params, state, dispatched_at, correlation_id, expires_at)
     values ($1, $2, 'image.evict', '{}', 'running', now(), 'c', now() + interval '1 hour')`,
    [task, first],
  );
  await sql.query(
    `insert into idempotency_keys (tenant, principal_id, operation, key, request_hash, status, response, response_sealed, expires_at)
     values ('t', 'p', 'kept', 'k', sha256(''), 200, '', false, now() + interval '1 hour')`,
  );
  await sql.query(
    `insert into trust_keys (id, purpose, state, public_pem, fingerprint_sha256, sealed_private_key, retires_at)
     values ('tky_a', 'task_signer', 'grace', 'p', repeat('0', 64), '\\x00', now() + interval '1 hour')`,
  );
  const waiting = scripted({ one: async () => waitForSignal('never', 3_600_000, 'Waiting.') });
  const run = await start(database, waiting);
  await workerOf(database, [waiting]).tick();
  const gone = scripted({ one: async () => waitForSignal('never', 3_600_000, 'Waiting.') }, { version: 2 });
  const unknown = await start(database, gone);

  let monotonicMs = 0;
  const monotonic = () => performance.now() + monotonicMs;
  const watcher = () => createClockWatch({ database, log: silentLog(), monotonic });
  const jump = async (hours: number) => {
    monotonicMs -= hours * 3_600_000;
    for (const [table, columns] of Object.entries(TIMES))
      await sql.query(
        `update ${table} set ${columns.map((column) => `${column} = ${column} - make_interval(hours => $1)`).join(', ')}`,
        [hours],
      );
  };
  /** Every agent polls; the clocks of their hosts differ from the database by so much. */
  const poll = (skew_ms = 0, ids = nodes) =>
    database.write(PLATFORM, (tx) =>
      putHeartbeats(
        tx,
        ids.map((node_id) => ({
          node_id,
          ...{ agent_version: '0.1.0', boot_id: 'b', booted_at: '2026-01-01T00:00:00Z', kinds: [], trust_version: 'v' },
          ...{ clock_skew_ms: 0, age_ms: 0, host_time: new Date(Date.now() + skew_ms).toISOString() },
        })),
        { with_news: true },
      ),
    );
  /** Everything that ends something because a time has passed, once. */
  const passTime = async () => {
    const worker = workerOf(database, [waiting], { unknown_grace_ms: 0 });
    // A run that was looked at while its time had passed is looked at again half a minute later.
    await sql.query(
      "update workflow_runs set due_at = clock_timestamp() where state = 'waiting' and deadline_at <= clock_timestamp()",
    );
    const released = await releaseDue({ database });
    const expired = await expireTasks({ database });
    const retired = await endGrace({ database });
    const offline = await markOffline({ database });
    const cooled = await endCooldown({ database });
    const key = { tenant: 't', principal_id: 'p', operation: 'kept', key: 'k' };
    const reused = await database
      .write(PLATFORM, (tx) => claimIdempotencyKey(tx, key))
      .then(
        () => 1,
        (err: unknown) => {
          assert.ok(isKeyTaken(err), String(err));
          return 0;
        },
      );
    await purgeExpired({ database, history_days: 90, certificate_years: 7 });
    await worker.tick();
    const swept = await worker.sweep();
    const ended = (await readRun(database, run.id)).state === 'stuck' ? 1 : 0;
    const { rows } = await sql.query("select 1 from idempotency_keys where operation = 'kept'");
    return { released, expired, retired, offline, cooled, reused, purged: 1 - rows.length, swept, ended };
  };
  const isTrusted = () => database.read(PLATFORM, isClockTrusted);
  await poll();
  return { app, database, sql, watcher, jump, poll, passTime, isTrusted, nodes, made, task, unknown };
};

const NOTHING = {
  released: 0,
  expired: 0,
  retired: 0,
  offline: 0,
  cooled: 0,
  reused: 0,
  purged: 0,
  swept: 0,
  ended: 0,
};
const ALL = { released: 1, expired: 1, retired: 1, offline: 0, cooled: 1, reused: 1, purged: 1, swept: 1, ended: 1 };

it('after a jump ahead nothing is released, ended, purged or offline, noticed or not, until the agents agree', async (t) => {
  const { database, sql, watcher, jump, poll, passTime, isTrusted, nodes } = await world(t);
  const watch = watcher();
  await watch();
  assert.deepEqual(await passTime(), NOTHING);
  await jump(3);
  assert.deepEqual(await passTime(), NOTHING, 'before a worker has noticed');
  await watch();
  assert.deepEqual(await passTime(), NOTHING, 'while it is held');
  await poll(0, nodes.slice(0, 1));
  await watch();
  assert.deepEqual([await isTrusted(), await passTime()], [false, NOTHING], 'one of four agents has reported');
  await poll(-3 * 3_600_000);
  await watch();
  assert.equal(await isTrusted(), false, 'agents disagree');
  assert.deepEqual(await passTime(), NOTHING);
  await poll();
  await watch();
  assert.equal(await isTrusted(), true);
  const { rows } = await sql.query("select action, policy from audit_logs where action like 'clock.%' order by id");
  assert.deepEqual(rows, [
    { action: 'clock.hold', policy: 'The clock of the database stepped 3 hours ahead.' },
    { action: 'clock.confirm', policy: 'agents agree with the clock' },
  ]);
  await watch();
  assert.equal(await isTrusted(), true, 'the confirmed time is not held again');
  assert.deepEqual(await passTime(), ALL);
  await assertInvariants(database);
});

it('while the clock is held no audit row is archived, however old it is', async (t) => {
  const { database, sql, watcher, jump, poll } = await world(t);
  const watch = watcher();
  await watch();
  await database.write(PLATFORM, (tx) => insertAuditLog(tx, anAuditRow({ organization_id: 'org_old' })));
  // Before it is sealed: the time of a row is part of its hash.
  await sql.query('set session_replication_role = replica');
  await sql.query("update audit_logs set created_at = now() - interval '1000 days' where organization_id = 'org_old'");
  await sql.query('set session_replication_role = origin');
  const dir = await mkdtemp(join(tmpdir(), 'gpuaas-clock-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const seeds = () => [Buffer.alloc(32, 1)];
  const heads = createHeadsFile({ file: join(dir, 'heads'), seeds });
  await until('its seal', async () => {
    await sealAudit({ database, heads });
    return ((await sql.query("select from audit_seals where chain = 'org_old'")).rowCount ?? 0) > 0;
  });
  const files = createSegmentFiles({ directory: join(dir, 'archive'), seeds });
  const archived = async () => {
    await archiveAudit({ database, files, online_days: 400 });
    return (await sql.query("select from audit_segments where chain = 'org_old'")).rowCount;
  };
  await jump(3);
  assert.equal(await archived(), 0, 'before a worker has noticed');
  await watch();
  assert.equal(await archived(), 0, 'while it is held');
  await poll();
  await watch();
  assert.equal(await archived(), 1);
});

it('an operator confirms the time, and work goes by it', async (t) => {
  const { app, watcher, jump, passTime, isTrusted } = await world(t);
  const admin = await app.admin();
  const [watch, other] = [watcher(), watcher()];
  await watch();
  await other();
  const free = must(await admin.get(CLOCK), 200).body;
  assert.deepEqual([free.is_held, free.reason, free.agents], [false, null, { known: 4, reported: 4, agreeing: 4 }]);
  const confirm = (version: number) =>
    admin.call(
      'POST',
      `${CLOCK}/confirm`,
      { reason: 'Compared with a second clock.' },
      { 'if-match': `"v${version}"`, 'idempotency-key': randomUUID() },
    );
  must(await confirm(free.version), 409);
  await jump(3);
  assert.match(must(await admin.get(CLOCK), 200).body.reason, /No worker has checked/);
  await watch();
  const held = must(await admin.get(CLOCK), 200).body;
  assert.deepEqual([held.is_held, held.agents], [true, { known: 4, reported: 0, agreeing: 0 }]);
  assert.ok(Math.abs(held.jump_ms - 3 * 3_600_000) < 60_000);
  must(await confirm(held.version - 1), 412);
  const confirmed = must(await confirm(held.version), 200).body;
  assert.deepEqual([confirmed.is_held, confirmed.ended_by], [false, admin.me.id]);
  await other();
  await watch();
  assert.equal(await isTrusted(), true, 'no worker holds a confirmed time again');
  assert.deepEqual({ ...(await passTime()), offline: 0 }, ALL);
});

it('a jump back ends nothing, and ends the hold of the jump ahead before it', async (t) => {
  const { sql, watcher, jump, poll, passTime, isTrusted, nodes } = await world(t);
  const watch = watcher();
  await watch();
  await jump(6);
  await watch();
  assert.equal(await isTrusted(), false);
  await jump(-6);
  await watch();
  assert.equal(await isTrusted(), true);
  assert.equal((await sql.query('select ended_by from clock_guard')).rows[0].ended_by, 'clock');
  assert.deepEqual(await passTime(), NOTHING);
  await jump(-6);
  await watch();
  assert.equal(await isTrusted(), true, 'a clock that is behind ends nothing early');
  assert.deepEqual(await passTime(), NOTHING);
  await poll();
  const { rows } = await sql.query('select 1 from node_agents where last_seen_at > clock_timestamp()');
  assert.deepEqual(rows, [], 'a heartbeat replaces one from the future');
  await sql.query("update node_agents set last_seen_at = now() - interval '1 minute' where node_id = $1", [nodes[1]]);
  assert.equal((await passTime()).offline, 1);
});

it('after a pause of all workers the agents confirm the time; a short pause needs no one', async (t) => {
  const { watcher, jump, poll, passTime, isTrusted } = await world(t);
  assert.equal(await isTrusted(), true, 'before the first check ever');
  await watcher()();
  await jump(3);
  const watch = watcher();
  await watch();
  assert.equal(await isTrusted(), false);
  await watcher()();
  assert.deepEqual(await passTime(), NOTHING);
  await poll();
  await watch();
  assert.deepEqual(await passTime(), ALL);
});

it('a worker that stops checking closes the gate only until one checks again, and is reported', async (t) => {
  const { sql, watcher, isTrusted } = await world(t);
  const watch = watcher();
  await watch();
  await sql.query("update clock_guard set seen_at = seen_at - interval '6 minutes'");
  assert.equal(await isTrusted(), false);
  await watch();
  assert.equal(await isTrusted(), true, 'it knows that no time is missing');
  await sql.query('begin');
  await sql.query('lock table clock_guard in access exclusive mode');
  let now = 0;
  const loops = createLoopWatch(() => now);
  const hung = loops.add('watch-clock', 2_000).turn(watch);
  now = 600_001;
  assert.deepEqual(
    loops.stalled(600_000).map(({ loop }) => loop),
    ['watch-clock'],
    'the process ends',
  );
  await sql.query('rollback');
  await hung;
  assert.equal(await isTrusted(), true);
});
