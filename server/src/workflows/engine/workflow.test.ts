import assert from 'node:assert/strict';
import { test } from 'node:test';
import { done, next } from './outcome.ts';
import { createRegistry } from './registry.ts';
import { bind, workflow } from './workflow.ts';

const base = { name: 'typed', version: 1, deadlineMs: 1_000, load: async () => null } as const;

test('a missing step, an extra step and a jump to an unknown step do not compile', () => {
  // @ts-expect-error step two is missing
  workflow<null, null, 'one' | 'two'>({ ...base, first: 'one', steps: { one: async () => done() } });
  // @ts-expect-error step three is not in the diagram
  workflow<null, null, 'one'>({ ...base, first: 'one', steps: { one: async () => done(), three: async () => done() } });
  // @ts-expect-error there is no step nowhere
  workflow<null, null, 'one'>({ ...base, first: 'one', steps: { one: async () => next('nowhere') } });
  // @ts-expect-error the first step must exist
  workflow<null, null, 'one'>({ ...base, first: 'zero', steps: { one: async () => done() } });
  // @ts-expect-error the clean-up step must exist
  workflow<null, null, 'one'>({ ...base, first: 'one', onCancel: 'undo', steps: { one: async () => done() } });
  assert.ok(workflow<null, null, 'one'>({ ...base, first: 'one', steps: { one: async () => done() } }));
});

test('versions of one workflow are registered side by side, the same version only once', () => {
  const v1 = bind(workflow<null, null, 'one'>({ ...base, first: 'one', steps: { one: async () => done() } }), null);
  const registry = createRegistry([v1, { ...v1, version: 2 }]);
  assert.equal(registry.find('typed', 2)?.version, 2);
  assert.equal(registry.find('typed', 3), undefined);
  assert.throws(() => createRegistry([v1, v1]), /registered twice/);
});

test('step time limits come from the step, then the workflow, then the engine', () => {
  const steps = { one: async () => done(), two: async () => done() };
  const define = (stepTimeoutMs?: number | { one?: number; default?: number }) =>
    bind(
      workflow<null, null, 'one' | 'two'>({
        ...base,
        first: 'one',
        steps,
        ...(stepTimeoutMs ? { stepTimeoutMs } : {}),
      }),
      null,
    );
  assert.deepEqual([define(5).timeoutMs('one'), define(5).timeoutMs('two')], [5, 5]);
  const mixed = define({ one: 7, default: 9 });
  assert.deepEqual([mixed.timeoutMs('one'), mixed.timeoutMs('two'), define().timeoutMs('one')], [7, 9, 60_000]);
});
