/** Tasks as operators see them. */
import { taskLabel } from '@gpuaas/contract/node';
import type { Reader } from './client.ts';
import { TASK_OPEN } from './predicates.ts';
import type { NodeTasks } from './types.gen.ts';

export type ViewRow = Readonly<
  Pick<
    NodeTasks,
    | 'id'
    | 'node_id'
    | 'allocation_id'
    | 'kind'
    | 'attempt'
    | 'state'
    | 'state_reason'
    | 'error_code'
    | 'percent'
    | 'progress_note'
    | 'correlation_id'
    | 'created_at'
    | 'dispatched_at'
    | 'started_at'
    | 'finished_at'
    | 'expires_at'
  >
>;

/** An output is an object of the shape of its kind: nothing else is stored. */
type Output = Readonly<{ output: Record<string, unknown> | null }>;
export type TaskDetail = TaskView & Output;

export type TaskView = ViewRow & Readonly<{ label: string }>;

/** Of `node_tasks t`. A task that ended has no progress: the last note of its host is from before the end. */
export const VIEW = `t.id, t.node_id, t.allocation_id, t.kind, t.attempt, t.state, t.state_reason, t.error_code, t.percent,
  case when t.finished_at is null then t.progress_note end as progress_note, t.correlation_id, t.created_at, t.dispatched_at, t.started_at, t.finished_at, t.expires_at`;

export const viewOf = (row: ViewRow): TaskView => ({ ...row, label: taskLabel(row.kind) });

/** Newest first. */
export const listNodeTasks = async (
  reader: Reader,
  page: Readonly<{ node_id: string; kind?: string; before: string | null; state: string | null; limit: number }>,
): Promise<TaskView[]> =>
  (
    await reader.query<ViewRow>(
      `select ${VIEW} from node_tasks t where t.node_id = $1 and ($2::text is null or t.id < $2)
         and ($3::text is null or t.state = $3) and ($5::text is null or t.kind = $5) order by t.id desc limit $4`,
      [page.node_id, page.before, page.state, page.limit, page.kind ?? null],
    )
  ).rows.map(viewOf);

export const findNodeTask = async (reader: Reader, nodeId: string, id: string): Promise<TaskDetail | undefined> => {
  const { rows } = await reader.query<ViewRow & Output>(
    `select ${VIEW}, t.output from node_tasks t where t.node_id = $1 and t.id = $2`,
    [nodeId, id],
  );
  return rows.map((row) => ({ ...viewOf(row), output: row.output }))[0];
};

export const findOpenTask = async (
  reader: Reader,
  nodeId: string,
  kind: string,
  /** Only one whose params say this, too. */
  params: Readonly<Record<string, unknown>> = {},
): Promise<TaskView | undefined> =>
  (
    await reader.query<ViewRow>(
      `select ${VIEW} from node_tasks t where t.node_id = $1 and t.kind = $2 and t.state ${TASK_OPEN}
         and t.params @> $3::jsonb order by t.id desc limit 1`,
      [nodeId, kind, JSON.stringify(params)],
    )
  ).rows.map(viewOf)[0];
