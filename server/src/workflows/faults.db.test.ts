import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { testDatabase } from '../../test/database.ts';
import { playHost } from '../../test/host.ts';
import { type AllocationFacts, aNode, anAllocation } from '../../test/placement.ts';
import { runFaults, undisturbedPath } from '../../test/workflow-faults.ts';
import { PLATFORM } from '../db/client.ts';
import type { WorkflowRunRow } from '../db/workflow-run.ts';
import { refreshSummary } from '../placement/summary.ts';
import { createAllocationDeps } from './allocation-deps.ts';
import { rebootSlice, reinstallSlice, startSlice, stopSlice } from './power-slice.ts';
import { provisionBaremetal } from './provision-baremetal.ts';
import { provisionSlice } from './provision-slice.ts';
import { releaseAllocation } from './release-allocation.ts';

const suiteOn = async (t: TestContext, facts: Omit<AllocationFacts, 'node'>) => {
  const open: Client[] = [];
  t.after(() => Promise.all(open.map((client) => client.end())));
  const { database, ownerUrl } = await testDatabase(t);
  const sql = new Client({ connectionString: ownerUrl });
  await sql.connect();
  open.push(sql);
  const deps = createAllocationDeps({ database, retry_delay_ms: () => 0 });
  const fresh = async () => {
    const node = await aNode(sql, facts.shape === 'baremetal' ? {} : { gpu_count: 2, partitions: false });
    const made = await anAllocation(sql, { node, ...facts });
    await database.write(PLATFORM, (tx) => refreshSummary(tx, node.id));
    return { deps, subject_id: made.id };
  };
  const answer = async () => void (await playHost(database));
  const look = async (id: string) => {
    const { rows } = await sql.query(
      `select a.state, n.occupancy, q.gpu_used,
         array(select distinct s.status from node_resource_slots s where s.id = any (p.slot_ids)) as slots,
         (select count(*) from usage_records u where u.allocation_id = a.id)::int as usage,
         (select count(*) from allocation_resource_claims c where c.allocation_id = a.id and c.released_at is null)::int as claims,
         (select count(*) from workflow_runs r where r.subject_id = a.id and r.workflow = 'release-allocation')::int as cleanups,
         exists (select from node_resource_slots s where s.id = any (p.slot_ids) and s.status = 'available'
           and not exists (select from wipe_proofs w where w.id = s.wipe_proof_id and w.is_verified and w.allocation_id = a.id)) as unproven
       from allocations a join nodes n on n.id = a.node_id join allocation_placements p on p.allocation_id = a.id
         join quotas q on q.organization_id = a.organization_id and q.project_id = '' where a.id = $1`,
      [id],
    );
    const [facts] = rows;
    assert.equal(facts.unproven, false, 'a slot is available without proof');
    return facts;
  };
  return { database, sql, fresh, answer, look };
};

const isWhole = (run: WorkflowRunRow): boolean => run.state === 'done' && run.state_reason === null;

for (const { workflow, shape } of [
  { workflow: provisionSlice, shape: 'gpu_slice' },
  { workflow: provisionBaremetal, shape: 'baremetal' },
] as const)
  test(`${workflow.name} survives every fault: active and charged once, or failed, held and being cleaned`, async (t) => {
    const { database, fresh, answer, look } = await suiteOn(t, { shape });
    const path = undisturbedPath(workflow, shape);
    await runFaults<ReturnType<typeof createAllocationDeps>, never, string, Awaited<ReturnType<typeof fresh>>>({
      database,
      workflow: workflow as never,
      fresh,
      answer,
      check: async ({ subject_id }, run) => {
        const facts = await look(subject_id);
        if (isWhole(run)) {
          assert.deepEqual([facts.state, facts.slots, facts.usage], ['active', ['in_use'], 1]);
          return;
        }
        assert.deepEqual([facts.state, facts.slots, facts.usage, facts.cleanups], ['failed', ['cleaning'], 0, 1]);
        assert.ok(facts.claims > 0, 'custody ends with a proof, not with a failure');
      },
      // Each execution loads; each but the last asks its host; the last activates.
      expected: { path, calls: 2 * path.length },
    });
  });

for (const shape of ['gpu_slice', 'baremetal'] as const)
  test(`release of ${shape} survives every fault: proven and free, or blocked and still held`, async (t) => {
    const { database, fresh, answer, look } = await suiteOn(t, { shape, state: 'releasing' });
    const path = undisturbedPath(releaseAllocation, shape);
    await runFaults({
      database,
      workflow: releaseAllocation,
      fresh,
      answer,
      check: async ({ subject_id }, run) => {
        const facts = await look(subject_id);
        if (isWhole(run)) {
          const freed = [facts.state, facts.slots, facts.claims, facts.gpu_used, facts.occupancy];
          assert.deepEqual(freed, ['released', ['available'], 0, 0, 'free']);
          return;
        }
        assert.deepEqual([facts.state, facts.slots], ['release_failed', ['cleanup_blocked']]);
        assert.ok(facts.claims > 0 && facts.gpu_used > 0);
      },
      // Each execution loads and asks whether it is blocked; four ask the host, two of them after asking whether the
      // hardware is in doubt; the last judges and proves.
      expected: { path, calls: 2 * path.length + 4 + 2 + 2 },
    });
  });

for (const { workflow, during, rest } of [
  { workflow: stopSlice, during: 'stopping', rest: 'off' },
  { workflow: startSlice, during: 'starting', rest: 'on' },
  { workflow: rebootSlice, during: 'rebooting', rest: 'on' },
  { workflow: reinstallSlice, during: 'reinstalling', rest: 'on' },
] as const)
  test(`${workflow.name} survives every fault: ${rest}, or unknown with a reason, and always held and charged`, async (t) => {
    const { database, sql, fresh, answer, look } = await suiteOn(t, { shape: 'gpu_slice', state: 'active' });
    const path = undisturbedPath(workflow, 'gpu_slice');
    await runFaults<ReturnType<typeof createAllocationDeps>, never, string, Awaited<ReturnType<typeof fresh>>>({
      database,
      workflow: workflow as never,
      fresh,
      begin: async ({ subject_id }, run) => {
        await sql.query('update allocations set power_state = $2, power_run_id = $3, power_grace_s = 5 where id = $1', [
          subject_id,
          during,
          run.id,
        ]);
      },
      answer,
      check: async ({ subject_id }, run) => {
        const facts = await look(subject_id);
        assert.deepEqual(
          [facts.state, facts.slots, facts.claims, facts.usage, facts.cleanups],
          ['active', ['in_use'], 1, 1, 0],
        );
        const { rows } = await sql.query(
          `select power_state, power_run_id, power_reason is not null as has_reason,
             (select count(*) from node_tasks t where t.allocation_id = a.id and t.state in ('queued', 'dispatched'))::int as waiting,
             (select array_agg(e.data ->> 'power_state' order by e.id) from outbox_events e
               where e.subject = a.id and e.event_type = 'allocation.power_changed') as told,
             (select array_agg(l.action order by l.id) from audit_logs l where l.target_id = a.id and l.action like 'allocation.power%') as audited
           from allocations a where a.id = $1`,
          [subject_id],
        );
        const to = isWhole(run) ? rest : 'unknown';
        assert.deepEqual(rows, [
          {
            power_state: to,
            power_run_id: null,
            has_reason: to === 'unknown',
            waiting: 0,
            told: [to],
            audited: [`allocation.power_${to}`],
          },
        ]);
      },
      // Each execution loads; each but the last asks its host; the last settles.
      expected: { path, calls: 2 * path.length },
    });
  });
