/** Shared by the fault suites of an allocation's workflows. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { Client } from 'pg';
import { PLATFORM } from '../src/db/client.ts';
import type { WorkflowRunRow } from '../src/db/workflow-run.ts';
import { refreshSummary } from '../src/placement/summary.ts';
import { createAllocationDeps } from '../src/workflows/allocation-deps.ts';
import { testDatabase } from './database.ts';
import { playHost } from './host.ts';
import { type AllocationFacts, aNode, anAllocation } from './placement.ts';

/** Allocations for runs of a workflow, each on its own node, and their final state. */
export const faultSuiteOn = async (t: TestContext, facts: Omit<AllocationFacts, 'node'>) => {
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

/** The run ended as intended. */
export const isWhole = (run: WorkflowRunRow): boolean => run.state === 'done' && run.state_reason === null;
