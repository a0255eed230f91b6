/** The fault suites of launches that move to another host, and of the cleanup of the host that they left. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { TaskKind } from '@gpuaas/contract/node';
import { mintId, silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import { PLATFORM } from '../src/db/client.ts';
import { refreshSummary } from '../src/placement/summary.ts';
import { createAllocationDeps } from '../src/workflows/allocation-deps.ts';
import { createRegistry } from '../src/workflows/engine/registry.ts';
import { startRun } from '../src/workflows/engine/run.ts';
import { createWorker } from '../src/workflows/engine/worker.ts';
import { bind } from '../src/workflows/engine/workflow.ts';
import { provisionSlice } from '../src/workflows/provision-slice.ts';
import { cleanLeftHost } from '../src/workflows/release-allocation.ts';
import { isWhole } from './allocation-faults.ts';
import { testDatabase } from './database.ts';
import { playHost, truth } from './host.ts';
import { assertInvariants } from './invariants.ts';
import { cleanupCalls, type Launch } from './launch-faults.ts';
import { aNode, anAllocation, type TestAllocation } from './placement.ts';
import { sealUserData } from './secrets.ts';
import { runFaults, undisturbedPath } from './workflow-faults.ts';

/** The first task of a launch. */
const FIRST_TASK = { gpu_slice: 'slice.bundle_lease', baremetal: 'allocation.provision_user' } as const;

/** With user data it says nothing of the host. */
const GUEST_TASK = 'slice.vm_readiness';

const giveUserData = (sql: Client, { id, organization_id, project_id }: TestAllocation) =>
  sql.query(
    'insert into allocation_user_data (allocation_id, organization_id, project_id, sealed_user_data) values ($1, $2, $3, $4)',
    [id, organization_id, project_id, sealUserData(id, '#!/bin/sh\n')],
  );

/** Launches on a host that fails this task, or their first one, each with one alternative host. */
const suiteOn = async (t: TestContext, shape: Launch['shape'], failing: TaskKind = FIRST_TASK[shape]) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const deps = createAllocationDeps({ database, retry_delay_ms: () => 0 });
  let bad = '';
  const fresh = async () => {
    // The hosts of earlier scenarios accept no more launches.
    await sql.query("update nodes set state = 'draining'");
    await sql.query(`update node_placement_summary set key_1 = null, key_2 = null, key_4 = null, key_8 = null, key_node = null,
      is_schedulable = false`);
    const facts = shape === 'baremetal' ? {} : { gpu_count: 2, partitions: false };
    const [from, to] = [await aNode(sql, facts), await aNode(sql, facts)];
    const made = await anAllocation(sql, { node: from, shape });
    if (failing === GUEST_TASK) await giveUserData(sql, made);
    for (const { id } of [from, to]) await database.write(PLATFORM, (tx) => refreshSummary(tx, id));
    bad = from.id;
    return { deps, subject_id: made.id, from: from.id, to: to.id };
  };
  const answer = async () =>
    void (await playHost(database, {
      answer: (task) => (task.kind === failing && task.node_id === bad ? null : truth(task)),
    }));
  const look = async (id: string) => {
    const { rows } = await sql.query(
      `select a.state, a.node_id, q.gpu_used,
         (select count(*) from usage_records u where u.allocation_id = a.id)::int as usage,
         (select jsonb_agg(jsonb_build_array(c.node_id, c.move_id is not null) order by c.id) from allocation_resource_claims c
            where c.allocation_id = a.id and c.released_at is null) as claims,
         (select jsonb_agg(distinct jsonb_build_array(s.node_id, s.status)) from node_resource_slots s join allocation_resource_claims c
            on c.node_id = s.node_id and (c.slot_id = s.id or c.slot_id is null) where c.allocation_id = a.id) as slots,
         (select count(*) from workflow_runs r join allocation_moves m on m.id = r.subject_id where m.allocation_id = a.id)::int as left_runs,
         (select count(*) from audit_logs l where l.target_id = a.id and l.action = 'allocation.move')::int as audited
       from allocations a join quotas q on q.organization_id = a.organization_id and q.project_id = '' where a.id = $1`,
      [id],
    );
    return rows[0];
  };
  return { database, sql, deps, fresh, answer, look };
};

type Failing = Readonly<{ failing?: TaskKind }>;

/** The launch has user data, and its guest OS does not become ready on the first host. */
export const playGuestMoveFaults = (t: TestContext): Promise<void> =>
  playMoveFaults(t, { workflow: provisionSlice, shape: 'gpu_slice', failing: GUEST_TASK });

export const playMoveFaults = async (t: TestContext, { workflow, shape, failing }: Launch & Failing): Promise<void> => {
  const { database, fresh, answer, look } = await suiteOn(t, shape, failing);
  const path = undisturbedPath(workflow, shape);
  const gpus = shape === 'baremetal' ? 8 : 1;
  const before = failing === GUEST_TASK ? path.slice(0, -1) : path.slice(0, 2);
  const expected = [...before, ...path];
  await runFaults<ReturnType<typeof createAllocationDeps>, never, string, Awaited<ReturnType<typeof fresh>>>({
    database,
    workflow: workflow as never,
    fresh,
    answer,
    check: async ({ subject_id, from, to }, run, fault) => {
      const at = await look(subject_id);
      const hasMoved = at.node_id === to;
      const claims = hasMoved
        ? [
            [from, true],
            [to, false],
          ]
        : [[from, false]];
      assert.deepEqual(at.claims, claims);
      assert.deepEqual([at.gpu_used, at.left_runs, at.audited], [gpus, hasMoved ? 1 : 0, hasMoved ? 1 : 0]);
      const statuses = new Map<string, string>(at.slots);
      if (hasMoved) assert.equal(statuses.get(from), 'cleaning');
      if (isWhole(run)) assert.deepEqual([at.state, at.usage, statuses.get(to)], ['active', 1, 'in_use']);
      else assert.deepEqual([at.state, at.usage, statuses.get(at.node_id)], ['failed', 0, 'cleaning']);
      // Faults around the move; the later steps are those of any launch.
      if (fault === null || (fault.at >= before.length - 2 && fault.at <= before.length + 3))
        await assertInvariants(database);
    },
    // Each execution loads; each but the last requests its host task; the second decides and moves; the last
    // activates.
    expected: { path: expected, calls: 2 * expected.length + 2 },
  });
};

/** The host that a launch left: its slots stay claimed until a wipe is proven there, whatever fails. */
export const playLeftHostFaults = async (t: TestContext): Promise<void> => {
  const { database, sql, deps, fresh, answer, look } = await suiteOn(t, 'gpu_slice');
  const path = undisturbedPath(cleanLeftHost, 'gpu_slice');
  const registry = createRegistry([bind(provisionSlice, deps)]);
  /** A launch that has just moved; the commit of the move has started the cleanup. */
  const moved = async () => {
    const { subject_id: allocation_id, from, to } = await fresh();
    const owner = { organization_id: null, project_id: null, correlation_id: mintId('cor') };
    await database.write(PLATFORM, (tx) =>
      startRun(tx, { workflow: provisionSlice, subject_id: allocation_id, ...owner }),
    );
    const worker = createWorker({ database, registry, log: silentLog() });
    await worker.tick();
    await answer();
    await worker.tick();
    const { rows } = await sql.query('select id from allocation_moves where allocation_id = $1', [allocation_id]);
    assert.equal(rows.length, 1, 'the launch has moved');
    return { deps, subject_id: rows[0].id as string, allocation_id, from, to };
  };
  await runFaults({
    database,
    workflow: cleanLeftHost,
    fresh: moved,
    answer,
    check: async ({ allocation_id, from, to }, run) => {
      const at = await look(allocation_id);
      assert.deepEqual([at.state, at.node_id, at.gpu_used], ['provisioning', to, 1], 'the launch itself goes on');
      const { rows } = await sql.query(
        `select s.status, exists (select from wipe_proofs w where w.id = s.wipe_proof_id and w.is_verified
           and w.allocation_id = $2) as is_proven
         from node_resource_slots s where s.node_id = $1 and s.generation > 0 order by s.generation desc limit 1`,
        [from, allocation_id],
      );
      const whole = isWhole(run);
      assert.deepEqual(
        at.claims,
        whole
          ? [[to, false]]
          : [
              [from, true],
              [to, false],
            ],
      );
      assert.deepEqual(rows, [{ status: whole ? 'available' : 'cleanup_blocked', is_proven: whole }]);
    },
    expected: { path, calls: cleanupCalls(path) },
  });
  await assertInvariants(database);
};
