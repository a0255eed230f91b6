/** The fault suites of launches and releases. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { createAllocationDeps } from '../src/workflows/allocation-deps.ts';
import { provisionBaremetal } from '../src/workflows/provision-baremetal.ts';
import { provisionSlice } from '../src/workflows/provision-slice.ts';
import { releaseAllocation } from '../src/workflows/release-allocation.ts';
import { faultSuiteOn, isWhole } from './allocation-faults.ts';
import { assertInvariants } from './invariants.ts';
import { runFaults, undisturbedPath } from './workflow-faults.ts';

/** The slice in the fast tier, the whole node in the slow one. */
export const LAUNCHES = [
  { workflow: provisionSlice, shape: 'gpu_slice' },
  { workflow: provisionBaremetal, shape: 'baremetal' },
] as const;

export type Launch = (typeof LAUNCHES)[number];

export const playLaunchFaults = async (t: TestContext, { workflow, shape }: Launch): Promise<void> => {
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
};

/**
 * Dependency calls of an undisturbed cleanup. Each execution loads and checks whether it is blocked; four request a host
 * task, two of them after checking for suspect hardware; the last evaluates the evidence and stores the proof.
 */
export const cleanupCalls = (path: readonly string[]): number => 2 * path.length + 4 + 2 + 2;

export const playReleaseFaults = async (t: TestContext, { shape }: Launch): Promise<void> => {
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
    expected: { path, calls: cleanupCalls(path) },
  });
  await assertInvariants(database);
};
