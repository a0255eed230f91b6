/** Runs for users and operators. */
import type { WorkflowState } from '../domain/workflow.ts';
import type { Reader } from './client.ts';
import { RUN_LIVE } from './predicates.ts';
import { RUN, type WorkflowRunRow } from './workflow-run.ts';

/** With a project, a run of any other project counts as missing. */
export const findRun = async (reader: Reader, id: string, projectId?: string): Promise<WorkflowRunRow | undefined> => {
  const { rows } = await reader.query<WorkflowRunRow>(
    `select ${RUN} from workflow_runs r where r.id = $1 and ($2::text is null or r.project_id = $2)`,
    [id, projectId ?? null],
  );
  return rows[0];
};

export type RunFilter = Readonly<{
  project_id?: string | undefined;
  organization_id?: string | undefined;
  subject_id?: string | undefined;
  workflow?: string | undefined;
  state?: WorkflowState | undefined;
  correlation_id?: string | undefined;
  before_id?: string | undefined;
  limit: number;
}>;

/** Newest first. The text contains only the given filters, so that the planner sees which index applies. */
export const listRuns = async (reader: Reader, filter: RunFilter): Promise<WorkflowRunRow[]> => {
  const values: unknown[] = [filter.limit];
  const conditions: string[] = [];
  const where = (condition: string, value: unknown) => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(`${condition} $${values.length}`);
  };
  where('r.project_id =', filter.project_id);
  where('r.organization_id =', filter.organization_id);
  where('r.subject_id =', filter.subject_id);
  where('r.workflow =', filter.workflow);
  where('r.state =', filter.state);
  where('r.correlation_id =', filter.correlation_id);
  where('r.id <', filter.before_id);
  const { rows } = await reader.query<WorkflowRunRow>(
    `select ${RUN} from workflow_runs r ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''}
     order by r.id desc limit $1`,
    values,
  );
  return rows;
};

export type RunCount = Readonly<{ state: WorkflowState; count: number; oldest_age_s: number }>;

/** Runs that are live or stuck, for the metrics. Ended runs are history: counting them would read the whole table. */
export const countRunsByState = async (reader: Reader): Promise<RunCount[]> => {
  const { rows } = await reader.query<RunCount>(
    `select state, count(*)::integer as count,
       greatest(extract(epoch from clock_timestamp() - min(state_since)), 0)::float8 as oldest_age_s
     from (
       select state, state_since from workflow_runs where state ${RUN_LIVE}
       union all select state, state_since from workflow_runs where state = 'stuck') r
     group by state order by state`,
  );
  return rows;
};
