/** Tasks for workflows. */
import type { Reader } from './client.ts';
import { type NodeTaskRow, TASK } from './node-task.ts';
import { ALLOCATION_STARTING, TASK_HANDED_OUT, TASK_UNDONE } from './predicates.ts';

/** The number of the newest attempt of one task kind for an allocation, by any run; 0 without one. */
export const findLastAttempt = async (
  reader: Reader,
  of: Readonly<{ allocation_id: string | null; kind: string }>,
): Promise<number> =>
  (
    await reader.query<{ attempt: number }>(
      'select coalesce(max(attempt), 0) as attempt from node_tasks where allocation_id = $1 and kind = $2',
      [of.allocation_id, of.kind],
    )
  ).rows[0]?.attempt ?? 0;

type OnNode = Readonly<{ allocation_id: string; node_id: string }>;

/** Tasks of the allocation that the host may be working on, for any purpose. */
export const countRunningTasks = async (reader: Reader, { allocation_id, node_id }: OnNode): Promise<number> => {
  const { rows } = await reader.query<{ count: number }>(
    `select count(*) as count from node_tasks where allocation_id = $1 and node_id = $2 and state ${TASK_HANDED_OUT}`,
    [allocation_id, node_id],
  );
  return rows[0]?.count ?? 0;
};

/** The newest unsuccessful task of the allocation on the node. */
export const findLastFailure = async (
  reader: Reader,
  { allocation_id, node_id }: OnNode,
): Promise<Readonly<{ kind: string; state_reason: string | null }> | undefined> =>
  (
    await reader.query<{ kind: string; state_reason: string | null }>(
      `select kind, state_reason from node_tasks where allocation_id = $1 and node_id = $2 and state ${TASK_UNDONE}
       order by finished_at desc nulls last, id desc limit 1`,
      [allocation_id, node_id],
    )
  ).rows[0];

/** The newest task of this kind that the run requested from the node since an operator last retried it. */
export const findRunTask = async (
  reader: Reader,
  { run_id, node_id, kind }: Readonly<{ run_id: string; node_id: string; kind: string }>,
): Promise<(NodeTaskRow & Readonly<{ age_ms: number; tries: number }>) | undefined> => {
  const { rows } = await reader.query<NodeTaskRow & { age_ms: number; tries: number }>(
    `select ${TASK},
       greatest(0, extract(epoch from clock_timestamp() - coalesce(t.finished_at, t.created_at)) * 1000)::float8 as age_ms,
       (count(*) over ())::integer as tries
     from node_tasks t where t.workflow_run_id = $1 and t.kind = $2 and t.node_id = $3
       and t.created_at > coalesce((select max(s.finished_at) from workflow_steps s where s.run_id = $1 and s.outcome = 'retried'), '-infinity')
     order by t.attempt desc, t.id desc limit 1`,
    [run_id, kind, node_id],
  );
  return rows[0];
};

export type LaunchOfTask = Readonly<{
  launch_failures: number;
  has_user_data: boolean;
  image_name: string | null;
  image_digest: string | null;
}>;

/** The launch that waits for the task on its node; undefined if it moved, ended or was not a launch. */
export const findLaunchOfTask = async (
  reader: Reader,
  taskId: string,
  workflows: readonly string[],
): Promise<LaunchOfTask | undefined> =>
  (
    await reader.query<LaunchOfTask>(
      `select n.launch_failures, a.image_name, a.image_digest, exists (select from allocation_user_data u where u.allocation_id = a.id) as has_user_data
       from node_tasks t join workflow_runs r on r.id = t.workflow_run_id and r.workflow = any ($2)
       join allocations a on a.id = t.allocation_id and a.node_id = t.node_id and a.state ${ALLOCATION_STARTING}
       join nodes n on n.id = t.node_id where t.id = $1`,
      [taskId, workflows],
    )
  ).rows[0];
