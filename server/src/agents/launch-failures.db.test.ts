import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { type HostPlay, settle, truth } from '../../test/host.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { type AllocationFacts, aNode, anAllocation, type TestNode } from '../../test/placement.ts';
import { sealUserData } from '../../test/secrets.ts';
import { PLATFORM } from '../db/client.ts';
import { tripBreaker } from '../db/health-report.ts';
import { findUserData, putUserData } from '../db/user-data.ts';
import { COOLDOWN_MIN, LAUNCH_FAILURES_MAX } from '../domain/launch-failures.ts';
import { refreshSummary } from '../placement/summary.ts';
import { endCooldown } from '../reconcilers/end-cooldown.ts';
import { purgeExpired } from '../reconcilers/purge-expired.ts';
import { startRun } from '../workflows/engine/run.ts';
import { provisionSlice } from '../workflows/provision-slice.ts';
import { forgetLaunchFailures } from './launch-failures.ts';
import { health } from './task-result.ts';

const world = async (t: TestContext) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const node = async (): Promise<TestNode> => {
    const made = await aNode(sql);
    await database.write(PLATFORM, (tx) => refreshSummary(tx, made.id));
    return made;
  };
  const launch = async (on: TestNode, userData?: string, tenant?: AllocationFacts['tenant']) => {
    const made = await anAllocation(sql, { node: on, ...(tenant === undefined ? {} : { tenant }) });
    const { organization_id, project_id } = made;
    await database.write(PLATFORM, async (tx) => {
      await refreshSummary(tx, on.id);
      if (userData !== undefined)
        await putUserData(tx, {
          ...{ allocation_id: made.id, organization_id, project_id },
          sealed_user_data: sealUserData(made.id, userData),
        });
      await startRun(tx, {
        workflow: provisionSlice,
        ...{ subject_id: made.id, organization_id, project_id, correlation_id: mintId('cor') },
      });
    });
    return made;
  };
  const look = async ({ id }: TestNode) =>
    (
      await sql.query(
        `select n.launch_failures as failures, n.health, s.key_1 is not null as offered, s.key_1::float8 as key,
           coalesce((select jsonb_agg(x.value ->> 'message') from jsonb_array_elements(n.health_detail -> 'alerts') x), '[]') as alerts,
           (select count(*)::int from outbox_events e where e.subject = n.id and e.event_type = 'node.launch_failures_changed') as events
         from nodes n join node_placement_summary s on s.node_id = n.id where n.id = $1`,
        [id],
      )
    ).rows[0];
  return { database, sql, node, launch, look };
};

const failing = (bad: TestNode, kind = 'slice.vm_start'): HostPlay => ({
  answer: (task) => (task.kind === kind && task.node_id === bad.id ? null : truth(task)),
});

test('each failed launch cools its host down and flags it; at the limit placement stops until an operator clears it', async (t) => {
  const w = await world(t);
  const [bad, good] = [await w.node(), await w.node()];
  let last = (await w.look(bad)).key;
  for (let count = 1; count <= LAUNCH_FAILURES_MAX; count++) {
    await w.launch(bad);
    await settle(w.database, failing(bad));
    const at = await w.look(bad);
    const isStopped = count === LAUNCH_FAILURES_MAX;
    assert.deepEqual(
      [at.failures, at.events, at.alerts.length, at.health, at.offered],
      [count, count, 1, isStopped ? 'unhealthy' : 'ok', !isStopped],
    );
    assert.match(at.alerts[0], /Last failure: The test host failed\.$/);
    if (!isStopped) assert.ok(at.key > last, 'it comes later in the order than before');
    last = at.key;
  }
  assert.deepEqual([(await w.look(good)).failures, (await w.look(good)).health], [0, 'ok']);
  await assertInvariants(w.database);

  const why = { reason: 'New cables', correlation_id: 'c-test' };
  assert.equal(await w.database.write(PLATFORM, (tx) => forgetLaunchFailures(tx, bad.id, why)), true);
  assert.equal(await w.database.write(PLATFORM, (tx) => forgetLaunchFailures(tx, bad.id, why)), false);
  const cleared = await w.look(bad);
  assert.deepEqual([cleared.failures, cleared.health, cleared.offered, cleared.alerts], [0, 'ok', true, []]);
  await assertInvariants(w.database);
});

test('the circuit breaker keeps placement on a host that fails launches, and its score still cools', async (t) => {
  const w = await world(t);
  const [bad] = [await w.node(), await w.node()];
  await w.database.write(PLATFORM, (tx) => tripBreaker(tx, 'Test.'));
  const before = (await w.look(bad)).key;
  for (let count = 0; count < LAUNCH_FAILURES_MAX; count++) {
    await w.launch(bad);
    await settle(w.database, failing(bad));
  }
  const at = await w.look(bad);
  assert.deepEqual([at.failures, at.health, at.offered, at.alerts.length], [LAUNCH_FAILURES_MAX, 'ok', true, 1]);
  assert.ok(at.key > before);
});

test('a launch that succeeds on the host, or time without a failure, ends the cooldown; neither lifts a stop', async (t) => {
  const w = await world(t);
  const [bad] = [await w.node(), await w.node()];
  await w.launch(bad);
  await settle(w.database, failing(bad));
  assert.equal((await w.look(bad)).failures, 1);
  await w.launch(bad);
  await settle(w.database);
  assert.deepEqual([(await w.look(bad)).failures, (await w.look(bad)).alerts], [0, []]);

  const fail = (failures: number, minutes: number) =>
    w.sql.query(
      'update nodes set launch_failures = $2, launch_failed_at = now() - make_interval(mins => $3) where id = $1',
      [bad.id, failures, minutes],
    );
  await fail(2, COOLDOWN_MIN - 5);
  assert.equal(await endCooldown(w), 0);
  await fail(2, COOLDOWN_MIN + 5);
  assert.equal(await endCooldown(w), 1);
  assert.equal((await w.look(bad)).failures, 0);
  await fail(LAUNCH_FAILURES_MAX, COOLDOWN_MIN + 5);
  assert.equal(await endCooldown(w), 0);
  await w.launch(bad);
  await settle(w.database);
  assert.equal((await w.look(bad)).failures, LAUNCH_FAILURES_MAX);
});

const refusing = (nodes: readonly TestNode[], error_code: 'bad_image' | 'bad_image_cache'): HostPlay => ({
  answer: (task) =>
    task.kind === 'slice.image_clone' && nodes.some(({ id }) => id === task.node_id) ? null : truth(task),
  error_code,
});

test('an image that two hosts refuse fails the launch, blames no host, and operators see version and hosts', async (t) => {
  const w = await world(t);
  const [first, second, third] = [await w.node(), await w.node(), await w.node()];
  const made = await w.launch(first);
  await settle(w.database, refusing([first, second, third], 'bad_image'));
  const { rows } = await w.sql.query('select state, state_reason, image_digest from allocations where id = $1', [
    made.id,
  ]);
  assert.equal(rows[0].state, 'failed');
  assert.match(rows[0].state_reason, /2 hosts refused the image\. Choose another image;/);
  const audit = await w.sql.query("select metadata from audit_logs where action = 'image.refuse'");
  assert.equal(audit.rowCount, 1);
  const { digest, node_ids } = audit.rows[0].metadata;
  assert.deepEqual([digest, node_ids[0], new Set(node_ids).size], [rows[0].image_digest, first.id, 2]);
  for (const one of [first, second, third])
    assert.deepEqual([(await w.look(one)).failures, (await w.look(one)).events], [0, 0]);
  await assertInvariants(w.database);
});

test('a host that refuses an image is blamed once another host copies it; a damaged cache counts at once', async (t) => {
  const w = await world(t);
  const [bad, good] = [await w.node(), await w.node()];
  await w.launch(bad);
  await settle(w.database, { ...refusing([bad], 'bad_image'), rounds: 3 });
  assert.equal((await w.look(bad)).failures, 0, 'not known yet');
  await settle(w.database, refusing([bad], 'bad_image'));
  assert.deepEqual([(await w.look(bad)).failures, (await w.look(good)).failures], [1, 0]);
  await w.launch(bad);
  await settle(w.database, { ...refusing([bad], 'bad_image_cache'), rounds: 3 });
  assert.equal((await w.look(bad)).failures, 2);
  await settle(w.database, refusing([bad], 'bad_image_cache'));
  assert.deepEqual([(await w.look(bad)).failures, (await w.look(good)).failures], [2, 0]);
  const audit = await w.sql.query("select from audit_logs where action = 'image.refuse'");
  assert.equal(audit.rowCount, 0);
  await assertInvariants(w.database);
});

const CAUSE = 'The VM did not become ready. Its user data may be the cause';
for (const [code, hosts, why] of [
  ['timeout', 2, ': it was tried on 2 hosts.'],
  ['drift', 1, ', so no other host is tried.'],
] as const)
  test(`user data that makes a guest OS fail with ${code} ${hosts === 2 ? 'moves its launch once' : 'moves no launch'}, blames no host and holds nothing`, async (t) => {
    const w = await world(t);
    const nodes = [await w.node(), await w.node(), await w.node()];
    const [first] = nodes;
    assert.ok(first);
    const made = await w.launch(first, '#cloud-config\nbootcmd: [poweroff]');
    await w.sql.query(`create function say() returns trigger language plpgsql as
      $$ begin new.error_code := '${code}'; return new; end $$;
      create trigger say before update of state on node_tasks for each row
        when (new.kind = 'slice.vm_readiness' and new.state = 'failed') execute function say()`);
    const play: HostPlay = { answer: (task) => (task.kind === 'slice.vm_readiness' ? null : truth(task)) };
    await settle(w.database, { ...play, rounds: 5 * hosts });
    const ended = await w.sql.query('select state, state_reason from allocations where id = $1', [made.id]);
    assert.deepEqual(ended.rows, [{ state: 'failed', state_reason: `${CAUSE}${why}` }], 'its cleanup begins');
    await purgeExpired({ database: w.database, history_days: 90, certificate_years: 7 });
    await settle(w.database, play);
    for (const node of nodes) assert.equal((await w.look(node)).failures, 0);
    const { rows } = await w.sql.query(
      `select a.state, q.gpu_used, (select count(*)::int from usage_records u where u.allocation_id = a.id) as usage,
         (select jsonb_agg(t.error_code) from node_tasks t where t.allocation_id = a.id and t.kind = 'slice.vm_readiness') as codes,
         (select count(distinct c.node_id)::int from allocation_resource_claims c where c.allocation_id = a.id) as hosts,
         (select count(*)::int from allocation_resource_claims c where c.allocation_id = a.id and c.released_at is null) as held
       from allocations a join quotas q on q.organization_id = a.organization_id and q.project_id = '' where a.id = $1`,
      [made.id],
    );
    const codes = Array(hosts).fill(code);
    assert.deepEqual(rows, [{ state: 'failed', gpu_used: 0, usage: 0, codes, hosts, held: 0 }]);
    await purgeExpired({ database: w.database, history_days: 90, certificate_years: 7 });
    assert.equal(await w.database.read(PLATFORM, (reader) => findUserData(reader, made.id)), null);
    await assertInvariants(w.database);
  });

test('a host on which no guest OS becomes ready does not fail a launch with user data, which is charged once', async (t) => {
  const w = await world(t);
  const [bad, good] = [await w.node(), await w.node()];
  const made = await w.launch(bad, '#!/bin/sh\n');
  await settle(w.database, failing(bad, 'slice.vm_readiness'));
  const { rows } = await w.sql.query(
    `select a.state, a.node_id, (select count(*)::int from usage_records u where u.allocation_id = a.id) as usage
     from allocations a where a.id = $1`,
    [made.id],
  );
  assert.deepEqual(rows, [{ state: 'active', node_id: good.id, usage: 1 }]);
  assert.equal((await w.look(bad)).failures, 0);
  await assertInvariants(w.database);
});

test('launches with user data hold no more than one host beyond the quota of their organization', async (t) => {
  const w = await world(t);
  const [bad] = [await w.node(), await w.node()];
  const launches = [await w.launch(bad, '#!/bin/sh\n')];
  // The host that the first launch left is not cleaned up while the second one fails.
  const play: HostPlay = {
    answer: (task) =>
      task.node_id === bad.id &&
      (task.kind === 'slice.vm_readiness' || (task.kind === 'slice.cleanup' && task.allocation_id === launches[0]?.id))
        ? null
        : truth(task),
  };
  await settle(w.database, play);
  const { organization_id, project_id } = launches[0] ?? assert.fail();
  launches.push(await w.launch(bad, '#!/bin/sh\n', { organization_id, project_id }));
  await settle(w.database, play);
  const { rows } = await w.sql.query('select state, state_reason from allocations order by id');
  assert.deepEqual(
    rows.map(({ state }) => state),
    ['active', 'failed'],
  );
  assert.match(rows[1].state_reason, /No other host is tried while a host that a launch left is cleaned up\.$/);
});

test('an agent cannot speak for the launches of the control plane', async (t) => {
  const w = await world(t);
  const [bad] = [await w.node(), await w.node()];
  await w.launch(bad);
  await settle(w.database, failing(bad));
  const report = { source: 'launches', observed_at: new Date().toISOString(), successes: [], alerts: [] };
  const deps = { database: w.database, clock: { now: () => new Date() } as never };
  assert.deepEqual(await health(deps, bad.id, { report }), { is_accepted: false });
  assert.equal((await w.look(bad)).alerts.length, 1);
});
