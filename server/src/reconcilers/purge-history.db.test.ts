/** History is deleted after its days, and nothing that a live thing needs. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client } from 'pg';
import { aSession } from '../../test/access.ts';
import { testDatabase } from '../../test/database.ts';
import { aNode, anAllocation, aProof, type TestNode } from '../../test/placement.ts';
import { GRANTS } from '../db/access-grant.ts';
import { deleteOldTokens } from '../db/api-token.ts';
import { deleteOldBackups } from '../db/backup.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { deleteOldInvitations } from '../db/invitation.ts';
import type { Ages, KeptPurge } from '../db/keep.ts';
import { deleteOldCertificates, ENROLLMENTS } from '../db/node-certificate.ts';
import { deleteOldQuotaRequests } from '../db/quota-request.ts';
import { OVERRIDES } from '../db/slot-override.ts';
import { RUNS } from '../db/statements/purge-runs.ts';
import { TASKS } from '../db/statements/purge-tasks.ts';
import { deleteOldDiscoveries } from '../db/topology.ts';
import { purgeExpired } from './purge-expired.ts';

const DAYS = 90;

describe('history', () => {
  const closers: (() => Promise<void>)[] = [];
  let database: Database;
  let sql: Client;
  let node: TestNode;
  before(async () => {
    const made = await testDatabase({ after: (fn) => void closers.unshift(fn) });
    database = made.database;
    sql = new Client({ connectionString: made.ownerUrl });
    await sql.connect();
    closers.unshift(() => sql.end());
    node = await aNode(sql);
  });
  after(async () => {
    for (const close of closers) await close();
  });

  const purge = (batchRows?: number) =>
    purgeExpired({ database, history_days: DAYS, certificate_years: 7 }, undefined, batchRows);
  const names = async (text: string): Promise<string[]> =>
    (await sql.query<{ name: string }>(text)).rows.map(({ name }) => name).toSorted();
  const aRun = async (name: string, facts: { state?: string; days?: number; subject?: string } = {}): Promise<void> => {
    const { state = 'done', days = DAYS + 1, subject = name } = facts;
    const isOver = ['done', 'stuck', 'cancelled'].includes(state);
    await sql.query(
      `insert into workflow_runs (id, workflow, workflow_version, subject_id, correlation_id, steps, step, state, state_reason,
         deadline_ms, deadline_at, created_at, finished_at)
       values ('wfr_' || $1, 'w', 1, $2, 'c', '{a}', 'a', $3, case when $3 = 'stuck' then 'r' end, 1, now(),
         now() - make_interval(days => $4), case when $5 then now() - make_interval(days => $4) end)`,
      [name, subject, state, days, isOver],
    );
    await sql.query(
      `insert into workflow_steps (run_id, sequence, step, attempt, outcome, started_at, finished_at)
       values ('wfr_' || $1, 1, 'a', 1, 'done', now(), now())`,
      [name],
    );
    await sql.query("insert into workflow_signals (run_id, name) values ('wfr_' || $1, 's')", [name]);
  };

  it('of ended runs goes with its steps and signals; stuck, young and live runs stay, and those of held allocations', async () => {
    const active = await anAllocation(sql, { node, state: 'active' });
    const failed = await anAllocation(sql, { node, state: 'failed' });
    const { rows } = await sql.query(
      'select from allocation_resource_claims where allocation_id = $1 and released_at is null',
      [failed.id],
    );
    assert.ok(rows.length > 0, 'the failed allocation is not cleaned up');
    const moved = await anAllocation(sql, { node, state: 'failed' });
    await sql.query(
      `insert into allocation_moves (id, allocation_id, organization_id, project_id, number, from_node_id, to_node_id, slot_ids,
         scores, task_id, reason)
       select 'mov_purge', id, organization_id, project_id, 1, $2, $3, '{}', '{}', '', 'The host failed.'
       from allocations where id = $1`,
      [moved.id, node.id, (await aNode(sql)).id],
    );
    await sql.query("update allocation_resource_claims set move_id = 'mov_purge' where allocation_id = $1", [moved.id]);
    await aRun('moved', { subject: 'mov_purge' });
    await aRun('done');
    await aRun('cancelled', { state: 'cancelled' });
    await aRun('young', { days: DAYS - 1 });
    await aRun('stuck', { state: 'stuck' });
    await aRun('live', { state: 'waiting' });
    await aRun('active', { subject: active.id });
    await aRun('failed', { subject: failed.id });
    await purge();
    const left = ['active', 'failed', 'live', 'moved', 'stuck', 'young'];
    for (const [table, column] of [
      ['workflow_runs', 'id'],
      ['workflow_steps', 'run_id'],
      ['workflow_signals', 'run_id'],
    ])
      assert.deepEqual(await names(`select substr(${column}, 5) as name from ${table}`), left, table);
  });

  it('is deleted in bounded turns, and the next turn continues', async () => {
    for (let n = 0; n < 25; n++) await aRun(`many${n}`);
    const many = () => names("select id as name from workflow_runs where id like 'wfr_many%'");
    await purge(1);
    assert.equal((await many()).length, 5);
    await purge(1);
    assert.deepEqual(await many(), []);
  });

  it('of certificates goes after their end, and of enrollments once no certificate is left', async () => {
    await sql.query(
      `insert into trust_keys (id, purpose, state, public_pem, fingerprint_sha256, sealed_private_key)
       values ('tky_a', 'node_ca', 'active', 'p', repeat('0', 64), '\\x00')`,
    );
    for (const [index, [name, enrolledDays, certificateEndDays]] of (
      [
        ['used', 200, 100],
        ['in_use', 200, -1],
        ['just_ended', 200, 10],
        ['never_used', 200, null],
        ['young', 10, null],
      ] as const
    ).entries()) {
      await sql.query(
        `insert into node_enrollments (id, node_id, token_hash, created_by, correlation_id, created_at, expires_at, used_at)
         values ('enr_' || $1::text, $2, sha256($1::text::bytea), 'u', 'c', now() - make_interval(days => $3),
           now() - make_interval(days => $3), now())`,
        [name, node.id, enrolledDays],
      );
      if (certificateEndDays !== null)
        await sql.query(
          `insert into node_certificates (serial_number, node_id, ca_key_id, enrollment_id, fingerprint_sha256, not_before, not_after)
           values (lpad($1::text, 4, '0'), $2, 'tky_a', 'enr_' || $3::text, lpad($1::text, 64, '0'), now() - interval '300 days',
             now() - make_interval(days => $4))`,
          [index, node.id, name, certificateEndDays],
        );
    }
    await purge();
    const certificates = 'select substr(enrollment_id, 5) as name from node_certificates';
    assert.deepEqual(await names(certificates), ['in_use', 'just_ended']);
    const enrollments = 'select substr(id, 5) as name from node_enrollments';
    assert.deepEqual(await names(enrollments), ['in_use', 'just_ended', 'young']);
    const kept = "select substr(id, 5) as name from node_enrollments where kept_until > now() + interval '6 days'";
    assert.deepEqual(await names(kept), ['in_use', 'just_ended'], 'no turn of this week reads them again');
    await sql.query('delete from node_certificates');
    await purge();
    assert.deepEqual(await names(enrollments), ['in_use', 'just_ended', 'young']);
    await sql.query('update node_enrollments set kept_until = now() where kept_until is not null');
    await purge();
    assert.deepEqual(await names(enrollments), ['young']);
  });

  it('of discoveries goes when a later one exists and no slot was approved by it', async () => {
    for (const [name, days] of [
      ['1_old', 200],
      ['2_approved', 190],
      ['3_young', 10],
    ] as const) {
      await sql.query(
        `insert into node_tasks (id, node_id, kind, params, state, correlation_id, expires_at, finished_at)
         values ('tsk_' || $1::text, $2, 'slice.topology_discover', '{}', 'completed', 'c', now(), now())`,
        [name, node.id],
      );
      await sql.query(
        `insert into topology_discoveries (task_id, node_id, map_hash, facts, map, reboot_required, created_at)
         values ('tsk_' || $1::text, $2, repeat('a', 64), '{}', '{}', false, now() - make_interval(days => $3))`,
        [name, node.id, days],
      );
      await sql.query(
        `insert into topology_candidates (id, task_id, node_id, slot_index, content_hash, content, blockers)
         values ('cnd_' || $1::text, 'tsk_' || $1::text, $2, 0, repeat('a', 64), '{}', '[]')`,
        [name, node.id],
      );
    }
    // The only discovery of another node stays at any age.
    const other = await aNode(sql, { slots: false });
    await sql.query(
      `insert into node_tasks (id, node_id, kind, params, state, correlation_id, expires_at, finished_at)
       values ('tsk_0_only', $1, 'slice.topology_discover', '{}', 'completed', 'c', now(), now())`,
      [other.id],
    );
    await sql.query(
      `insert into topology_discoveries (task_id, node_id, map_hash, facts, map, reboot_required, created_at)
       values ('tsk_0_only', $1, repeat('a', 64), '{}', '{}', false, now() - interval '300 days')`,
      [other.id],
    );
    await sql.query(
      "update node_resource_slots set discovery_task_id = 'tsk_2_approved' where id = (select min(id) from node_resource_slots where node_id = $1)",
      [node.id],
    );
    await purge();
    const discoveries = 'select substr(task_id, 5) as name from topology_discoveries';
    assert.deepEqual(await names(discoveries), ['0_only', '2_approved', '3_young']);
    assert.deepEqual(await names('select substr(task_id, 5) as name from topology_candidates'), [
      '2_approved',
      '3_young',
    ]);
  });

  const aTask = async (
    name: string,
    facts: { days?: number; allocation_id?: string; run?: string; kind?: string; state?: string } = {},
  ) => {
    const { days = DAYS + 1, allocation_id = null, run = null, kind = 'slice.vm_start', state = 'completed' } = facts;
    await sql.query(
      `insert into node_tasks (id, node_id, allocation_id, workflow_run_id, kind, params, state, correlation_id, expires_at, finished_at)
       values ('tsk_t_' || $1, $2, $3, $4, $5, '{}', $6, 'c', now(), case when $6 = 'completed' then now() - make_interval(days => $7) end)`,
      [name, node.id, allocation_id, run, kind, state, days],
    );
  };
  const tasks = () => names("select substr(id, 7) as name from node_tasks where id like 'tsk\\_t\\_%'");
  const keptUntil = async (name: string): Promise<string | null> =>
    (
      await sql.query<{ kept: string | null }>(
        `select case when kept_until = 'infinity' then 'forever' when kept_until is null then null else 'for a while' end as kept
         from node_tasks where id = 'tsk_t_' || $1`,
        [name],
      )
    ).rows[0]?.kept ?? null;

  it('of host tasks goes once nothing cites them, their allocation has ended and their run is gone', async () => {
    const active = await anAllocation(sql, { node: await aNode(sql), state: 'active' });
    await aRun('of_task', { days: 1 });
    await aTask('plain');
    await aTask('young', { days: DAYS - 1 });
    await aTask('open', { state: 'running' });
    await aTask('active', { allocation_id: active.id });
    await aTask('run_there', { run: 'wfr_of_task' });
    await aTask('run_gone', { run: 'wfr_gone' });
    await aTask('proven', { kind: 'slice.cleanup' });
    await aTask('discovery', { kind: 'slice.topology_discover' });
    await aTask('moved');
    await aProof(sql, { node_id: node.id, slot_id: node.slot_ids[0] ?? '', serial: 's', task_id: 'tsk_t_proven' });
    await sql.query(
      `insert into topology_discoveries (task_id, node_id, map_hash, facts, map, reboot_required)
       values ('tsk_t_discovery', $1, repeat('a', 64), '{}', '{}', false)`,
      [node.id],
    );
    await sql.query(
      `insert into allocation_moves (id, allocation_id, organization_id, project_id, number, from_node_id, to_node_id, slot_ids,
         scores, task_id, reason)
       select 'mov_task', id, organization_id, project_id, 1, node_id, $2, '{}', '{}', 'tsk_t_moved', 'r' from allocations where id = $1`,
      [active.id, node.id],
    );
    await purge();
    const left = ['active', 'discovery', 'moved', 'open', 'proven', 'run_there', 'young'];
    assert.deepEqual(await tasks(), left);
    assert.equal(await keptUntil('proven'), 'forever');
    assert.equal(await keptUntil('moved'), 'forever');
    assert.equal(await keptUntil('active'), 'for a while');
    assert.equal(await keptUntil('run_there'), 'for a while');
    // A week later, when the run is gone.
    await sql.query(
      "delete from workflow_steps where run_id = 'wfr_of_task'; delete from workflow_signals where run_id = 'wfr_of_task'",
    );
    await sql.query("delete from workflow_runs where id = 'wfr_of_task'");
    await purge();
    assert.deepEqual(await tasks(), left, 'nothing is looked at again before its time');
    await sql.query("update node_tasks set kept_until = now() - interval '1 second' where kept_until < 'infinity'");
    await purge();
    assert.deepEqual(
      await tasks(),
      left.filter((name) => name !== 'run_there'),
    );
  });

  it('of host tasks cannot be deleted while something cites it', async () => {
    for (const [name, reason] of [
      ['proven', /a wipe proof cites it/],
      ['active', /its allocation has not ended/],
      ['open', /it has not ended/],
      ['moved', /move_has_its_task/],
      ['discovery', /topology_discoveries/],
    ] as const)
      await assert.rejects(sql.query("delete from node_tasks where id = 'tsk_t_' || $1", [name]), reason);
    await sql.query('update node_resource_slots set discovery_task_id = $1 where id = $2', [
      'tsk_t_young',
      node.slot_ids[1],
    ]);
    await assert.rejects(sql.query("delete from node_tasks where id = 'tsk_t_young'"), /a slot was approved by it/);
  });

  it('of a session survives its task, and forgets it', async () => {
    const allocation = await anAllocation(sql, { node: await aNode(sql), state: 'active' });
    const session = await aSession(sql, allocation, { state: 'closed', principal_id: 'usr_x' });
    await aTask('stream', { kind: 'stream.open', days: 2 });
    await sql.query("update terminal_sessions set task_id = 'tsk_t_stream' where id = $1", [session]);
    await assert.rejects(
      sql.query("update terminal_sessions set task_id = 'tsk_none' where id = $1", [session]),
      /session_has_its_task/,
    );
    await purge();
    assert.equal((await tasks()).includes('stream'), false);
    const { rows } = await sql.query('select task_id from terminal_sessions where id = $1', [session]);
    assert.deepEqual(rows, [{ task_id: null }]);
  });

  it('of grants goes after their allocation has ended, and not before', async () => {
    const long = '100 days';
    const aGrant = (allocation: Readonly<{ id: string }>, name: string) =>
      sql.query(
        `insert into allocation_access_grants (id, organization_id, project_id, allocation_id, user_id, user_name, ssh_key_id,
           public_key, fingerprint, state, granted_by, correlation_id, created_at, revoked_at)
         select 'grt_' || $2, organization_id, project_id, id, 'usr_grants', 'g', 'key', 'p', 'SHA256:' || $2, 'revoked', 'u', 'c',
           now() - $3::interval, now() - $3::interval from allocations where id = $1`,
        [allocation.id, name, long],
      );
    await sql.query("insert into users (id, issuer, subject, name) values ('usr_grants', 'i', 'grants', 'g')");
    const active = await anAllocation(sql, { node: await aNode(sql), state: 'active' });
    const ended = await anAllocation(sql, { node: await aNode(sql), state: 'failed' });
    await sql.query('update allocations set state_since = now() - $2::interval where id = $1', [ended.id, long]);
    await aGrant(active, 'of_active');
    await aGrant(ended, 'of_ended');
    await purge();
    const grants = "select substr(id, 5) as name from allocation_access_grants where user_id = 'usr_grants'";
    assert.deepEqual(await names(grants), ['of_active'], 'a revoked launch key must not come back to a VM');
    assert.deepEqual(await names(`${grants} and kept_until > now()`), ['of_active']);
  });

  it('of invitations, quota requests, wipe overrides, tokens and backups goes after its days; what is open or the newest stays', async () => {
    const ago = (days: number) => `now() - interval '${days} days'`;
    await sql.query(
      "insert into users (id, issuer, subject, name) values ('usr_r', 'i', 'r', 'r'), ('usr_s', 'i', 's', 's')",
    );
    await sql.query(
      `with organization as (insert into organizations (id, name, display_name, kind) values ('org_r', 'r', 'r', 'personal') returning id)
       insert into quotas (organization_id) select id from organization`,
    );
    const slot = node.slot_ids[0];
    for (const [name, days] of [
      ['old', DAYS + 1],
      ['young', DAYS - 1],
    ] as const) {
      await sql.query(
        `insert into invitations (id, organization_id, email, role, token_hash, invited_by, expires_at)
         values ('inv_${name}', 'org_r', 'a@example.com', 'member', sha256('${name}'), 'usr_r', ${ago(days)})`,
      );
      await sql.query(
        `insert into quota_requests (id, organization_id, gpu_limit, reason, state, requested_by, decided_at)
         values ('qrq_${name}', 'org_r', 8, 'r', 'withdrawn', 'usr_r', ${ago(days)})`,
      );
      await sql.query(
        `insert into slot_overrides (id, slot_id, kind, generation, reason, requested_by, expires_at, confirmed_by, confirmed_at)
         values ('ovr_${name}', $1, 'mark_wiped', 1, 'r', 'usr_r', ${ago(days)}, null, null),
           ('ovr_confirmed_${name}', $1, 'mark_wiped', 1, 'r', 'usr_r', ${ago(days)}, 'usr_s', now())`,
        [slot],
      );
      await sql.query(
        `insert into api_tokens (id, kind, user_id, name, token_prefix, token_hash, scopes, expires_at, revoked_at)
         values ('tok_ended_${name}', 'personal', 'usr_r', 'n', 'p', sha256('e${name}'), '{x}', ${ago(days)}, null),
           ('tok_revoked_${name}', 'personal', 'usr_r', 'n', 'p', sha256('r${name}'), '{x}', now() + interval '1 day', ${ago(days)})`,
      );
    }
    await sql.query(
      `insert into quota_requests (id, organization_id, gpu_limit, reason, requested_by, created_at)
       values ('qrq_open', 'org_r', 8, 'r', 'usr_r', ${ago(500)})`,
    );
    await sql.query(
      `insert into slot_overrides (id, slot_id, kind, generation, reason, requested_by, expires_at, confirmed_by, confirmed_at)
       values ('ovr_forgotten', $1, 'mark_wiped', 1, 'r', 'usr_r', ${ago(8 * 366)}, 'usr_s', now()),
         ('ovr_proven', $1, 'mark_wiped', 1, 'r', 'usr_r', ${ago(8 * 366)}, 'usr_s', now())`,
      [slot],
    );
    await aProof(sql, { node_id: node.id, slot_id: slot ?? '', serial: 'override', task_id: 'ovr_proven' });
    await sql.query(
      `insert into backups (id, taken_at, location, recorded_by, correlation_id)
       select 'bkp_' || n, now() - make_interval(days => 100 * n), 'x', 'u', 'c' from generate_series(1, 3) n`,
    );
    await purge();
    const idsOf = (table: string, where = 'true') => names(`select substr(id, 5) as name from ${table} where ${where}`);
    assert.deepEqual(await idsOf('invitations'), ['young']);
    assert.deepEqual(await idsOf('quota_requests'), ['open', 'young']);
    assert.deepEqual(await idsOf('slot_overrides'), ['confirmed_old', 'confirmed_young', 'proven', 'young']);
    assert.deepEqual(await idsOf('api_tokens', "user_id = 'usr_r'"), ['ended_young', 'revoked_young']);
    assert.deepEqual(await idsOf('backups'), ['1'], 'all are old, and the newest stays');
  });

  /** The plan of a purge, or what `explain analyze` of it read. */
  const explained = (
    purgeOne: (tx: Tx) => Promise<number>,
    explain: 'explain' | 'explain (analyze, timing off)' = 'explain',
  ): Promise<string> =>
    database.write(PLATFORM, async (tx) => {
      let plan = '';
      await purgeOne({
        ...tx,
        query: async (text, values) => {
          if (text.includes('set_config')) return tx.query(text, values);
          const { rows } = await tx.query<Record<string, string>>(`${explain} ${text}`, values);
          plan = rows.map((row) => row['QUERY PLAN']).join('\n');
          return { rows: [], rowCount: 0 };
        },
      });
      return plan;
    });
  const AGES: Ages = { history_days: DAYS, certificate_years: 7 };
  const history =
    (purgeOne: (tx: Tx, limit: number, days: number) => Promise<number>) =>
    (tx: Tx): Promise<number> =>
      purgeOne(tx, 100, DAYS);
  const old =
    ({ deleteOld }: KeptPurge) =>
    (tx: Tx): Promise<number> =>
      deleteOld(tx, 100, AGES);

  it('is found by index, so that a turn does not read the whole table', async () => {
    for (const [one, index] of [
      [old(RUNS), 'workflow_runs_old'],
      [history(deleteOldCertificates), 'node_certificates_by_end'],
      [old(ENROLLMENTS), 'node_enrollments_old'],
      [old(GRANTS), 'access_grants_old'],
      [history(deleteOldTokens), 'api_tokens_ended'],
      [history(deleteOldInvitations), 'invitations_by_end'],
      [history(deleteOldQuotaRequests), 'quota_requests_decided'],
      [history(deleteOldBackups), 'backups_newest'],
      [old(OVERRIDES), 'slot_overrides_old'],
      [history(deleteOldDiscoveries), 'topology_discoveries_by_age'],
      [old(TASKS), 'node_tasks_finished'],
    ] as const) {
      const plan = await explained(one);
      assert.match(
        plan,
        new RegExp(`Index (?:Only )?Scan (?:Backward )?using ${index} .*\\n +Index Cond: .*90 days`),
        plan,
      );
      assert.doesNotMatch(plan, /Seq Scan/, plan);
    }
    for (const [{ deleteKept }, index] of [
      [TASKS, 'node_tasks_kept'],
      [ENROLLMENTS, 'node_enrollments_kept'],
      [GRANTS, 'access_grants_kept'],
      [RUNS, 'workflow_runs_kept'],
      [OVERRIDES, 'slot_overrides_kept'],
    ] as const)
      assert.match(await explained((tx) => deleteKept(tx, 100, AGES)), new RegExp(`Index Scan using ${index} `));
  });

  it('that stays for years is read once a week, not by every turn', async () => {
    const lasting = await anAllocation(sql, { node: await aNode(sql), state: 'active' });
    for (let n = 0; n < 20; n++) await aRun(`lasting${n}`, { subject: lasting.id, days: 400 });
    await sql.query(
      `insert into slot_overrides (id, slot_id, kind, generation, reason, requested_by, expires_at, confirmed_by, confirmed_at)
       select 'ovr_lasting' || n, $1, 'mark_wiped', 1, 'r', 'usr_r', now() - interval '400 days', 'usr_s', now() from generate_series(1, 20) n`,
      [node.slot_ids[0]],
    );
    await purge();
    for (const [purgeOne, lastingRows] of [
      [RUNS, "select id as name from workflow_runs where id like 'wfr\\_lasting%'"],
      [OVERRIDES, "select id as name from slot_overrides where id like 'ovr\\_lasting%'"],
    ] as const) {
      assert.equal((await names(lastingRows)).length, 20);
      for (const read of [old(purgeOne), (tx: Tx) => purgeOne.deleteKept(tx, 100, AGES)]) {
        const plan = await explained(read, 'explain (analyze, timing off)');
        assert.match(plan, /Index Scan using \w+_(?:old|kept) on \w+ t[ _\d]* .*\(actual rows=0[. ]/, plan);
        assert.doesNotMatch(plan, /Rows Removed by Filter: [1-9]/, plan);
      }
    }
    await sql.query('set session_replication_role = replica');
    await sql.query('delete from allocation_resource_claims where allocation_id = $1', [lasting.id]);
    await sql.query('delete from allocations where id = $1', [lasting.id]);
    await sql.query('set session_replication_role = origin');
    await purge();
    const runs = "select id as name from workflow_runs where id like 'wfr\\_lasting%'";
    assert.equal((await names(runs)).length, 20, 'nothing is looked at again before its time');
    await sql.query("update workflow_runs set kept_until = now() - interval '1 second' where kept_until is not null");
    await purge();
    assert.deepEqual(await names(runs), []);
    assert.deepEqual(await names("select run_id as name from workflow_steps where run_id like 'wfr\\_lasting%'"), []);
  });
});
