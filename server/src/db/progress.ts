/** The progress of an allocation's live run, with the host's report about its task. */
import type { ProgressFacts } from '../domain/progress.ts';
import { WORKFLOWS } from '../domain/workflow-steps.ts';
import type { Reader } from './client.ts';
import { TASK_OPEN } from './predicates.ts';

export type ProgressRow = ProgressFacts & Readonly<{ allocation_id: string }>;

/** Their allocation states why it moved to another host; a power change or a cleanup shows another reason. */
const LAUNCHES = WORKFLOWS.filter(({ phase }) => phase === 'launch').map(({ name }) => name);

/** Completions for a median, on the same node; where it has none, those among the newest tasks of all. */
const OWN = 20;
const NEWEST = 200;

const median = (from: string): string =>
  `select percentile_cont(0.5) within group (order by extract(epoch from h.finished_at - h.created_at)) from (${from}) h`;

const NEWEST_OF_KIND =
  median(`select t.created_at, t.finished_at from (select kind, state, created_at, finished_at from node_tasks
        where finished_at is not null and kept_until is null order by finished_at desc limit ${NEWEST}) t where t.kind = k.kind and t.state = 'completed'`);

const MEDIANS = `coalesce((select jsonb_object_agg(k.kind, m.median_s) from unnest($3::text[]) as k (kind) cross join lateral (
    select coalesce(
      (${median(`select t.created_at, t.finished_at from node_tasks t where t.node_id = a.node_id and t.kind = k.kind
        and t.state = 'completed' order by t.id desc limit ${OWN}`)}),
      (${NEWEST_OF_KIND})
    ) as median_s) m where m.median_s is not null), '{}')`;

/** Median durations in seconds of the newest tasks of all nodes, by kind; none for a kind without one. */
export const fleetMedians = async (
  reader: Reader,
  kinds: readonly string[],
): Promise<Readonly<Record<string, number>>> => {
  const { rows } = await reader.query<{ medians_s: Record<string, number> }>(
    `select coalesce(jsonb_object_agg(kind, median_s) filter (where median_s is not null), '{}') as medians_s
     from (select k.kind, (${NEWEST_OF_KIND}) as median_s from unnest($1::text[]) as k (kind)) m`,
    [kinds],
  );
  return rows[0]?.medians_s ?? {};
};

/** Where a launch that moved to another host started again. */
const LAST_MOVE = `select max(f.sequence) from workflow_steps f where f.run_id = r.id and f.outcome = 'failed'`;

/** Each step that the run executed on its host: from its first start to its last end, with its last outcome. */
const HISTORY = `coalesce((select jsonb_agg(jsonb_build_object('step', h.step, 'outcome', h.outcome,
    'started_at', h.started_at, 'finished_at', h.finished_at)) from (
  select s.step, (array_agg(s.outcome order by s.sequence desc))[1] as outcome, min(s.started_at) as started_at,
    max(s.finished_at) as finished_at from workflow_steps s where s.run_id = r.id
      and s.sequence > coalesce((${LAST_MOVE}), 0) group by s.step) h), '[]')`;

/**
 * Of the newest live run of each allocation; none for those without one. Medians are read only for the requested kinds,
 * because they are expensive.
 */
export const listProgress = async (
  reader: Reader,
  allocationIds: readonly string[],
  asked: Readonly<{ workflows: readonly string[]; kinds: readonly string[]; with_history: boolean }>,
): Promise<ProgressRow[]> => {
  const { rows } = await reader.query<ProgressRow>(
    `select distinct on (r.subject_id) r.subject_id as allocation_id, a.capacity_shape, r.workflow, r.step,
       coalesce((select max(s.finished_at) from workflow_steps s where s.run_id = r.id and s.outcome in ('next', 'failed', 'retried')),
         r.created_at) as started_at,
       t.percent, t.bytes_per_s, coalesce(t.progress_note, case when r.workflow = any ($5) then a.state_reason end) as note, ${MEDIANS} as medians_s, case when $4 then ${HISTORY} end as history
     from workflow_runs r join allocations a on a.id = r.subject_id
     left join lateral (select t.percent, t.bytes_per_s, t.progress_note from node_tasks t where t.workflow_run_id = r.id
       and t.state ${TASK_OPEN} order by t.id desc limit 1) t on true
     where r.subject_id = any ($1) and r.workflow = any ($2) and r.finished_at is null
     order by r.subject_id, r.id desc`,
    [allocationIds, asked.workflows, asked.kinds, asked.with_history, LAUNCHES],
  );
  return rows;
};
