/** Tasks as workflows see them. */
import type { Reader } from './client.ts';
import { type NodeTaskRow, TASK } from './node-task.ts';
import { TASK_HANDED_OUT, TASK_UNDONE } from './predicates.ts';

/** The number of the newest attempt of one kind of work for an allocation, by whatever run; 0 where there is none. */
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

/** Tasks that a host may be working on, whatever for. */
export const countRunningTasks = async (reader: Reader, allocationId: string): Promise<number> => {
  const { rows } = await reader.query<{ count: number }>(
    `select count(*) as count from node_tasks where allocation_id = $1 and state ${TASK_HANDED_OUT}`,
    [allocationId],
  );
  return rows[0]?.count ?? 0;
};

/** The newest task of the allocation that did not come to what was asked. */
export const findLastFailure = async (
  reader: Reader,
  allocationId: string,
): Promise<Readonly<{ kind: string; state_reason: string | null }> | undefined> =>
  (
    await reader.query<{ kind: string; state_reason: string | null }>(
      `select kind, state_reason from node_tasks where allocation_id = $1 and state ${TASK_UNDONE}
       order by finished_at desc nulls last, id desc limit 1`,
      [allocationId],
    )
  ).rows[0];

/** The newest task of this kind that the run asked for since an operator last took it up again. */
export const findRunTask = async (
  reader: Reader,
  runId: string,
  kind: string,
): Promise<(NodeTaskRow & Readonly<{ age_ms: number; tries: number }>) | undefined> => {
  const { rows } = await reader.query<NodeTaskRow & { age_ms: number; tries: number }>(
    `select ${TASK},
       greatest(0, extract(epoch from clock_timestamp() - coalesce(t.finished_at, t.created_at)) * 1000)::float8 as age_ms,
       (count(*) over ())::integer as tries
     from node_tasks t where t.workflow_run_id = $1 and t.kind = $2
       and t.created_at > coalesce((select max(s.finished_at) from workflow_steps s where s.run_id = $1 and s.outcome = 'retried'), '-infinity')
     order by t.attempt desc, t.id desc limit 1`,
    [runId, kind],
  );
  return rows[0];
};
