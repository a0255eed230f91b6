import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TaskKind } from '@gpuaas/contract/node';
import {
  PROGRESS_KINDS,
  PROGRESS_WORKFLOWS,
  type ProgressFacts,
  type ProgressStep,
  progressOf,
  type StepHistory,
} from './progress.ts';
import { declare, type HostStep } from './workflow-declaration.ts';
import { RELEASE_ALLOCATION } from './workflow-steps.ts';

const host = (label: string, usual_s: number, task: TaskKind): HostStep => ({
  ...{ label, usual_s, task },
  doing: 'It is being done.',
  failed: 'It failed.',
});
/** A launch defined by the test: a step added to the real one changes nothing here. */
const LAUNCH = declare({
  name: 'provision-slice',
  version: 1,
  label: 'Launch',
  phase: 'launch',
  steps: {
    leaseBundle: host('Reserve GPUs', 5, 'slice.bundle_lease'),
    cloneImage: host('Copy image', 60, 'slice.image_clone'),
    startVm: host('Start VM', 10, 'slice.vm_start'),
    awaitSsh: host('Wait for SSH', 60, 'slice.vm_readiness'),
    activate: { label: 'Activate', usual_s: 0, task: null },
    abort: { label: 'Abort', usual_s: 0, task: null, is_off_path: true },
  },
});

const NOW = Date.parse('2026-11-15T10:00:30.000Z');
const facts = (more: Partial<ProgressFacts>): ProgressFacts => ({
  workflow: 'provision-slice',
  step: 'cloneImage',
  capacity_shape: 'gpu_slice',
  started_at: '2026-11-15T10:00:00.000Z',
  percent: null,
  bytes_per_s: null,
  note: null,
  medians_s: {},
  history: null,
  ...more,
});
const at = (more: Partial<ProgressFacts>) => {
  const progress = progressOf(facts(more), NOW, [LAUNCH, RELEASE_ALLOCATION]);
  assert.ok(progress);
  return progress;
};
const medians_s = {
  'slice.bundle_lease': 5,
  'slice.image_clone': 60,
  'slice.vm_start': 5,
  'slice.vm_readiness': 30,
};

test('only work that moves an allocation between its states is shown as its progress', () => {
  assert.deepEqual([...PROGRESS_WORKFLOWS].sort(), [
    'provision-baremetal',
    'provision-slice',
    'reboot-slice',
    'reinstall-slice',
    'release-allocation',
    'start-slice',
    'stop-slice',
  ]);
});

test('without history a step is weighted by its usual duration', () => {
  assert.deepEqual(at({ percent: 40, bytes_per_s: 900 }), {
    workflow: 'provision-slice',
    workflow_label: 'Launch',
    phase: 'launch',
    step: 'cloneImage',
    label: 'Copy image',
    step_number: 2,
    step_count: 5,
    percent: 40,
    bytes_per_s: 900,
    note: null,
    started_at: '2026-11-15T10:00:00.000Z',
    expected_s: 60,
    overall_percent: 21,
    steps: [],
  });
  assert.equal(at({}).overall_percent, 25, 'half of the usual time has passed');
});

test('with history a step is weighted by its recent duration and advances with time', () => {
  const { expected_s, percent, overall_percent } = at({ medians_s });
  assert.deepEqual({ expected_s, percent, overall_percent }, { expected_s: 60, percent: null, overall_percent: 35 });
  assert.equal(at({ medians_s, percent: 100 }).overall_percent, 65);
});

test('history of one step leaves the others at their usual duration', () => {
  assert.equal(at({ medians_s: { 'slice.bundle_lease': 15 }, percent: 50 }).overall_percent, 31);
});

test('a step that takes longer than usual is not shown as done', () => {
  const late = '2026-11-15T09:00:00.000Z';
  assert.equal(at({ medians_s, started_at: late }).overall_percent, 62);
  assert.equal(at({ medians_s, started_at: '2026-11-15T10:05:00.000Z' }).overall_percent, 5);
});

test('progress does not reach 100% before the end', () => {
  assert.equal(at({ step: 'activate', medians_s }).overall_percent, 99);
  assert.equal(at({ step: 'activate' }).expected_s, null);
});

test('steps too short to measure count as one second and cause no division by zero', () => {
  const none = Object.fromEntries(PROGRESS_KINDS.map((kind) => [kind, 0]));
  const { expected_s, overall_percent } = at({ medians_s: none });
  assert.deepEqual({ expected_s, overall_percent }, { expected_s: 1, overall_percent: 0 });
});

test('a release is expected to take as long as earlier wipes of such capacity', () => {
  const release = {
    workflow: 'release-allocation',
    step: 'wipe',
    medians_s: { 'slice.cleanup': 40, 'node.cleanup': 90 },
  };
  assert.equal(at(release).expected_s, 40);
  assert.equal(at({ ...release, capacity_shape: 'baremetal' }).expected_s, 90);
});

const done = (step: string, seconds: number): StepHistory => ({
  step,
  outcome: 'next',
  started_at: '2026-11-15T09:59:00+00:00',
  finished_at: new Date(Date.parse('2026-11-15T09:59:00.000Z') + seconds * 1000).toISOString(),
});
const told = (steps: readonly ProgressStep[]) => steps.map(({ key, state, took_ms }) => [key, state, took_ms]);

test('the whole path is shown: done steps with durations, the running step with its note, and later steps', () => {
  const { steps } = at({ percent: 40, note: 'reading', history: [done('leaseBundle', 2)] });
  assert.deepEqual(told(steps), [
    ['leaseBundle', 'done', 2000],
    ['cloneImage', 'running', null],
    ['startVm', 'pending', null],
    ['awaitSsh', 'pending', null],
    ['activate', 'pending', null],
  ]);
  assert.deepEqual(steps[0], {
    key: 'leaseBundle',
    label: 'Reserve GPUs',
    state: 'done',
    started_at: '2026-11-15T09:59:00.000Z',
    took_ms: 2000,
    expected_s: 5,
    percent: 100,
    note: null,
  });
  const [, copy, , , activate] = steps;
  assert.deepEqual([copy?.percent, copy?.note, copy?.started_at], [40, 'reading', '2026-11-15T10:00:00.000Z']);
  assert.deepEqual([activate?.expected_s, activate?.started_at, activate?.percent], [null, null, null]);
});

test('a step left out on the way is skipped, and a repeated one runs again', () => {
  const release = { workflow: 'release-allocation', history: [done('wipe', 9), done('prove', 1)] };
  assert.deepEqual(told(at({ ...release, step: 'wipe' }).steps), [
    ['stopRuntime', 'skipped', null],
    ['wipe', 'running', null],
    ['prove', 'done', 1000],
  ]);
});

test('a run on its failure path shows the failed step, the steps never reached, and the current step', () => {
  const failed = { ...done('cloneImage', 30), outcome: 'error' as const };
  const aside = at({ step: 'abort', history: [done('leaseBundle', 2), failed] });
  assert.deepEqual(told(aside.steps), [
    ['leaseBundle', 'done', 2000],
    ['cloneImage', 'failed', 30_000],
    ['startVm', 'skipped', null],
    ['awaitSsh', 'skipped', null],
    ['activate', 'skipped', null],
    ['abort', 'running', null],
  ]);
  assert.deepEqual([aside.label, aside.step_number, aside.step_count, aside.overall_percent], ['Abort', 6, 6, 3]);
  assert.equal(at({ step: 'abort' }).overall_percent, 0);
});

test('work on no allocation, or with undeclared steps, is not an allocation’s progress', () => {
  assert.equal(progressOf(facts({ workflow: 'repair-slot', step: 'wipe' }), NOW), null);
  assert.equal(progressOf(facts({ step: 'elsewhere' }), NOW), null);
});
