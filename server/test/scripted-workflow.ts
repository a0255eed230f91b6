/** A workflow whose steps are given by the test, and common actions of the engine tests. */
import { mintId, silentLog } from '@gpuaas/kit';
import { type Database, PLATFORM } from '../src/db/client.ts';
import type { WorkflowRunRow } from '../src/db/workflow-run.ts';
import { findRun } from '../src/db/workflow-run-view.ts';
import { listSteps } from '../src/db/workflow-step.ts';
import type { Outcome } from '../src/workflows/engine/outcome.ts';
import { createRegistry } from '../src/workflows/engine/registry.ts';
import { startRun } from '../src/workflows/engine/run.ts';
import { createWorker, type Worker, type WorkerOptions } from '../src/workflows/engine/worker.ts';
import { bind, type Definition, type StepContext, type Workflow, workflow } from '../src/workflows/engine/workflow.ts';
import { declared } from './declared.ts';

type Step = 'one' | 'two' | 'cleanUp';
type Script = Partial<Record<Step, (ctx: StepContext, subjectId: string) => Promise<Outcome<Step>>>>;
export type Scripted = Workflow<null, string, Step>;

type More = Partial<Definition<null, string, Step>> & Readonly<{ name?: string; version?: number }>;

export const scripted = (script: Script, { name, version, ...more }: More = {}): Scripted => {
  const step = (key: Step) => async (_: null, subjectId: string, ctx: StepContext) => {
    const run = script[key];
    if (run === undefined) throw new Error(`the script has no step ${key}`);
    return run(ctx, subjectId);
  };
  return workflow<null, string, Step>({
    declared: declared(name ?? 'scripted', ['one', 'two', 'cleanUp'], version),
    deadlineMs: 3_600_000,
    load: async (_, id) => id,
    retry: { attempts_max: 3, base_ms: 1_000, cap_ms: 4_000 },
    ...more,
    steps: { one: step('one'), two: step('two'), cleanUp: step('cleanUp') },
  });
};

export const workerOf = (
  database: Database,
  workflows: readonly Scripted[],
  more: Partial<WorkerOptions> = {},
): Worker =>
  createWorker({
    database,
    registry: createRegistry(workflows.map((one) => bind(one, null))),
    log: silentLog(),
    ...more,
  });

export const start = (database: Database, definition: Scripted, subjectId = mintId('sub')): Promise<WorkflowRunRow> =>
  database.write(PLATFORM, (tx) =>
    startRun(tx, {
      workflow: definition,
      subject_id: subjectId,
      organization_id: null,
      project_id: null,
      correlation_id: mintId('cor'),
    }),
  );

export const readRun = async (database: Database, id: string): Promise<WorkflowRunRow> => {
  const run = await database.read(PLATFORM, (reader) => findRun(reader, id));
  if (run === undefined) throw new Error(`no run ${id}`);
  return run;
};

/** The timeline as `step outcome` lines. */
export const timeline = async (database: Database, id: string): Promise<string[]> =>
  (await database.read(PLATFORM, (reader) => listSteps(reader, id, { limit: 1000 }))).map(
    (row) => `${row.step} ${row.outcome}`,
  );
