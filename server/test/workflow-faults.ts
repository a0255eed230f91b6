/**
 * One fault suite for every workflow. It runs the workflow once undisturbed to record its path and its dependency
 * calls, then once per fault: each step executed twice, the worker killed at each point of each step, each commit
 * failing once, each dependency call failing once (before and after its effect), the deadline reached and a
 * cancellation at each step.
 *
 * A harness that silently fails at step one each time proves nothing, so every scenario must show that its fault
 * happened, at the intended step, after the same steps as in the undisturbed run.
 */
import assert from 'node:assert/strict';
import { mintId, silentLog } from '@gpuaas/kit';
import { type Database, PLATFORM } from '../src/db/client.ts';
import type { WorkflowRunRow } from '../src/db/workflow-run.ts';
import { findRun } from '../src/db/workflow-run-view.ts';
import { listSteps, type WorkflowStepRow } from '../src/db/workflow-step.ts';
import { isLive } from '../src/domain/workflow.ts';
import type { CapacityShape, WorkflowDeclaration } from '../src/domain/workflow-declaration.ts';
import { createRegistry } from '../src/workflows/engine/registry.ts';
import { cancelRun, startRun } from '../src/workflows/engine/run.ts';
import { createWorker, FAIL_POINTS, type FailPoint, WorkerDied } from '../src/workflows/engine/worker.ts';
import { bind, type StepFunction, type Workflow } from '../src/workflows/engine/workflow.ts';
import { executionsOf } from './executions.ts';

export type Fault =
  | Readonly<{ kind: 'twice' | 'commit_error' | 'deadline' | 'cancel'; at: number }>
  | Readonly<{ kind: 'killed'; point: FailPoint; at: number }>
  | Readonly<{ kind: 'call'; effect: 'before' | 'after'; at: number }>;

export type World<Deps> = Readonly<{ deps: Deps; subject_id: string }>;

export type FaultSuite<Deps extends object, Subject, Step extends string, W extends World<Deps>> = Readonly<{
  database: Database;
  workflow: Workflow<Deps, Subject, Step>;
  /** A new subject and new fakes: scenarios share nothing. */
  fresh(): Promise<W>;
  /** Other effects of the request that starts such a run. */
  begin?(world: W, run: WorkflowRunRow): Promise<void>;
  /** Simulates the environment when the run waits, such as sending its signal. */
  answer?(world: W, run: WorkflowRunRow): Promise<void>;
  /** Conditions after the end of the run, for every fault. Null is the undisturbed run. */
  check(world: W, run: WorkflowRunRow, fault: Fault | null): Promise<void>;
  /** The path and the number of dependency calls of the undisturbed run, so that a lost injection point is noticed. */
  expected: Readonly<{ path: readonly string[]; calls: number }>;
}>;

/** Every execution of an undisturbed run, as its steps are declared. */
export const undisturbedPath = (
  { declared }: Readonly<{ declared: WorkflowDeclaration }>,
  shape: CapacityShape,
): readonly string[] => executionsOf(declared, shape).map(({ step }) => step);

export type FaultReport = Readonly<{ scenarios: number; injected: readonly string[] }>;

type Played = {
  path: string[];
  calls: { name: string; step: string }[];
  injected: string | null;
  run: WorkflowRunRow;
  steps: WorkflowStepRow[];
};

const ROUNDS_MAX = 200;
const LEASE_MS = 10_000;

/** Lets time pass for one run until it is due, by moving all its times into the past by the same amount. */
export const passTime = (database: Database, runId: string): Promise<void> =>
  database.write(PLATFORM, async (tx) => {
    await tx.query(
      `update workflow_runs set due_at = due_at - d.delta, wake_at = wake_at - d.delta,
         lease_until = lease_until - d.delta, deadline_at = deadline_at - d.delta,
         signal_deadline_at = signal_deadline_at - d.delta
       from (select greatest(due_at - clock_timestamp(), interval '0') as delta from workflow_runs where id = $1) d
       where id = $1`,
      [runId],
    );
  });

const reachDeadline = (database: Database, runId: string): Promise<void> =>
  database.write(PLATFORM, async (tx) => {
    await tx.query('update workflow_runs set deadline_at = clock_timestamp() where id = $1', [runId]);
  });

/** Observes every call into the dependencies, including nested ones, and may make it fail. */
const spy = <T extends object>(target: T, onCall: (name: string) => 'before' | 'after' | null, prefix = ''): T =>
  new Proxy(target, {
    get: (_, key) => {
      const value: unknown = Reflect.get(target, key);
      const name = `${prefix}${String(key)}`;
      if (typeof value === 'object' && value !== null) return spy(value, onCall, `${name}.`);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        const failing = onCall(name);
        if (failing === 'before') throw new Error(`injected: ${name} fails`);
        const result: unknown = Reflect.apply(value, target, args);
        if (failing === null) return result;
        const lost = () => {
          throw new Error(`injected: the answer of ${name} is lost`);
        };
        return result instanceof Promise ? result.then(lost) : lost();
      };
    },
  });

/** The same workflow, with counted executions, one of which runs twice. */
const observed = <Deps, Subject, Step extends string>(
  definition: Workflow<Deps, Subject, Step>,
  played: Played,
  fault: Fault | null,
): Workflow<Deps, Subject, Step> => {
  const wrap =
    (name: string, step: StepFunction<Deps, Subject, Step>): StepFunction<Deps, Subject, Step> =>
    async (deps, subject, ctx) => {
      const index = played.path.push(name) - 1;
      if (fault?.kind === 'twice' && fault.at === index) {
        played.injected = name;
        const silent = { ...ctx, signals: { ...ctx.signals, take: () => undefined } };
        await step(deps, subject, silent);
      }
      return step(deps, subject, ctx);
    };
  const entries = Object.entries<StepFunction<Deps, Subject, Step>>(definition.steps);
  const steps = Object.fromEntries(entries.map(([name, step]) => [name, wrap(name, step)]));
  return { ...definition, steps: steps as Workflow<Deps, Subject, Step>['steps'] };
};

const play = async <Deps extends object, Subject, Step extends string, W extends World<Deps>>(
  suite: FaultSuite<Deps, Subject, Step, W>,
  fault: Fault | null,
): Promise<Played & { world: W }> => {
  const { database } = suite;
  const world = await suite.fresh();
  const run = await database.write(PLATFORM, (tx) =>
    startRun(tx, {
      workflow: suite.workflow,
      subject_id: world.subject_id,
      organization_id: null,
      project_id: null,
      correlation_id: mintId('cor'),
    }),
  );
  await suite.begin?.(world, run);
  const played: Played = { path: [], calls: [], injected: null, run, steps: [] };
  let current = '';
  const deps = spy(world.deps, (name) => {
    const index = played.calls.push({ name, step: current }) - 1;
    if (fault?.kind !== 'call' || fault.at !== index) return null;
    played.injected = current;
    return fault.effect;
  });
  const registry = createRegistry([bind(observed(suite.workflow, played, fault), deps)]);

  const at = async (point: FailPoint, leased: Readonly<{ id: string; step: string }>): Promise<void> => {
    if (point === 'claimed') current = leased.step;
    if (fault === null || played.injected !== null || fault.kind === 'twice' || fault.kind === 'call') return;
    const executed = played.path.length - (point === 'claimed' ? 0 : 1);
    if (executed !== fault.at) return;
    const here = fault.kind === 'killed' ? fault.point : fault.kind === 'commit_error' ? 'committing' : 'claimed';
    if (point !== here) return;
    played.injected = leased.step;
    if (fault.kind === 'killed') throw new WorkerDied(`injected: killed when ${point}`);
    if (fault.kind === 'commit_error') throw new Error('injected: the commit fails');
    if (fault.kind === 'deadline') await reachDeadline(database, leased.id);
    else await database.write(PLATFORM, (tx) => cancelRun(tx, { run_id: leased.id }));
  };
  // A killed worker does nothing more, so each round uses a new one: it knows only the database.
  for (let round = 0; round < ROUNDS_MAX && isLive(played.run.state); round++) {
    const worker = createWorker({ database, registry, log: silentLog(), lease_ms: LEASE_MS, at });
    const worked = await worker.tick();
    played.run = (await database.read(PLATFORM, (reader) => findRun(reader, run.id))) ?? run;
    if (worked > 0 || !isLive(played.run.state)) continue;
    await suite.answer?.(world, played.run);
    await passTime(database, run.id);
  }
  played.steps = await database.read(PLATFORM, (reader) => listSteps(reader, run.id, { limit: 1000 }));
  return { ...played, world };
};

const label = (fault: Fault): string =>
  `${fault.kind}${fault.kind === 'killed' ? ` when ${fault.point}` : fault.kind === 'call' ? ` ${fault.effect} its effect` : ''} at ${fault.at}`;

const listFaults = (path: readonly string[], calls: number): Fault[] => [
  ...path.flatMap((_, at): Fault[] => [
    { kind: 'twice', at },
    ...FAIL_POINTS.map((point): Fault => ({ kind: 'killed', point, at })),
    { kind: 'commit_error', at },
    { kind: 'deadline', at },
    { kind: 'cancel', at },
  ]),
  ...Array.from({ length: calls }, (_, at): Fault[] => [
    { kind: 'call', effect: 'before', at },
    { kind: 'call', effect: 'after', at },
  ]).flat(),
];

/** The timeline must show the fault, once, at its step. */
const checkTimeline = (fault: Fault, played: Played, clean: Played, step: string): void => {
  const stepsOf = (outcome: string) => played.steps.filter((row) => row.outcome === outcome).map((row) => row.step);
  const errors = stepsOf('error');
  const remarks = fault.at === clean.path.length - 1 ? 0 : 1;
  if (fault.kind === 'twice') assert.deepEqual(errors, [], 'a step taken twice gave an error');
  else if (fault.kind === 'deadline') assert.equal(stepsOf('timeout').length, remarks);
  else if (fault.kind === 'cancel') assert.equal(stepsOf('cancelled').length, remarks);
  // A workflow may handle a failed call as a result; otherwise the error is in the timeline at the call.
  else if (fault.kind === 'call') assert.ok(errors.length === 0 || `${errors}` === step, `${errors}`);
  // The outcome was already stored: at most the step after it was held by the dead worker.
  else if (fault.kind === 'killed' && fault.point === 'committed')
    assert.ok(errors.length === 0 || `${errors}` === clean.path[fault.at + 1], `${errors}`);
  else assert.deepEqual(errors, [step]);
};

const checkEnd = (fault: Fault, played: Played, clean: Played, hasDeadlineStep: boolean): void => {
  const isLast = fault.at === clean.path.length - 1;
  const state = played.run.state;
  if (fault.kind === 'cancel' && !isLast) assert.equal(state, 'cancelled');
  else if (fault.kind === 'deadline' && !isLast) assert.ok(hasDeadlineStep ? !isLive(state) : state === 'stuck', state);
  else assert.equal(state, clean.run.state);
};

export const runFaults = async <Deps extends object, Subject, Step extends string, W extends World<Deps>>(
  suite: FaultSuite<Deps, Subject, Step, W>,
): Promise<FaultReport> => {
  const clean = await play(suite, null);
  assert.deepEqual(clean.path, suite.expected.path, 'the undisturbed run takes another path than expected');
  assert.equal(clean.calls.length, suite.expected.calls, 'the undisturbed run makes another number of calls');
  assert.equal(clean.run.state, 'done', `the undisturbed run ends ${clean.run.state}: ${clean.run.state_reason}`);
  await suite.check(clean.world, clean.run, null);

  const injected: string[] = [];
  for (const fault of listFaults(clean.path, clean.calls.length)) {
    const where: string | undefined = fault.kind === 'call' ? clean.calls[fault.at]?.step : clean.path[fault.at];
    try {
      const played = await play(suite, fault);
      assert.equal(played.injected, where, 'the fault did not happen at the step where it was to happen');
      if (fault.kind !== 'call')
        assert.deepEqual(
          played.path.slice(0, fault.at),
          clean.path.slice(0, fault.at),
          'another path led to the fault',
        );
      checkTimeline(fault, played, clean, where ?? '');
      checkEnd(fault, played, clean, suite.workflow.onDeadline !== undefined);
      await suite.check(played.world, played.run, fault);
      injected.push(played.injected ?? '');
    } catch (err) {
      throw new Error(`${suite.workflow.name}, ${label(fault)} (${where ?? 'nowhere'}): ${String(err)}`, {
        cause: err,
      });
    }
  }
  return { scenarios: injected.length, injected };
};
