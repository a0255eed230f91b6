/** The timeline of a run, one row for each outcome of a step. */
import type { TimelineEntry } from '../domain/workflow.ts';
import type { Reader, Tx } from './client.ts';
import { statement } from './statement.ts';
import type { WorkflowSteps } from './types.gen.ts';

type EntryOf = Readonly<{ id: string; organization_id: string | null; sequence: number; started_at: string | null }>;

const INSERT_STEP = statement(
  {
    id: 'text',
    sequence: 'integer',
    organization_id: 'text | null',
    step: 'text',
    attempt: 'integer',
    outcome: 'text',
    detail: 'text | null',
    internal_detail: 'text | null',
    started_at: 'timestamptz | null',
  },
  `insert into workflow_steps
     (run_id, sequence, organization_id, step, attempt, outcome, detail, internal_detail, started_at, finished_at)
   select :id, :sequence, :organization_id, :step, :attempt, :outcome, :detail, :internal_detail, coalesce(:started_at, t.at), t.at
   from (select clock_timestamp() as at) t`,
);

export const insertStep = async (tx: Tx, run: EntryOf, entry: TimelineEntry): Promise<void> => {
  const { id, sequence, organization_id, started_at } = run;
  await INSERT_STEP.query(tx, { ...entry, id, sequence, organization_id, started_at });
};

/** A wait that repeats prolongs its row: polling for an hour is one line of the timeline, not thousands. */
export const prolongStep = async (tx: Tx, runId: string, sequence: number): Promise<void> => {
  await tx.query('update workflow_steps set finished_at = clock_timestamp() where run_id = $1 and sequence = $2', [
    runId,
    sequence,
  ]);
};

export type WorkflowStepRow = Readonly<
  Pick<
    WorkflowSteps,
    'sequence' | 'step' | 'attempt' | 'outcome' | 'detail' | 'internal_detail' | 'started_at' | 'finished_at'
  >
>;

export const listSteps = async (
  reader: Reader,
  runId: string,
  page: Readonly<{ after?: number | undefined; limit: number }>,
): Promise<WorkflowStepRow[]> => {
  const { rows } = await reader.query<WorkflowStepRow>(
    `select sequence, step, attempt, outcome, detail, internal_detail, started_at, finished_at
     from workflow_steps where run_id = $1 and sequence > $2 order by sequence limit $3`,
    [runId, page.after ?? 0, page.limit],
  );
  return rows;
};
