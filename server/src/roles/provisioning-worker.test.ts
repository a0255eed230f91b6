import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WORKFLOWS } from '../domain/workflow-steps.ts';
import { provisioningWorkflows } from './provisioning-worker.ts';

test('every declared version of every workflow is registered with its steps, so that no live run is left without a worker', () => {
  const registry = provisioningWorkflows(undefined as never);
  const registered = registry.keys.map(({ workflow, version }) => ({
    workflow,
    version,
    steps: registry.find(workflow, version)?.stepNames,
  }));
  const declared = WORKFLOWS.map(({ name, version, steps }) => ({
    workflow: name,
    version,
    steps: Object.keys(steps),
  }));
  const byName = (a: { workflow: string }, b: { workflow: string }) => a.workflow.localeCompare(b.workflow);
  assert.deepEqual(registered.toSorted(byName), declared.toSorted(byName));
});
