/** Tasks as operators see them, and those that no allocation asked for: a discovery, a repair, a probe. */
import { invariant, mintId } from '@gpuaas/kit';
import type { Reader, Tx } from './client.ts';
import type { NodeTaskState } from './node-task.ts';
import { TASK_OPEN } from './predicates.ts';

export type TaskView = Readonly<{
  id: string;
  node_id: string;
  allocation_id: string | null;
  kind: string;
  attempt: number;
  state: NodeTaskState;
  state_reason: string | null;
  error_code: string | null;
  percent: number | null;
  correlation_id: string;
  created_at: string;
  dispatched_at: string | null;
  started_at: string | null;
  finished_at: string | null;
  expires_at: string;
}>;

const VIEW = `t.id, t.node_id, t.allocation_id, t.kind, t.attempt, t.state, t.state_reason, t.error_code, t.percent,
  t.correlation_id, t.created_at, t.dispatched_at, t.started_at, t.finished_at, t.expires_at`;

/** Newest first. */
export const listNodeTasks = async (
  reader: Reader,
  page: Readonly<{ node_id: string; kind?: string; before: string | null; state: string | null; limit: number }>,
): Promise<TaskView[]> =>
  (
    await reader.query<TaskView>(
      `select ${VIEW} from node_tasks t where t.node_id = $1 and ($2::text is null or t.id < $2)
         and ($3::text is null or t.state = $3) and ($5::text is null or t.kind = $5) order by t.id desc limit $4`,
      [page.node_id, page.before, page.state, page.limit, page.kind ?? null],
    )
  ).rows;

export const findOpenTask = async (
  reader: Reader,
  nodeId: string,
  kind: string,
  /** Only one whose params say this, too. */
  params: Readonly<Record<string, unknown>> = {},
): Promise<TaskView | undefined> =>
  (
    await reader.query<TaskView>(
      `select ${VIEW} from node_tasks t where t.node_id = $1 and t.kind = $2 and t.state ${TASK_OPEN}
         and t.params @> $3::jsonb order by t.id desc limit 1`,
      [nodeId, kind, JSON.stringify(params)],
    )
  ).rows[0];

export type NewHostTask = Readonly<{
  node_id: string;
  kind: string;
  params: Readonly<Record<string, unknown>>;
  correlation_id: string;
  expires_in_s: number;
  /** The run that waits for it, and which of its tries this is. */
  run?: Readonly<{ id: string; attempt: number }>;
}>;

export const insertHostTask = async (tx: Tx, task: NewHostTask): Promise<TaskView> => {
  const { rows } = await tx.query<TaskView>(
    `insert into node_tasks as t (id, node_id, kind, params, attempt, correlation_id, expires_at, workflow_run_id)
     values ($1, $2, $3, $4, $5, $6, clock_timestamp() + make_interval(secs => $7), $8) returning ${VIEW}`,
    [
      mintId('tsk'),
      task.node_id,
      task.kind,
      JSON.stringify(task.params),
      task.run?.attempt ?? 1,
      task.correlation_id,
      task.expires_in_s,
      task.run?.id ?? null,
    ],
  );
  const [row] = rows;
  invariant(row !== undefined, 'the task was just written');
  return row;
};
