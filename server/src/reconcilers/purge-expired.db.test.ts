import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import { aRecordedSession, aSession, aWebSession } from '../../test/access.ts';
import { testDatabase } from '../../test/database.ts';
import { aNode, anAllocation } from '../../test/placement.ts';
import { createDatabase, type Database, PLATFORM } from '../db/client.ts';
import { purgeExpired } from './purge-expired.ts';

const remaining = (database: Database) =>
  database.read(PLATFORM, async (reader) => {
    const { rows } = await reader.query<{ event: string[]; key: string[]; token: string[] }>(
      `select (select array_agg(subject order by subject) from outbox_events) as event,
         (select array_agg(distinct operation order by operation) from idempotency_keys) as key,
         (select array_agg(name order by name) from api_tokens) as token`,
    );
    return rows[0];
  });

test('only expired rows are deleted, in batches, and unsent events stay at any age', async (t) => {
  const { database, ownerUrl } = await testDatabase(t);
  const owner = createDatabase({ url: ownerUrl, log: silentLog(), poolMax: 1 });
  t.after(() => owner.end());
  await owner.write(PLATFORM, async (tx) => {
    await tx.query(`insert into outbox_events (id, event_type, subject, data, correlation_id, created_at, sent_at)
      select 'evt_' || n, 'x', case when n < 12 then 'old' when n = 12 then 'old unsent' else 'young' end, '{}', 'c',
        now() - case when n <= 12 then interval '8 days' else interval '6 days' end, case when n <> 12 then now() end
      from generate_series(1, 13) n`);
    await tx.query(`insert into idempotency_keys (tenant, principal_id, operation, key, request_hash, status, response, response_sealed, expires_at)
      select 't', 'p', case when n < 8 then 'expired' else 'kept' end, 'k' || n, sha256(''), 200, '', false,
        now() + case when n < 8 then interval '-1 minute' else interval '1 minute' end from generate_series(1, 9) n`);
    await tx.query("insert into users (id, issuer, subject, name) values ('usr_a', 'i', 's', 'a')");
    await tx.query("insert into organizations (id, name, display_name, kind) values ('org_a', 'a', 'a', 'personal')");
    await tx.query("insert into quotas (organization_id) values ('org_a')");
    await tx.query(
      "insert into projects (id, organization_id, name, display_name) values ('prj_a', 'org_a', 'a', 'a')",
    );
    await tx.query(
      "insert into service_accounts (id, organization_id, project_id, name, secret_hash) values ('sva_a', 'org_a', 'prj_a', 'a', sha256(''))",
    );
    await tx.query(`insert into api_tokens (id, kind, user_id, service_account_id, organization_id, project_id, name, token_prefix, token_hash, scopes, expires_at)
      values ('tok_1', 'access', null, 'sva_a', 'org_a', 'prj_a', 'expired', 'p', sha256('1'), '{x}', now() - interval '25 hours'),
        ('tok_2', 'access', null, 'sva_a', 'org_a', 'prj_a', 'in grace', 'p', sha256('2'), '{x}', now() - interval '23 hours'),
        ('tok_3', 'personal', 'usr_a', null, null, null, 'personal', 'p', sha256('3'), '{x}', now() - interval '30 days')`);
  });
  await purgeExpired({ database, history_days: 90, certificate_years: 7 }, undefined, 5);
  assert.deepEqual(await remaining(database), {
    event: ['old unsent', 'young'],
    key: ['kept'],
    token: ['in grace', 'personal'],
  });
});

test('unused tickets, expired recordings and old sessions are deleted; a recording keeps its session', async (t) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const allocation = await anAllocation(sql, { node: await aNode(sql), state: 'active' });
  const who = { id: 'usr_x', name: 'x' };
  const made = async (state: string) => aSession(sql, allocation, { state, principal_id: who.id });
  const ids = {
    unused: await made('ticketed'),
    good: await made('ticketed'),
    open: await made('open'),
    old: await made('closed'),
    young: await made('closed'),
    recorded: await aRecordedSession(sql, allocation, who),
    forgotten: await aRecordedSession(sql, allocation, who),
  };
  await sql.query("update terminal_sessions set ticket_expires_at = now() - interval '61 minutes' where id = $1", [
    ids.unused,
  ]);
  await sql.query("update terminal_sessions set closed_at = now() - interval '91 days' where id = any ($1)", [
    [ids.old, ids.recorded],
  ]);
  await sql.query('update terminal_recordings set keep_until = now() where session_id = $1', [ids.forgotten]);
  await purgeExpired({ database, history_days: 90, certificate_years: 7 }, undefined, 1);
  const left = await sql.query('select id from terminal_sessions order by id');
  const { good, open: live, young, recorded, forgotten } = ids;
  assert.deepEqual(
    left.rows.map(({ id }) => id),
    [good, live, young, recorded, forgotten].toSorted(),
  );
  const parts = await sql.query('select distinct session_id from terminal_recordings');
  assert.deepEqual(parts.rows, [{ session_id: recorded }]);
});

test('session tasks are deleted after a day, and no other task so early', async (t) => {
  const { database, ownerUrl } = await testDatabase(t);
  const owner = createDatabase({ url: ownerUrl, log: silentLog(), poolMax: 1 });
  t.after(() => owner.end());
  await owner.write(PLATFORM, async (tx) => {
    const { id } = await aNode(tx);
    await tx.query(
      `insert into node_tasks (id, node_id, kind, params, state, correlation_id, expires_at, finished_at)
       select 'tsk_' || t.name, $1, t.kind, '{}', case when t.ago is null then 'running' else 'completed' end, 'c', now(), now() - t.ago
       from (values ('old', 'stream.open', interval '25 hours'), ('young', 'stream.open', interval '23 hours'),
         ('open', 'stream.open', null), ('cleanup', 'slice.cleanup', interval '80 days')) t (name, kind, ago)`,
      [id],
    );
  });
  await purgeExpired({ database, history_days: 90, certificate_years: 7 });
  const left = await database.read(PLATFORM, (reader) =>
    reader.query<{ id: string }>('select id from node_tasks order by id'),
  );
  assert.deepEqual(
    left.rows.map(({ id }) => id),
    ['tsk_cleanup', 'tsk_open', 'tsk_young'],
  );
});

test('a web session is deleted after its maximum duration, not when it went idle', async (t) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  await sql.query("insert into users (id, issuer, subject, name) values ('usr_a', 'i', 's', 'a')");
  const good = await aWebSession(sql, 'usr_a');
  const idle = await aWebSession(sql, 'usr_a');
  await aWebSession(sql, 'usr_a', "interval '-1 second'");
  await aWebSession(sql, 'usr_a', "interval '-1 day'");
  await sql.query('update web_sessions set idle_expires_at = clock_timestamp() where id = $1', [idle]);
  await purgeExpired({ database, history_days: 90, certificate_years: 7 }, undefined, 1);
  const { rows } = await sql.query('select id from web_sessions order by id');
  assert.deepEqual(rows, [{ id: good }, { id: idle }]);
});

test('a purge that fails is reported and keeps none of the others from their turn', async (t) => {
  const { database, ownerUrl } = await testDatabase(t);
  const owner = createDatabase({ url: ownerUrl, log: silentLog(), poolMax: 1 });
  t.after(() => owner.end());
  await owner.write(PLATFORM, async (tx) => {
    await tx.query('alter table outbox_events rename to outbox_events_away');
    await tx.query(`insert into idempotency_keys (tenant, principal_id, operation, key, request_hash, status, response, response_sealed, expires_at)
      values ('t', 'p', 'expired', 'k', sha256(''), 200, '', false, now() - interval '1 minute')`);
  });
  await assert.rejects(purgeExpired({ database, history_days: 90, certificate_years: 7 }));
  const { rows } = await owner.read(PLATFORM, (reader) => reader.query('select from idempotency_keys'));
  assert.equal(rows.length, 0);
});
