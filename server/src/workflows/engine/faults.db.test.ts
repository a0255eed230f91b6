import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testDatabase } from '../../../test/database.ts';
import { declared } from '../../../test/declared.ts';
import {
  createEffects,
  type ExampleWorld,
  effectsOf,
  example,
  exampleWorld,
  noteEffect,
} from '../../../test/example-workflow.ts';
import { type FaultSuite, runFaults } from '../../../test/workflow-faults.ts';
import { PLATFORM } from '../../db/client.ts';
import { done, next } from './outcome.ts';
import { signalRun } from './run.ts';
import { workflow } from './workflow.ts';

type ExampleSuite = FaultSuite<ExampleWorld['deps'], Readonly<{ id: string }>, string, ExampleWorld>;

const exampleSuite = async (t: Parameters<typeof testDatabase>[0]) => {
  const { database, ownerUrl } = await testDatabase(t);
  await createEffects(ownerUrl);
  const suite: ExampleSuite = {
    database,
    workflow: example,
    fresh: async () => exampleWorld(),
    answer: async (_, run) => {
      if (run.step === 'approve')
        await database.write(PLATFORM, (tx) => signalRun(tx, { run_id: run.id, name: 'approved' }));
    },
    check: async (world, run) => {
      const effects = await effectsOf(database, world.subject_id);
      assert.equal(new Set(effects).size, effects.length, `an effect happened twice: ${effects.join(', ')}`);
      if (run.state === 'done') assert.deepEqual(effects, ['approve', 'boot', 'finish', 'reserve']);
      if (run.state === 'cancelled') assert.equal(world.hosts.size, 0, 'a cancelled run left its host behind');
      if (run.state === 'stuck') assert.match(run.state_reason ?? '', /deadline/);
    },
    expected: { path: ['reserve', 'boot', 'boot', 'approve', 'approve', 'finish'], calls: 7 },
  };
  return suite;
};

test('the example workflow survives every fault at every step and call, with each effect once', async (t) => {
  const report = await runFaults(await exampleSuite(t));
  // 6 executions x (twice + 4 kills + commit error + deadline + cancel) and 7 calls x (before, after).
  assert.equal(report.scenarios, 6 * 8 + 7 * 2);
  const count = (step: string) => report.injected.filter((name) => name === step).length;
  assert.deepEqual(
    ['reserve', 'boot', 'approve', 'finish'].map(count),
    [8 + 4, 16 + 6, 16 + 2, 8 + 2],
    'the faults are spread over the steps',
  );
});

test('the fault suite refuses a world in which everything fails at step one', async (t) => {
  const suite = await exampleSuite(t);
  let worlds = 0;
  const broken: ExampleSuite = {
    ...suite,
    fresh: async () => {
      const world = exampleWorld();
      // The undisturbed run and the eight faults at the first step are not changed.
      if (worlds++ < 9) return world;
      const reserve = () => Promise.reject(new Error('always'));
      return { ...world, deps: { ...world.deps, host: { ...world.deps.host, reserve } } };
    },
    check: async () => {},
  };
  await assert.rejects(runFaults(broken), /example, twice at 1 \(boot\): .*did not happen at the step/);
});

test('the fault suite refuses an expectation with fewer injection points than the workflow has', async (t) => {
  const suite = await exampleSuite(t);
  await assert.rejects(runFaults({ ...suite, expected: { ...suite.expected, calls: 6 } }), /number of calls/);
  await assert.rejects(runFaults({ ...suite, expected: { ...suite.expected, path: ['reserve'] } }), /another path/);
});

test('the fault suite finds a step whose effect doubles when it runs twice', async (t) => {
  const { database, ownerUrl } = await testDatabase(t);
  await createEffects(ownerUrl);
  type Counter = Readonly<{ add(): Promise<void> }>;
  const careless = workflow<Counter, null, 'first' | 'second'>({
    declared: declared('careless', ['first', 'second']),
    deadlineMs: 600_000,
    load: async () => null,
    steps: {
      first: async () => next('second', noteEffect('careless', 'first')),
      second: async (deps) => {
        await deps.add();
        return done();
      },
    },
  });
  const fresh = async () => {
    const counter = { n: 0 };
    const deps = { add: async () => void counter.n++ };
    return { deps, subject_id: exampleWorld().subject_id, counter };
  };
  const check = async (world: Awaited<ReturnType<typeof fresh>>) => assert.ok(world.counter.n <= 1, 'added twice');
  await assert.rejects(
    runFaults({ database, workflow: careless, fresh, check, expected: { path: ['first', 'second'], calls: 1 } }),
    /careless, twice at 1 \(second\): .*added twice/,
  );
});
