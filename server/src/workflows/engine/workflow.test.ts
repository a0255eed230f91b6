import assert from 'node:assert/strict';
import { test } from 'node:test';
import { declared } from '../../../test/declared.ts';
import { done, next } from './outcome.ts';
import { createRegistry } from './registry.ts';
import { bind, type StepFunction, workflow } from './workflow.ts';

const base = { deadlineMs: 1_000, load: async () => null } as const;
const ONE = declared('typed', ['one']);
const BOTH = declared('typed', ['one', 'two']);
const one = async () => done();

test('a step without a function or a declaration, and a jump to an unknown step, do not compile', () => {
  // @ts-expect-error step two has no function
  workflow<null, null, 'one' | 'two'>({ ...base, declared: BOTH, steps: { one } });
  // @ts-expect-error step two is not declared
  workflow<null, null, 'one' | 'two'>({ ...base, declared: ONE, steps: { one, two: one } });
  // @ts-expect-error step three is not in the diagram
  workflow<null, null, 'one'>({ ...base, declared: ONE, steps: { one, three: one } });
  // @ts-expect-error there is no step nowhere
  workflow<null, null, 'one'>({ ...base, declared: ONE, steps: { one: async () => next('nowhere') } });
  // @ts-expect-error the clean-up step must exist
  workflow<null, null, 'one'>({ ...base, declared: ONE, onCancel: 'undo', steps: { one } });
  const typed = workflow<null, null, 'one' | 'two'>({ ...base, declared: BOTH, steps: { one, two: one } });
  assert.deepEqual([typed.name, typed.version, typed.first, typed.stepNames], ['typed', 1, 'one', ['one', 'two']]);
});

test('a step receives its declaration', async () => {
  const seen: string[] = [];
  const look: StepFunction<null, null, 'one'> = async (_, __, { step }) => {
    seen.push(step.label);
    return done();
  };
  const bound = bind(workflow<null, null, 'one'>({ ...base, declared: ONE, steps: { one: look } }), null);
  await bound.take('one', { run: { subject_id: 's' } } as Parameters<typeof bound.take>[1]);
  assert.deepEqual(seen, [ONE.steps.one.label]);
});

test('versions of one workflow are registered side by side, the same version only once', () => {
  const v1 = bind(workflow<null, null, 'one'>({ ...base, declared: ONE, steps: { one } }), null);
  const registry = createRegistry([v1, { ...v1, version: 2 }]);
  assert.equal(registry.find('typed', 2)?.version, 2);
  assert.equal(registry.find('typed', 3), undefined);
  assert.throws(() => createRegistry([v1, v1]), /registered twice/);
});

test('step time limits come from the step, then the workflow, then the engine', () => {
  const steps = { one, two: one };
  const define = (stepTimeoutMs?: number | { one?: number; default?: number }) =>
    bind(
      workflow<null, null, 'one' | 'two'>({
        ...base,
        declared: BOTH,
        steps,
        ...(stepTimeoutMs ? { stepTimeoutMs } : {}),
      }),
      null,
    );
  assert.deepEqual([define(5).timeoutMs('one'), define(5).timeoutMs('two')], [5, 5]);
  const mixed = define({ one: 7, default: 9 });
  assert.deepEqual([mixed.timeoutMs('one'), mixed.timeoutMs('two'), define().timeoutMs('one')], [7, 9, 60_000]);
});
