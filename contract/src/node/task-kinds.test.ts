import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HOST_PORTS, isTaskKind, kindsOf, TASK_KINDS, TASKS, taskLabel } from './task-kinds.ts';
import type { CleanupOutput } from './wipe-evidence.ts';

test('every kind has an imperative label without a trailing period', () => {
  for (const kind of TASK_KINDS) assert.match(TASKS[kind].label, /^[A-Z][A-Za-z ]{3,30}$/, kind);
});

test('a kind that destroys data names its slots or disks, so that the agent can refuse stale ones', () => {
  for (const kind of TASK_KINDS.filter((one) => TASKS[one].effect === 'destroy')) {
    const { properties } = TASKS[kind].params;
    assert.ok('slots' in properties || 'disks' in properties, kind);
  }
});

test('no agent version may omit the report of VM remains, or a part of it', () => {
  const wipes = TASK_KINDS.filter((one) => 'disks' in TASKS[one].output.properties && TASKS[one].effect === 'destroy');
  assert.ok(wipes.length > 0);
  for (const kind of wipes) {
    const { required, properties } = TASKS[kind].output as typeof CleanupOutput;
    assert.deepEqual([...(required ?? [])].toSorted(), Object.keys(properties).toSorted(), kind);
    for (const part of [properties.isolation, properties.isolation.properties.network])
      assert.deepEqual([...(part.required ?? [])].toSorted(), Object.keys(part.properties).toSorted(), kind);
  }
});

test('the server waits longer for a started task than the agent works on it, where its work must not be lost', () => {
  for (const kind of TASK_KINDS) {
    const { effect, is_waited_out, output } = TASKS[kind];
    // A wipe in progress leaves a proof.
    if (effect === 'destroy' && 'disks' in output.properties) assert.ok(is_waited_out, kind);
  }
});

test('a host offers the kinds that its ports support; fewer ports never mean more kinds', () => {
  const ports = fc.subarray([...HOST_PORTS]);
  fc.assert(
    fc.property(ports, ports, fc.boolean(), (some, more, isReadOnly) => {
      const few = kindsOf(new Set(some), isReadOnly);
      const many = new Set(kindsOf(new Set([...some, ...more]), isReadOnly));
      assert.ok(few.every((kind) => many.has(kind)));
      assert.ok(few.every((kind) => TASKS[kind].needs.every((port) => some.includes(port))));
    }),
  );
  assert.deepEqual(kindsOf(new Set(HOST_PORTS)), TASK_KINDS);
});

test('a read-only host receives no task that changes it', () => {
  for (const kind of kindsOf(new Set(HOST_PORTS), true)) assert.equal(TASKS[kind].effect, 'read', kind);
});

test('a kind of another version is shown by its name', () => {
  assert.equal(taskLabel('slice.image_clone'), 'Copy image');
  for (const kind of ['some.kind', 'constructor', '__proto__']) {
    assert.equal(isTaskKind(kind), false);
    assert.equal(taskLabel(kind), kind);
  }
});
