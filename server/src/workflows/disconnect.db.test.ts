import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mintId } from '@gpuaas/kit';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { report, settle, takeQueued, truth } from '../../test/host.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { aNode, anAllocation } from '../../test/placement.ts';
import { PLATFORM } from '../db/client.ts';
import type { NodeTaskRow } from '../db/node-task.ts';
import { refreshSummary } from '../placement/summary.ts';
import { expireTasks } from '../reconcilers/expire-tasks.ts';
import { markOffline } from '../reconcilers/mark-offline.ts';
import { startRun } from './engine/run.ts';
import { provisionSlice } from './provision-slice.ts';

test('a connection cut for ten minutes in the middle of a clone: nothing is repeated, and the result counts once', async (t) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const [cut, other] = [await aNode(sql), await aNode(sql)];
  const made = await anAllocation(sql, { node: cut });
  await sql.query(
    `insert into node_agents (node_id, last_seen_at, agent_version, boot_id, booted_at, kinds)
     select id, clock_timestamp(), '0.1.0', 'b', now() - interval '1 day', '{}' from nodes`,
  );
  const seen = (id: string) =>
    sql.query('update node_agents set last_seen_at = clock_timestamp() where node_id = $1', [id]);
  await database.write(PLATFORM, async (tx) => {
    for (const { id } of [cut, other]) await refreshSummary(tx, id);
    const { organization_id, project_id } = made;
    await startRun(tx, {
      workflow: provisionSlice,
      ...{ subject_id: made.id, organization_id, project_id, correlation_id: mintId('cor') },
    });
  });
  const clones: NodeTaskRow[] = [];
  /** Completes every task but the clone, which stays at work. */
  const host = async () => {
    const tasks = await takeQueued(database);
    for (const task of tasks)
      if (task.kind === 'slice.image_clone') clones.push(task);
      else await report(database, task, truth(task));
    return tasks.length;
  };
  const look = async () =>
    (
      await sql.query(
        `select a.state, a.node_id, (select state from nodes where id = $2) as node,
           (select count(*) from allocation_resource_claims c where c.allocation_id = a.id and c.released_at is null)::int as claims,
           (select array_agg(t.state || ' ' || t.attempt) from node_tasks t where t.allocation_id = a.id and t.kind = 'slice.image_clone') as clones,
           (select count(*) from usage_records u where u.allocation_id = a.id)::int as usage
         from allocations a where a.id = $1`,
        [made.id, cut.id],
      )
    ).rows[0];
  const waiting = { state: 'provisioning', node_id: cut.id, claims: 1, clones: ['running 1'], usage: 0 };
  await settle(database, { host });
  assert.deepEqual(await look(), { ...waiting, node: 'active' });

  const minutes = "interval '10 minutes'";
  await sql.query(`update node_agents set last_seen_at = last_seen_at - ${minutes}`);
  await sql.query(`update node_tasks set created_at = created_at - ${minutes}, dispatched_at = dispatched_at - ${minutes},
    expires_at = expires_at - ${minutes}`);
  await sql.query(`update workflow_runs set due_at = due_at - ${minutes}, wake_at = wake_at - ${minutes},
    deadline_at = deadline_at - ${minutes}, signal_deadline_at = signal_deadline_at - ${minutes}`);
  await seen(other.id);
  assert.deepEqual([await markOffline({ database }), await expireTasks({ database })], [1, 0]);
  await settle(database, { host });
  assert.deepEqual(await look(), { ...waiting, node: 'offline' });
  assert.equal(clones.length, 1, 'no other host and no other attempt clones');

  const [clone] = clones;
  assert.ok(clone);
  await seen(cut.id);
  assert.equal(await markOffline({ database }), 1);
  for (let time = 0; time < 3; time++) await report(database, clone, truth(clone));
  await settle(database, { host });
  assert.deepEqual(await look(), { ...waiting, state: 'active', node: 'active', clones: ['completed 1'], usage: 1 });
  const { rows } = await sql.query(
    "select outcome from workflow_steps where step = 'cloneImage' and outcome <> 'wait'",
  );
  assert.deepEqual(rows, [{ outcome: 'next' }], 'the result counts once');
  await assertInvariants(database);
});
