import assert from 'node:assert/strict';
import { test } from 'node:test';
import { executionsOf } from '../../test/executions.ts';
import { declare, pathOf, stepEntries, taskKindOf } from './workflow-declaration.ts';
import { isHostStep, RELEASE_ALLOCATION, REPAIR_SLOT, stepLabel, WORKFLOWS, workflowWords } from './workflow-steps.ts';

test('every step has a label, a usual duration where a host works, and a unique name', () => {
  for (const workflow of WORKFLOWS)
    for (const [key, step] of stepEntries(workflow)) {
      assert.match(step.label, /^[A-Z][A-Za-z ]+$/, `${workflow.name} ${key}`);
      assert.equal(step.usual_s > 0, step.task !== null, `${workflow.name} ${key}`);
      if (step.task !== null) for (const text of [step.doing, step.failed]) assert.match(text, /^[A-Z].*\.$/);
    }
  assert.equal(new Set(WORKFLOWS.map(({ name, version }) => `${name} ${version}`)).size, WORKFLOWS.length);
});

test('a step is labeled by its workflow; an undeclared one by its own name', () => {
  assert.equal(stepLabel('release-allocation', 'wipe'), 'Wipe disks');
  assert.equal(stepLabel('release-allocation', 'block'), 'Mark cleanup as blocked');
  assert.equal(stepLabel('release-allocation', 'constructor'), 'constructor');
  assert.equal(stepLabel('elsewhere', 'count'), 'count');
  assert.deepEqual(workflowWords('stop-slice'), { workflow_label: 'Stop', phase: 'power' });
  assert.deepEqual(workflowWords('elsewhere'), { workflow_label: 'elsewhere', phase: null });
});

test('a step belongs to the host lane when the host does its work', () => {
  assert.ok(isHostStep('provision-slice', 'cloneImage'));
  assert.ok(isHostStep('install-keys', 'installKeys'));
  assert.ok(!isHostStep('provision-slice', 'activate'));
  assert.ok(!isHostStep('provision-slice', 'elsewhere'));
  assert.ok(!isHostStep('elsewhere', 'count'));
});

test('the task of a step follows the shape of the allocation', () => {
  const { stopRuntime, prove } = RELEASE_ALLOCATION.steps;
  assert.equal(taskKindOf(stopRuntime, 'gpu_slice'), 'slice.vm_stop');
  assert.equal(taskKindOf(stopRuntime, 'baremetal'), 'allocation.deprovision_user');
  assert.equal(taskKindOf(prove, 'gpu_slice'), null);
  assert.equal(taskKindOf(REPAIR_SLOT.steps.wipe, 'gpu_slice'), 'node.cleanup');
});

test('an undisturbed run executes a host step twice and a server step once, and no failure step', () => {
  assert.deepEqual(
    pathOf(RELEASE_ALLOCATION).map(([key]) => key),
    ['stopRuntime', 'wipe', 'prove'],
  );
  assert.deepEqual(
    executionsOf(RELEASE_ALLOCATION, 'baremetal').map(({ step, kind, execution }) => `${step} ${kind} ${execution}`),
    [
      'stopRuntime allocation.deprovision_user ask',
      'stopRuntime allocation.deprovision_user go_on',
      'wipe node.cleanup ask',
      'wipe node.cleanup go_on',
      'prove null only',
    ],
  );
});

test('a host step without a task kind of the contract, or without a label, does not compile', () => {
  const typed = { name: 'typed', version: 1, label: 'Typed', phase: 'repair' } as const;
  const words = { label: 'Do', usual_s: 1, doing: 'Doing.', failed: 'Failed.' } as const;
  // @ts-expect-error there is no such kind
  declare({ ...typed, steps: { one: { ...words, task: 'slice.nothing' } } });
  // @ts-expect-error nothing says what is shown meanwhile
  declare({ ...typed, steps: { one: { label: 'Do', usual_s: 1, task: 'slice.vm_stop' } } });
  assert.ok(declare({ ...typed, steps: { one: { ...words, task: 'slice.vm_stop' } } }));
});
