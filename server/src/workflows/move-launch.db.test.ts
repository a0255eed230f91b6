import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { type HostPlay, settle, truth } from '../../test/host.ts';
import { assertInvariants } from '../../test/invariants.ts';
import {
  type AllocationFacts,
  aNode,
  anAllocation,
  aTenant,
  type TestAllocation,
  type TestNode,
} from '../../test/placement.ts';
import { sealUserData } from '../../test/secrets.ts';
import { listMoves } from '../db/allocation-move.ts';
import { PLATFORM } from '../db/client.ts';
import type { NodeTaskRow } from '../db/node-task.ts';
import { putUserData } from '../db/user-data.ts';
import { LAUNCH_HOSTS_MAX } from '../domain/launch-move.ts';
import { refreshSummary } from '../placement/summary.ts';
import { createAllocationDeps } from './allocation-deps.ts';
import { auditRun } from './allocation-transitions.ts';
import { startRun } from './engine/run.ts';
import { provisionBaremetal } from './provision-baremetal.ts';
import { provisionSlice } from './provision-slice.ts';
import { restartCleanup, startRelease } from './start-cleanup.ts';

const world = async (t: TestContext) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const node = async () => {
    const made = await aNode(sql);
    await database.write(PLATFORM, (tx) => refreshSummary(tx, made.id));
    return made;
  };
  const launch = async (on: TestNode, facts: Partial<AllocationFacts> = {}): Promise<TestAllocation> => {
    const made = await anAllocation(sql, { node: on, ...facts });
    await database.write(PLATFORM, async (tx) => {
      await refreshSummary(tx, on.id);
      const { organization_id, project_id } = made;
      await startRun(tx, {
        workflow: facts.shape === 'baremetal' ? provisionBaremetal : provisionSlice,
        ...{ subject_id: made.id, organization_id, project_id, correlation_id: mintId('cor') },
      });
    });
    return made;
  };
  const look = async (id: string) =>
    (
      await sql.query(
        `select a.state, a.state_reason, a.node_id, q.gpu_used,
           (select count(*)::int from usage_records u where u.allocation_id = a.id) as usage,
           (select u.gpu_hourly_price_minor::int from usage_records u where u.allocation_id = a.id) as price,
           (select jsonb_agg(jsonb_build_array(c.node_id, c.move_id is not null, c.released_at is not null) order by c.id)
              from allocation_resource_claims c where c.allocation_id = a.id) as claims,
           (select jsonb_object_agg(r.workflow, r.state || coalesce(': ' || r.state_reason, '')) from workflow_runs r
              where r.correlation_id in (a.correlation_id, (select correlation_id from workflow_runs where subject_id = a.id limit 1))
                or r.subject_id = a.id) as runs
         from allocations a join quotas q on q.organization_id = a.organization_id and q.project_id = '' where a.id = $1`,
        [id],
      )
    ).rows[0];
  const statuses = async (nodeId: string): Promise<string[]> =>
    (
      await sql.query('select distinct status from node_resource_slots where node_id = $1 order by status', [nodeId])
    ).rows.map(({ status }) => status);
  return { database, sql, node, launch, look, statuses };
};

/** Hosts on which this kind of task fails; everything else succeeds. */
const failing = (nodes: readonly TestNode[], kind: string): HostPlay => ({
  answer: (task: NodeTaskRow) =>
    task.kind === kind && nodes.some(({ id }) => id === task.node_id) ? null : truth(task),
});

test('a launch whose host fails becomes active on another host, with its id and price, charged once', async (t) => {
  const w = await world(t);
  const [bad, good] = [await w.node(), await w.node()];
  const made = await w.launch(bad, { gpu_count: 2, price_minor: 451 });
  await settle(w.database, { ...failing([bad], 'slice.vm_start'), rounds: 4 });
  const kinds = await settle(w.database, failing([bad], 'slice.vm_start'));
  const at = await w.look(made.id);
  assert.deepEqual(
    [at.state, at.state_reason, at.node_id, at.usage, at.price, at.gpu_used],
    ['active', null, good.id, 1, 451, 2],
  );
  assert.ok(kinds.includes('slice.cleanup'), 'the host that failed is wiped');
  assert.deepEqual(at.claims, [
    [bad.id, true, true],
    [bad.id, true, true],
    [good.id, false, false],
    [good.id, false, false],
  ]);
  assert.deepEqual(await w.statuses(bad.id), ['available']);
  assert.deepEqual(await w.statuses(good.id), ['available', 'in_use']);
  const [move] = await w.database.read(PLATFORM, (reader) => listMoves(reader, [made.id]));
  assert.deepEqual([move?.from_node_id, move?.to_node_id], [bad.id, good.id]);
  const steps = await w.sql.query(
    `select s.step, s.outcome, s.detail from workflow_steps s join workflow_runs r on r.id = s.run_id
     where r.subject_id = $1 and s.outcome <> 'wait' order by s.sequence`,
    [made.id],
  );
  assert.deepEqual(
    steps.rows.map(({ step, outcome }) => `${step} ${outcome}`),
    [
      ...['leaseBundle next', 'cloneImage next', 'startVm failed'],
      ...['leaseBundle next', 'cloneImage next', 'startVm next', 'awaitSsh next', 'activate done'],
    ],
  );
  assert.equal(steps.rows[2].detail, 'The VM could not be started. The launch moves to another host.');
  await assertInvariants(w.database);
});

test('while the left host is cleaned up, its slots stay claimed and count against no quota', async (t) => {
  const w = await world(t);
  const [bad, good] = [await w.node(), await w.node()];
  const made = await w.launch(bad);
  const stuck: HostPlay = {
    answer: (task) => (task.node_id === bad.id && task.kind !== 'slice.bundle_lease' ? null : truth(task)),
  };
  await settle(w.database, stuck);
  const at = await w.look(made.id);
  assert.deepEqual([at.state, at.node_id, at.gpu_used], ['active', good.id, 1]);
  assert.deepEqual(at.claims, [
    [bad.id, true, false],
    [good.id, false, false],
  ]);
  assert.deepEqual(await w.statuses(bad.id), ['available', 'cleanup_blocked']);
  assert.match(at.runs['clean-left-host'], /^stuck/);
  await assertInvariants(w.database);

  // An operator restarts the cleanup of the allocation, which is active elsewhere and is not touched by it.
  await w.database.write(PLATFORM, (tx) =>
    restartCleanup(tx, { allocation_id: made.id, runtime_verified_absent: true }),
  );
  await settle(w.database);
  assert.deepEqual(await w.statuses(bad.id), ['available']);
  assert.equal((await w.look(made.id)).state, 'active');
  await assertInvariants(w.database);
});

test('bare metal moves to another node, and the node it left is wiped', async (t) => {
  const w = await world(t);
  const [bad, good] = [await w.node(), await w.node()];
  const made = await w.launch(bad, { shape: 'baremetal' });
  await settle(w.database, { ...failing([bad], 'allocation.provision_user'), rounds: 3 });
  const occupancies = async () =>
    (await w.sql.query('select id, occupancy from nodes')).rows.map((row) => [row.id, row.occupancy]);
  assert.deepEqual(new Map((await occupancies()) as [string, string][]).get(bad.id), 'cleaning');
  await assertInvariants(w.database);
  await settle(w.database, failing([bad], 'allocation.provision_user'));
  const at = await w.look(made.id);
  assert.deepEqual([at.state, at.node_id, at.usage, at.gpu_used], ['active', good.id, 1, 8]);
  const after = new Map((await occupancies()) as [string, string][]);
  assert.deepEqual([after.get(bad.id), after.get(good.id)], ['free', 'exclusive']);
  await assertInvariants(w.database);
});

test('a launch is tried on a bounded number of hosts, then fails with the true reason', async (t) => {
  const w = await world(t);
  const nodes: TestNode[] = [];
  for (let count = 0; count < LAUNCH_HOSTS_MAX + 1; count++) nodes.push(await w.node());
  const [first] = nodes;
  assert.ok(first);
  const made = await w.launch(first);
  await settle(w.database, failing(nodes, 'slice.image_clone'));
  const at = await w.look(made.id);
  const reason = `The image could not be copied. It was tried on ${LAUNCH_HOSTS_MAX} hosts.`;
  assert.deepEqual([at.state, at.state_reason, at.usage, at.gpu_used], ['failed', reason, 0, 0]);
  assert.equal(new Set(at.claims.map(([node]: [string]) => node)).size, LAUNCH_HOSTS_MAX);
  assert.equal(at.runs['provision-slice'], `done: ${reason}`);
  for (const { id } of nodes) assert.deepEqual(await w.statuses(id), ['available']);
  await assertInvariants(w.database);
});

test('where nothing else fits, the launch fails at once with the true reason', async (t) => {
  const w = await world(t);
  const only = await w.node();
  const made = await w.launch(only);
  await settle(w.database, failing([only], 'slice.bundle_lease'));
  const at = await w.look(made.id);
  const reason = 'The GPUs could not be reserved on the host. No other host has the capacity for it now.';
  assert.deepEqual([at.state, at.state_reason, at.usage], ['failed', reason, 0]);
  assert.equal(at.runs['provision-slice'], `done: ${reason}`);
  await assertInvariants(w.database);
});

test('a release accepted after a move releases the new host, and the old one continues its own cleanup', async (t) => {
  const w = await world(t);
  const [bad, good] = [await w.node(), await w.node()];
  const made = await w.launch(bad);
  const play = failing([bad], 'slice.bundle_lease');
  await settle(w.database, { ...play, rounds: 2 });
  assert.equal((await w.look(made.id)).node_id, good.id);
  await w.database.write(PLATFORM, async (tx) => {
    await startRelease(tx, { allocation_id: made.id, reason: 'test' });
    auditRun(tx, { ...made, name: 'a', correlation_id: 'c' }, 'release', 'test');
  });
  await settle(w.database, play);
  const at = await w.look(made.id);
  assert.deepEqual([at.state, at.usage, at.gpu_used], ['released', 0, 0]);
  for (const { id } of [bad, good]) assert.deepEqual(await w.statuses(id), ['available']);
  await assertInvariants(w.database);
});

test('of simultaneous launches whose guest OS may be at fault, one moves and the other fails with the reason', async (t) => {
  const w = await world(t);
  const tenant = await aTenant(w.sql);
  const leaves = new Map<string | null, string>();
  for (let count = 0; count < 2; count++) {
    const on = await w.node();
    const { id: allocation_id } = await w.launch(on, { tenant });
    const sealed_user_data = sealUserData(allocation_id, '#!/bin/sh\n');
    await w.database.write(PLATFORM, (tx) => putUserData(tx, { ...tenant, allocation_id, sealed_user_data }));
    leaves.set(allocation_id, on.id);
    await w.node();
  }
  const usual = createAllocationDeps({ database: w.database });
  const both = Promise.withResolvers<void>();
  const answers: (string | null)[] = [];
  await settle(w.database, {
    answer: (task) =>
      task.kind === 'slice.vm_readiness' && leaves.get(task.allocation_id) === task.node_id ? null : truth(task),
    deps: {
      whyNotMove: async (...asked) => {
        const answer = await usual.whyNotMove(...asked);
        if (answers.push(answer) === leaves.size) both.resolve();
        await both.promise;
        return answer;
      },
    },
  });
  assert.deepEqual(answers.slice(0, 2), [null, null], 'both may move before either has');
  const seen = await Promise.all([...leaves.keys()].map((id) => w.look(id ?? '')));
  const refused = seen.find(({ state }) => state === 'failed');
  assert.deepEqual(new Set(seen.map(({ state }) => state)), new Set(['active', 'failed']));
  assert.match(refused.state_reason, /No other host is tried while a host that a launch left is cleaned up\.$/);
  const { rows } = await w.sql.query('select allocation_id from allocation_moves');
  assert.deepEqual([rows.length, refused.claims.length], [1, 1]);
  await assertInvariants(w.database);
});
