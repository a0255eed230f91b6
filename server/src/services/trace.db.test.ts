import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { PublicApi, ResponseOf } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { aGrant } from '../../test/access.ts';
import { type Caller, startTestApp } from '../../test/app.ts';
import { settle, truth } from '../../test/host.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode, aTenant } from '../../test/placement.ts';
import { join, must, newSshKey } from '../../test/tenants.ts';
import { PLATFORM } from '../db/client.ts';
import { insertLogLines, type LogLineRow } from '../db/log-line.ts';
import { PROVISION_SLICE } from '../domain/workflow-steps.ts';
import { refreshSummary } from '../placement/summary.ts';

type Trace = ResponseOf<PublicApi['adminTraceGet']>;
const REGION = 'us-buffalo-1';

/** The API alone: workers and hosts act when a test runs them. */
const world = async (t: TestContext) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const test = await startTestApp(t, { roles: ['gpuaas-api'] });
  const sql = new Client({ connectionString: test.db.ownerUrl });
  await sql.connect();
  open.push(sql);
  const { database } = test.db;
  const [owner, admin] = [await test.user('owner'), await test.admin()];
  const node = await aNode(sql, { region_name: REGION });
  await database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
  const path = `/api/v1/projects/${owner.project_id}`;
  const launch = async (as: Caller, projectId: string, correlation: string, name: string): Promise<string> => {
    const body = { sku_name: 'h200-sxm-slice', region_name: REGION, gpu_count: 1, name };
    const headers = { 'x-correlation-id': correlation };
    return must(await as.post(`/api/v1/projects/${projectId}/allocations`, body, headers), 202).body.id;
  };
  const trace = async (id: string): Promise<Trace> => must(await admin.get(`/api/v1/admin/trace?id=${id}`), 200).body;
  const mine = async (id: string): Promise<Trace> => must(await owner.get(`${path}/trace?id=${id}`), 200).body;
  const write = (lines: readonly Partial<LogLineRow>[]) =>
    database.write(PLATFORM, (tx) =>
      insertLogLines(
        tx,
        lines.map((line, number) => ({
          logged_at: new Date().toISOString(),
          service: 'gpuaas-node-agent',
          host_role: 'worker_compute',
          host_name: 'the-host',
          node_id: node.id,
          level: 'info',
          message: 'task begun',
          correlation_id: null,
          error_code: null,
          fields: {},
          origin: mintId('org'),
          number,
          ...line,
        })),
      ),
    );
  return { test, database, sql, owner, admin, node, path, launch, trace, mine, write };
};

/** A launch whose image cannot be copied; it is cleaned up. */
const failedLaunch = async (w: Awaited<ReturnType<typeof world>>, correlation: string): Promise<string> => {
  const id = await w.launch(w.owner, w.owner.project_id, correlation, 'doomed');
  await settle(w.database, { answer: (task) => (task.kind === 'slice.image_clone' ? null : truth(task)) });
  return id;
};

const C = 'c-failed-launch-1';

describe('tracing a failed launch', () => {
  it('pins the host task for operators, for any related id', async (t) => {
    const w = await world(t);
    const id = await failedLaunch(w, C);
    await w.sql.query(
      `insert into node_agents (node_id, last_seen_at, agent_version, boot_id, booted_at, kinds, clock_skew_ms, trust_version)
       values ($1, now(), '1', 'b', now(), '{}', 60000, 'v')`,
      [w.node.id],
    );
    const now = Date.now();
    await w.write([
      { correlation_id: C, logged_at: new Date(now + 60_000).toISOString() },
      {
        correlation_id: C,
        level: 'error',
        message: 'a task handler broke',
        logged_at: new Date(now + 120_000).toISOString(),
      },
      {
        correlation_id: C,
        service: 'gpuaas-api',
        host_role: 'platform_control',
        node_id: null,
        message: 'request',
        fields: { method: 'POST', path: `${w.path}/allocations`, status: 202, duration_ms: 12 },
      },
    ]);
    const byAllocation = await w.trace(id);
    assert.equal(byAllocation.kind, 'allocation');
    assert.deepEqual(byAllocation.correlation_ids, [C]);
    const first = byAllocation.entries.find(({ key }) => key === byAllocation.first_failure_key);
    assert.deepEqual(
      [first?.source, first?.title, first?.host_role, first?.node_id, first?.is_failure],
      ['task', 'Copy image: failed', 'worker_compute', w.node.id, true],
    );
    assert.deepEqual([...new Set(byAllocation.entries.map(({ source }) => source))].toSorted(), [
      'audit',
      'event',
      'log',
      'request',
      'task',
      'workflow',
    ]);
    const skewed = byAllocation.entries.find(({ title }) => title === 'task begun');
    assert.equal(skewed?.at, new Date(now).toISOString(), 'by the clock of the platform');
    assert.deepEqual(
      byAllocation.clock_skews.map(({ node_id, skew_ms }) => [node_id, skew_ms]),
      [[w.node.id, 60_000]],
    );
    assert.ok(
      byAllocation.entries.some(({ title }) => title === 'Wipe disks: completed'),
      'its cleanup is there',
    );
    assert.deepEqual(byAllocation.subjects[0]?.id, id);
    const { rows } = await w.sql.query<{ task: string; run: string; audit: string; event: string; slot: string }>(
      `select (select id from node_tasks where allocation_id = $1 and state = 'failed') as task,
         (select id from workflow_runs where subject_id = $1 order by id limit 1) as run,
         (select id from audit_logs where target_id = $1 order by id limit 1) as audit,
         (select id from outbox_events where subject = $1 order by id limit 1) as event,
         (select slot_id from allocation_resource_claims where allocation_id = $1) as slot`,
      [id],
    );
    const [{ task, run, audit, event } = assert.fail()] = rows;
    for (const [other, kind] of [
      [C, 'correlation'],
      [audit, 'correlation'],
      [event, 'correlation'],
      [task, 'node_task'],
      [run, 'workflow_run'],
    ] as const) {
      const found = await w.trace(other);
      assert.deepEqual([found.id, found.kind], [other, kind]);
      assert.deepEqual(found.entries, byAllocation.entries, kind);
      assert.equal(found.first_failure_key, byAllocation.first_failure_key);
    }
    await assertInvariants(w.database);
  });

  it('shows its tenant the step in the host lane, and no host', async (t) => {
    const w = await world(t);
    const id = await failedLaunch(w, C);
    await w.write([{ correlation_id: C, message: 'secret-of-the-host' }]);
    const trace = await w.mine(id);
    const first = trace.entries.find(({ key }) => key === trace.first_failure_key);
    assert.deepEqual(
      [first?.source, first?.title, first?.detail, first?.host_role],
      [
        'workflow',
        'Copy image: failed',
        'The image could not be copied. No other host has the capacity for it now.',
        'worker_compute',
      ],
    );
    assert.deepEqual([...new Set(trace.entries.map(({ source }) => source))].toSorted(), [
      'audit',
      'event',
      'workflow',
    ]);
    assert.deepEqual([...new Set(trace.entries.map(({ host_name }) => host_name))], [null]);
    assert.deepEqual([trace.clock_skews, trace.gaps], [[], []]);
    const text = JSON.stringify(trace);
    for (const word of [/nod_/, /slt_/, /tsk_/, /node-/, /NVME/, /secret-of-the-host/, /source_ip/, /user_agent/])
      assert.doesNotMatch(text, word);
    assert.deepEqual([...new Set(trace.subjects.map(({ kind }) => kind))], ['allocation', 'workflow_run']);
  });

  it('shows the step where a run waits', async (t) => {
    const w = await world(t);
    const id = await w.launch(w.owner, w.owner.project_id, 'c-still-waits', 'slow');
    await settle(w.database, { rounds: 1, host: async () => 0 });
    const trace = await w.mine(id);
    assert.equal(trace.first_failure_key, null);
    const now = trace.entries.find(({ key }) => key.startsWith('run:'));
    assert.deepEqual(
      [now?.title, now?.since, now?.detail],
      ['Reserve GPUs: waits', null, PROVISION_SLICE.steps.leaseBundle.doing],
    );
  });
});

describe('the id of a release, of a repeated one and of operator actions', () => {
  it('leads to the whole timeline and the failed host task', async (t) => {
    const w = await world(t);
    const id = await w.launch(w.owner, w.owner.project_id, 'c-the-launch', 'here');
    await settle(w.database);
    const at = `${w.path}/allocations/${id}/release`;
    const release = (correlation: string) =>
      w.owner.call('POST', at, {}, { 'idempotency-key': correlation, 'x-correlation-id': correlation });
    must(await release('c-the-release'), 202);
    must(await release('c-once-more'), 202);
    await settle(w.database, { answer: (task) => (task.kind === 'slice.cleanup' ? null : truth(task)) });
    const titlesOf = ({ entries }: Trace) => entries.map(({ title }) => title);
    const { rows } = await w.sql.query<{ id: string; nvme_serial: string; slot_index: number }>(
      `select r.id, s.nvme_serial, s.slot_index from workflow_runs r
       join allocation_resource_claims c on c.allocation_id = r.subject_id join node_resource_slots s on s.id = c.slot_id
       where r.subject_id = $1 and r.workflow = 'release-allocation'`,
      [id],
    );
    const [run = assert.fail()] = rows;
    const released = await w.trace('c-the-release');
    assert.deepEqual(released.correlation_ids, ['c-the-release'], 'not the one of the launch');
    for (const title of ['allocation.release succeeded', 'Stop VM: completed', 'Wipe disks: failed'])
      assert.ok(titlesOf(released).includes(title), `${title} in ${titlesOf(released)}`);
    assert.ok(!titlesOf(released).includes('Copy image: completed'));
    assert.ok(titlesOf(released).includes('The cleanup of the allocation is blocked'));
    const first = released.entries.find(({ key }) => key === released.first_failure_key);
    assert.deepEqual([first?.source, first?.title, first?.node_id], ['task', 'Wipe disks: failed', w.node.id]);
    assert.ok(first?.detail?.includes(`slot ${run.slot_index} disk ${run.nvme_serial}`), first?.detail ?? '');
    assert.deepEqual(
      released.entries.map(({ at: when }) => when),
      released.entries.map(({ at: when }) => when).toSorted(),
    );
    const again = await w.trace('c-once-more');
    assert.deepEqual(again.correlation_ids, ['c-the-release', 'c-once-more'], 'it joined the run of the first');
    assert.equal(again.first_failure_key, released.first_failure_key);
    assert.equal((await w.mine('c-once-more')).first_failure_key?.startsWith('step:'), true);
    const operator = { 'idempotency-key': 'retry-it', 'x-correlation-id': 'c-the-retry' };
    must(await w.admin.call('POST', `/api/v1/admin/workflow-runs/${run.id}/retry`, {}, operator), 202);
    await settle(w.database);
    const retried = await w.trace('c-the-retry');
    assert.deepEqual(retried.correlation_ids, ['c-the-release', 'c-the-retry']);
    for (const title of ['workflow_run.retry succeeded', 'Wipe disks: completed', 'The allocation is released'])
      assert.ok(titlesOf(retried).includes(title), `${title} in ${titlesOf(retried)}`);
    const { rows: proofs } = await w.sql.query<{ correlation_id: string }>(
      'select distinct correlation_id from wipe_proofs where allocation_id = $1',
      [id],
    );
    assert.deepEqual(proofs, [{ correlation_id: 'c-the-release' }]);
    await assertInvariants(w.database);
  });
});

describe('the id of the removal of a member', () => {
  it('leads to the removal of the keys from the VM, of launch keys and of granted ones', async (t) => {
    const w = await world(t);
    const member = await w.test.user('leaver');
    const { organization_id, project_id } = w.owner;
    await join(w.sql, { organization_id, ids: { project_id } }, member.me.id, { tenant: 'member', project: 'member' });
    const key = must(await member.post('/api/v1/ssh-keys', { name: 'mine', public_key: newSshKey() }), 201).body.id;
    const launched = await w.launch(w.owner, project_id, 'c-launched', 'launched');
    const granted = await w.launch(w.owner, project_id, 'c-granted', 'granted');
    await settle(w.database);
    await w.sql.query('update allocations set ssh_key_ids = $2 where id = $1', [launched, [key]]);
    const grants = `${w.path}/allocations/${granted}/access-grants`;
    must(await w.owner.post(grants, { ssh_key_id: key }, { 'x-correlation-id': 'c-the-grant' }), 201);
    await settle(w.database);
    // Keys that others lost before are left to the reconciler, which does not run here.
    const { me: other } = await w.test.user('left-before');
    const place = { organization_id, project_id, node_id: w.node.id, slot_ids: [] };
    const kept = await aGrant(w.sql, { ...place, id: granted }, other.id);
    const removal = { 'x-correlation-id': 'c-the-removal' };
    const path = `/api/v1/organizations/${organization_id}/members/${member.me.id}`;
    must(await w.owner.call('DELETE', path, undefined, removal), 204);
    await settle(w.database);
    const trace = await w.trace('c-the-removal');
    const titles = trace.entries.map(({ title }) => title);
    assert.ok(titles.includes('organization.member.remove succeeded'), `${titles}`);
    const installed = trace.entries.filter(
      ({ source, title }) => source === 'task' && title === 'Install SSH keys: completed',
    );
    assert.deepEqual(new Set(installed.map(({ subject_id }) => subject_id)), new Set([launched, granted]), `${titles}`);
    const { rows } = await w.sql.query('select revoked_at from allocation_access_grants where id = $1', [kept]);
    assert.deepEqual(rows, [{ revoked_at: null }]);
  });
});

describe('an id shared by two tenants', () => {
  it('shows each its own rows only, and nothing to a third', async (t) => {
    const w = await world(t);
    const rival = await w.test.user('rival');
    const shared = 'c-shared-by-two';
    const ours = await w.launch(w.owner, w.owner.project_id, shared, 'ours');
    const theirs = await w.launch(rival, rival.project_id, shared, 'theirs');
    await settle(w.database);
    const [mine, other] = [
      await w.mine(shared),
      must(await rival.get(`/api/v1/projects/${rival.project_id}/trace?id=${shared}`), 200).body as Trace,
    ];
    for (const [trace, own, foreign] of [
      [mine, ours, theirs],
      [other, theirs, ours],
    ] as const) {
      assert.ok(trace.entries.some(({ subject_id }) => subject_id === own));
      assert.ok(!JSON.stringify(trace).includes(foreign));
    }
    const foreignIds = [theirs, ...other.entries.map(({ key }) => key.split(':')[1] ?? '')];
    for (const id of new Set(foreignIds)) must(await w.owner.get(`${w.path}/trace?id=${id}`), 404);
    const third = await w.test.user('third');
    for (const id of [shared, ours, w.node.id, w.node.slot_ids[0]])
      must(await third.get(`/api/v1/projects/${third.project_id}/trace?id=${id}`), 404);
    must(await third.get(`${w.path}/trace?id=${ours}`), 404);
    const all = await w.trace(shared);
    assert.deepEqual(
      all.subjects.filter(({ kind }) => kind === 'allocation').map(({ id }) => id),
      [ours, theirs].toSorted(),
    );
  });

  it('shows nothing of another project of the same organization', async (t) => {
    const w = await world(t);
    const projects = `/api/v1/organizations/${w.owner.organization_id}/projects`;
    const second: string = must(await w.owner.post(projects, { name: 'second' }), 201).body.id;
    const there = await w.launch(w.owner, second, 'c-other-project', 'there');
    must(await w.owner.get(`${w.path}/trace?id=c-other-project`), 404);
    must(await w.owner.get(`${w.path}/trace?id=${there}`), 404);
    must(await w.owner.get(`/api/v1/projects/${second}/trace?id=c-other-project`), 200);
  });
});

describe('actions of other users', () => {
  it('are shown to readers of the audit log; all users see their own actions', async (t) => {
    const w = await world(t);
    const [viewer, member] = [await w.test.user('looker'), await w.test.user('worker')];
    for (const [{ me }, role] of [
      [viewer, 'viewer'],
      [member, 'member'],
    ] as const) {
      const { organization_id, project_id } = w.owner;
      await w.sql.query("insert into tenant_memberships (organization_id, user_id, role) values ($1, $2, 'member')", [
        organization_id,
        me.id,
      ]);
      await w.sql.query(
        'insert into project_memberships (project_id, organization_id, user_id, role) values ($1, $2, $3, $4)',
        [project_id, organization_id, me.id, role],
      );
    }
    const correlation = 'c-by-two-people';
    const id = await w.launch(w.owner, w.owner.project_id, correlation, 'ours');
    await w.launch(member, w.owner.project_id, correlation, 'mine');
    const machine = must(await w.owner.post(`${w.path}/service-accounts`, { name: 'machine' }), 201).body;
    const actors = async (as: Caller): Promise<unknown[]> => {
      const trace = must(await as.get(`${w.path}/trace?id=${correlation}`), 200).body as Trace;
      assert.ok(
        trace.entries.some(({ subject_id, source }) => subject_id === id && source === 'event'),
        'what happened is shown all the same',
      );
      return trace.entries
        .filter(({ source }) => source === 'audit')
        .map(({ data }) => (data as { actor_id?: unknown }).actor_id);
    };
    assert.deepEqual(new Set(await actors(w.owner)), new Set([w.owner.me.id, member.me.id]));
    assert.deepEqual(await actors(member), [member.me.id]);
    assert.deepEqual(await actors(viewer), []);
    const tokens = `${w.path}/service-accounts/${machine.service_account.id}/tokens`;
    const { token } = must(
      await w.owner.post(tokens, { name: 'trace', scopes: ['all'], expires_in_s: 3600 }),
      201,
    ).body;
    assert.deepEqual(await actors(w.test.bearer(token)), []);
  });
});

describe('tracing a node', () => {
  it('shows its last day: tasks, operator actions on it and its slots, and its warnings', async (t) => {
    const w = await world(t);
    const id = await w.launch(w.owner, w.owner.project_id, 'c-on-the-node', 'here');
    await settle(w.database);
    const held = { is_held: true, reason: 'A fan is loud' };
    must(
      await w.admin.call('POST', `/api/v1/admin/nodes/${w.node.id}/hold`, held, { 'idempotency-key': 'hold-the-node' }),
      200,
    );
    await w.write([
      { message: 'said in passing' },
      { message: 'the fan is loud', level: 'warn' },
      { message: 'long ago', level: 'warn', logged_at: new Date(Date.now() - 26 * 3_600_000).toISOString() },
    ]);
    await w.sql.query("update node_tasks set finished_at = now() - interval '2 minutes' where kind = 'slice.vm_start'");
    const trace = await w.trace(w.node.id);
    const titles = trace.entries.map(({ title }) => title);
    for (const title of ['Copy image: completed', 'node.hold succeeded', 'the fan is loud'])
      assert.ok(titles.includes(title), `${title} in ${titles}`);
    for (const title of ['said in passing', 'long ago']) assert.ok(!titles.includes(title), title);
    assert.ok(trace.correlation_ids.includes('c-on-the-node'));
    assert.ok(trace.subjects.some((subject) => subject.id === id && subject.kind === 'allocation'));
    assert.match(trace.gaps.join(' '), /1 log line of gpuaas-node-agent on the-host has no correlation ID\./);
    assert.match(trace.gaps.join(' '), /wrote no log line for the task "Start VM"/);
    const slot = (
      await w.sql.query<{ slot_id: string }>(
        'select slot_id from allocation_resource_claims where allocation_id = $1',
        [id],
      )
    ).rows[0]?.slot_id;
    const bySlot = await w.trace(slot ?? '');
    assert.deepEqual([bySlot.kind, bySlot.correlation_ids], ['slot', ['c-on-the-node']], 'who holds it is followed');
    const at = `/api/v1/projects/${w.owner.project_id}/allocations/${id}`;
    must(await w.owner.call('POST', `${at}/release`, {}, { 'idempotency-key': 'release-it' }), 202);
    await settle(w.database);
    const ended = must(await w.admin.get(`/api/v1/admin/allocations/${id}`), 200).body;
    assert.equal(ended.allocation.state, 'released');
    const after = await w.trace(slot ?? '');
    assert.ok(after.correlation_ids.includes('c-on-the-node'), 'and once it is free, who held it last');
  });

  it('is an empty day where nothing happened, and not found where there is no such node', async (t) => {
    const w = await world(t);
    const { entries, subjects } = await w.trace(w.node.id);
    assert.deepEqual([entries, subjects.map(({ id }) => id)], [[], [w.node.id]]);
    for (const id of [mintId('nod'), mintId('alc'), mintId('tsk'), 'c-never-heard-of'])
      must(await w.admin.get(`/api/v1/admin/trace?id=${id}`), 404);
  });
});

describe('an id with very many entries', () => {
  it('keeps its failures and its newest entries, and states that there are more', async (t) => {
    const w = await world(t);
    const { organization_id, project_id } = await aTenant(w.sql);
    const many = 'c-used-for-everything';
    await w.sql.query(
      `insert into audit_logs (id, organization_id, project_id, actor_kind, action, result, policy, correlation_id, created_at)
       select 'aud_' || lpad(n::text, 26, '0'), $1, $2, 'user', 'thing.do', 'success', 'test', $3,
         now() - interval '1 hour' + n * interval '1 second' from generate_series(1, 900) n`,
      [organization_id, project_id, many],
    );
    const start = Date.now() - 7_200_000;
    await w.write(
      Array.from({ length: 1_500 }, (_, n) => ({
        correlation_id: many,
        message: n === 0 ? 'it broke' : 'it went on',
        level: n === 0 ? 'error' : 'info',
        logged_at: new Date(start + n * 10).toISOString(),
      })),
    );
    const trace = await w.trace(many);
    assert.deepEqual([trace.entries.length, trace.is_truncated], [1_000, true]);
    assert.equal(trace.entries[0]?.title, 'it broke', 'although older than all that is shown');
    assert.equal(trace.entries[0]?.key, trace.first_failure_key);
    assert.equal(trace.entries.filter(({ source }) => source === 'audit').length, 900);
    const audits = Array.from({ length: 60 }, (_, n) => [mintId('aud'), `c-one-of-many-${n}`] as const);
    const target = await w.launch(w.owner, w.owner.project_id, 'c-the-first-of-many', 'busy');
    for (const [id, correlation] of audits)
      await w.sql.query(
        `insert into audit_logs (id, organization_id, project_id, actor_kind, action, target_id, result, policy, correlation_id)
         values ($1, $2, $3, 'user', 'thing.do', $4, 'success', 'test', $5)`,
        [id, w.owner.organization_id, w.owner.project_id, target, correlation],
      );
    const { correlation_ids } = await w.mine(target);
    assert.deepEqual(
      correlation_ids,
      audits.slice(10).map(([, correlation]) => correlation),
      'the newest, oldest first',
    );
  });
});
