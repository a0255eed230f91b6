/** The fault suite of the power operations. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { createAllocationDeps } from '../src/workflows/allocation-deps.ts';
import { rebootSlice, reinstallSlice, startSlice, stopSlice } from '../src/workflows/power-slice.ts';
import { faultSuiteOn, isWhole } from './allocation-faults.ts';
import { assertInvariants } from './invariants.ts';
import { runFaults, undisturbedPath } from './workflow-faults.ts';

/** Each with the power state of its allocation during and after it. */
export const POWER = [
  { workflow: stopSlice, during: 'stopping', rest: 'off' },
  { workflow: startSlice, during: 'starting', rest: 'on' },
  { workflow: rebootSlice, during: 'rebooting', rest: 'on' },
  { workflow: reinstallSlice, during: 'reinstalling', rest: 'on' },
] as const;

export const playPowerFaults = async (
  t: TestContext,
  { workflow, during, rest }: (typeof POWER)[number],
): Promise<void> => {
  const { database, sql, fresh, answer, look } = await faultSuiteOn(t, { shape: 'gpu_slice', state: 'active' });
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
    // Each execution loads; each but the last requests its host task; the last settles.
    expected: { path, calls: 2 * path.length },
  });
  await assertInvariants(database);
};
