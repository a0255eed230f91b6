import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultSuiteOn, isWhole } from '../../test/allocation-faults.ts';
import { assertInvariants } from '../../test/invariants.ts';
import { runFaults, undisturbedPath } from '../../test/workflow-faults.ts';
import type { createAllocationDeps } from './allocation-deps.ts';
import { provisionBaremetal } from './provision-baremetal.ts';
import { provisionSlice } from './provision-slice.ts';
import { releaseAllocation } from './release-allocation.ts';

for (const { workflow, shape } of [
  { workflow: provisionSlice, shape: 'gpu_slice' },
  { workflow: provisionBaremetal, shape: 'baremetal' },
] as const)
  test(`${workflow.name} survives every fault: active and charged once, or failed, held and cleaned up`, async (t) => {
    const { database, fresh, answer, look } = await faultSuiteOn(t, { shape });
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
      // Each execution loads; each but the last requests its host task; the last activates.
      expected: { path, calls: 2 * path.length },
    });
    await assertInvariants(database);
  });

for (const shape of ['gpu_slice', 'baremetal'] as const)
  test(`release of ${shape} survives every fault: proven and free, or blocked and still held`, async (t) => {
    const { database, fresh, answer, look } = await faultSuiteOn(t, { shape, state: 'releasing' });
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
      // Each execution loads and checks whether it is blocked; four request a host task, two of them after checking for
      // suspect hardware; the last evaluates the evidence and stores the proof.
      expected: { path, calls: 2 * path.length + 4 + 2 + 2 },
    });
    await assertInvariants(database);
  });
