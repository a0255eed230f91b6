/** The metrics behind the alerts: each changes with what it measures, and none reads more when history grows. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import { startTestApp } from '../../test/app.ts';
import { testDatabase } from '../../test/database.ts';
import { aNode } from '../../test/placement.ts';
import { until } from '../../test/until.ts';
import { sealLag } from '../db/audit-seal.ts';
import { archiveLag } from '../db/audit-segment.ts';
import { createDatabase, PLATFORM, type Reader } from '../db/client.ts';
import { queryReadOnly } from '../db/health.ts';
import { countOverdueNodes } from '../db/node-count.ts';
import { outboxLag } from '../db/outbox.ts';
import { countOverdueSlots } from '../db/slot.ts';
import { deadlinesOf } from '../domain/moves.ts';
import { NODE_WAITS } from '../domain/node-state.ts';
import { SLOT_WAITS } from '../domain/slot-state.ts';
import { createNodeCounter } from '../reconcilers/count-nodes.ts';
import { createHeadsDisk } from '../reconcilers/measure-heads-disk.ts';

const connect = async (t: { after(fn: () => Promise<void>): void }, ownerUrl: string): Promise<Client> => {
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  t.after(() => sql.end());
  return sql;
};

test('nodes are counted by state, and active ones whose newest certificate ends soon; old counts are dropped', async (t) => {
  const closers: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const close of closers.toReversed()) await close();
  });
  const hook = { after: (fn: () => Promise<void>) => void closers.push(fn) };
  const { database, ownerUrl } = await testDatabase(hook);
  const sql = await connect(hook, ownerUrl);
  const nodes: Record<string, string> = {};
  for (const [name, state] of [
    ['ending', 'active'],
    ['renewed', 'active'],
    ['replaced', 'active'],
    ['gone', 'offline'],
    ['former', 'retired'],
  ] as const)
    nodes[name] = (await aNode(sql, { slots: false, state })).id;
  await sql.query(
    `insert into trust_keys (id, purpose, state, public_pem, fingerprint_sha256, sealed_private_key)
     values ('tky_a', 'node_ca', 'active', 'p', repeat('0', 64), '\\x00')`,
  );
  for (const node of Object.values(nodes))
    await sql.query(
      `insert into node_enrollments (id, node_id, token_hash, created_by, correlation_id, expires_at)
       values ($1::text, $2, sha256($1::text::bytea), 'u', 'c', now())`,
      [`enr_${node}`, node],
    );
  let serial = 0;
  const certificate = async (name: string, endsInH: number, isRevoked = false): Promise<void> => {
    serial += 1;
    await sql.query(
      `insert into node_certificates (serial_number, node_id, ca_key_id, enrollment_id, fingerprint_sha256, not_before,
         not_after, revoked_at, revoked_reason)
       values (lpad($1::text, 4, '0'), $2, 'tky_a', $3, lpad($1::text, 64, '0'), now() - interval '1 day',
         now() + make_interval(hours => $4), case when $5 then now() end, case when $5 then 'x' end)`,
      [serial, nodes[name], `enr_${nodes[name]}`, endsInH, isRevoked],
    );
  };
  await certificate('ending', 5);
  await certificate('renewed', 5);
  await certificate('renewed', 23);
  await certificate('replaced', 23, true);
  await certificate('replaced', 5);
  await certificate('gone', 5);
  let now = 0;
  const counter = createNodeCounter({ database, clock: { now: () => new Date(now) } });
  assert.equal(counter.counts(), undefined);
  await counter.run();
  const counts = counter.counts();
  assert.deepEqual(Object.fromEntries(counts?.by_state ?? []), {
    active: 3,
    bootstrap_issued: 0,
    draining: 0,
    enrolling: 0,
    offline: 1,
  });
  assert.equal(counts?.certificates_ending, 2);
  now = 6 * 60_000;
  assert.equal(counter.counts(), undefined);
});

test('the disk of the heads file is measured before the file exists, and an old measurement is dropped', async () => {
  let now = 0;
  const clock = { now: () => new Date(now) };
  const disk = createHeadsDisk({ file: join(import.meta.dirname, 'absent/deeper/heads.jsonl'), clock });
  assert.equal(disk.freeRatio(), undefined);
  await disk.run();
  const ratio = disk.freeRatio() ?? Number.NaN;
  assert.ok(ratio >= 0 && ratio <= 1, String(ratio));
  now = 6 * 60_000;
  assert.equal(disk.freeRatio(), undefined);
  // A file in place of the directory is an error, not a full or an empty disk.
  await assert.rejects(createHeadsDisk({ file: join(import.meta.filename, 'below', 'heads.jsonl') }).run(), /ENOTDIR/);
});

/** The plan of the last query that the function sent. */
const planOf = async (reader: Reader, ask: (reader: Reader) => Promise<unknown>): Promise<string> => {
  let plan = '';
  await ask({
    query: async (text, values) => {
      if (text.includes('set_config')) return reader.query(text, values);
      const { rows } = await reader.query<Record<string, string>>(`explain ${text}`, values);
      plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      return reader.query(text, values);
    },
  });
  return plan;
};

test('lags of outbox and sealer follow the oldest row, and are read from the head of an index', async (t) => {
  const closers: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const close of closers.toReversed()) await close();
  });
  const hook = { after: (fn: () => Promise<void>) => void closers.push(fn) };
  const { database, ownerUrl } = await testDatabase(hook);
  const sql = await connect(hook, ownerUrl);
  const read = <T>(ask: (reader: Reader) => Promise<T>) => database.read(PLATFORM, ask);
  assert.deepEqual(await read(outboxLag), { unsent: 0, oldest_age_s: 0 });
  assert.deepEqual(await read(sealLag), { rows_s: 0, heads_s: 0 });

  await sql.query(
    `insert into outbox_events (id, event_type, subject, data, correlation_id, created_at, sent_at)
     select 'evt_' || lpad(n::text, 6, '0'), 'x', 's', '{}', 'c', now() - interval '3 minutes', case when n <= 2000 then now() end
     from generate_series(1, 13000) n`,
  );
  await sql.query(
    `insert into audit_logs (id, created_at, actor_kind, action, result, policy, correlation_id)
     select 'aud_' || lpad(n::text, 6, '0'), now() - interval '2 minutes', 'system', 'x', 'success', 'p', 'c'
     from generate_series(1, 3000) n`,
  );
  await sql.query('analyze outbox_events, audit_logs');
  const lag = await read(outboxLag);
  assert.equal(lag.unsent, 10_000);
  assert.ok(lag.oldest_age_s >= 180, String(lag.oldest_age_s));
  assert.equal(await read((reader) => archiveLag(reader, 30)), 0, 'no row is due yet');
  const due = await read((reader) => archiveLag(reader, 0));
  assert.ok(due >= 120 && due < 3_600, String(due));
  const archivePlan = await read((reader) => planOf(reader, (asked) => archiveLag(asked, 0)));
  assert.match(archivePlan, /Limit.*\n +-> +Index Scan using audit_logs_pkey/);
  const unsealed = await read(sealLag);
  assert.ok(unsealed.rows_s >= 120, String(unsealed.rows_s));
  assert.equal(unsealed.heads_s, 0);
  for (const ask of [outboxLag, sealLag])
    assert.doesNotMatch(await read((reader) => planOf(reader, ask)), /Seq Scan on (outbox|audit_logs|audit_seals)/);

  await sql.query(
    `update audit_sealer set (sealed_xid, sealed_id) = (select xid, id from audit_logs order by xid desc, id desc limit 1)`,
  );
  await sql.query(
    `insert into audit_seals (chain, sequence, audit_log_id, hash, sealed_at)
     select 'platform', n, 'aud_' || lpad(n::text, 6, '0'), sha256(''), now() - make_interval(mins => 10 - n)
     from generate_series(1, 3) n`,
  );
  await sql.query(
    "insert into audit_chains (chain, sequence, hash, headed_sequence) values ('platform', 3, sha256(''), 1)",
  );
  // The newest seal is young; the first without a head is eight minutes old.
  const unheaded = await read(sealLag);
  assert.equal(unheaded.rows_s, 0);
  assert.ok(unheaded.heads_s >= 480 && unheaded.heads_s < 540, String(unheaded.heads_s));
  await sql.query('update audit_chains set headed_sequence = 3');
  assert.deepEqual(await read(sealLag), { rows_s: 0, heads_s: 0 });
});

test('a database whose transactions are read-only is found', async (t) => {
  const { database, ownerUrl } = await testDatabase(t);
  assert.equal(await database.read(PLATFORM, queryReadOnly), false);
  const owner = createDatabase({ url: ownerUrl, log: silentLog(), poolMax: 1 });
  try {
    await owner.write(PLATFORM, (tx) =>
      tx.query(
        `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`,
      ),
    );
  } finally {
    await owner.end();
  }
  const after = createDatabase({ url: ownerUrl, log: silentLog(), poolMax: 1 });
  try {
    assert.equal(await after.read(PLATFORM, queryReadOnly), true);
  } finally {
    await after.end();
  }
});

test('each role exports its metrics, with the certificates and limits that it has', async (t) => {
  const closers: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const close of closers) await close();
  });
  const { bearer } = await startTestApp(
    { after: (fn) => void closers.unshift(fn) },
    { roles: ['gpuaas-node-api', 'gpuaas-terminal-gateway', 'gpuaas-provisioning-worker'] },
    { env: { GPUAAS_GATEWAY_SESSIONS_MAX: '77' } },
  );
  let body = '';
  await until('the first turns of the reconcilers', async () => {
    body = String((await bearer(null).get('/metrics')).body);
    return body.includes('gpuaas_nodes{state="offline"} 0') && /^gpuaas_audit_heads_disk_free_ratio /m.test(body);
  });
  const metricOf = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(body)?.[1]);
  const dayS = 86_400;
  for (const [name, isRight] of [
    ['gpuaas_node_api_certificate_remaining_seconds', (s: number) => s > 6.9 * dayS && s <= 7 * dayS],
    ['gpuaas_gateway_certificate_remaining_seconds', (s: number) => s > 6.9 * dayS && s <= 7 * dayS],
    ['gpuaas_node_ca_remaining_seconds', (s: number) => s > 3_640 * dayS && s <= 3_651 * dayS],
    ['gpuaas_terminal_sessions_max', (n: number) => n === 77],
    ['gpuaas_terminal_sessions_open', (n: number) => n === 0],
    ['gpuaas_nodes_certificate_ending', (n: number) => n === 0],
    ['gpuaas_database_up', (n: number) => n === 1],
    ['gpuaas_database_read_only', (n: number) => n === 0],
    ['gpuaas_audit_seal_lag_seconds', (s: number) => s >= 0],
    ['gpuaas_audit_heads_lag_seconds', (s: number) => s >= 0],
    ['gpuaas_audit_heads_disk_free_ratio', (n: number) => n >= 0 && n <= 1],
  ] as const)
    assert.ok(isRight(metricOf(name)), `${name} ${metricOf(name)}`);
});

test('nodes and slots are overdue once their state lasts longer than it may, unless the slot is disabled', async (t) => {
  const closers: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const close of closers.toReversed()) await close();
  });
  const hook = { after: (fn: () => Promise<void>) => void closers.push(fn) };
  const { database, ownerUrl } = await testDatabase(hook);
  const sql = await connect(hook, ownerUrl);
  const late = await aNode(sql, { state: 'draining' });
  const early = await aNode(sql, { state: 'draining' });
  await aNode(sql, { state: 'active', slots: false });
  await sql.query("update nodes set state_since = now() - interval '1 year' where id <> $1", [early.id]);
  await sql.query(
    `update node_resource_slots set status = 'quarantined', status_since = now() - interval '1 year',
       approval = case slot_index when 1 then 'disabled' else approval end where node_id = $1 and slot_index < 3`,
    [late.id],
  );
  await sql.query("update node_resource_slots set status_since = now() - interval '1 year' where status = 'available'");
  await sql.query("update node_resource_slots set status = 'quarantined', status_since = now() where node_id = $1", [
    early.id,
  ]);
  const [nodes, slots] = await database.read(PLATFORM, (reader) =>
    Promise.all([
      countOverdueNodes(reader, deadlinesOf(NODE_WAITS)),
      countOverdueSlots(reader, deadlinesOf(SLOT_WAITS)),
    ]),
  );
  const none = { count: 0 };
  assert.deepEqual(nodes, [
    { state: 'bootstrap_issued', ...none },
    { state: 'draining', count: 1 },
    { state: 'enrolling', ...none },
    { state: 'offline', ...none },
  ]);
  assert.deepEqual(slots, [
    { status: 'cleaning', ...none },
    { status: 'cleanup_blocked', ...none },
    { status: 'quarantined', count: 2 },
    { status: 'reserved', ...none },
  ]);
});
