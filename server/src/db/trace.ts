/**
 * Rows under correlation ids, and the correlation ids of an id. Every query uses an index and reads a bounded number of
 * rows per correlation id, the newest: one that is used for everything must not cost more than another. With a project
 * only its rows are seen, because callers choose correlation ids and two tenants may choose the same.
 */
import type { AuditFact, EventFact, LogFact, RunFact, StepFact, TaskFact } from '../domain/trace-entry.ts';
import type { Reader } from './client.ts';
import { queryByIndex } from './plan.ts';
import { claimIsLive } from './predicates.ts';
import type { Allocations, NodeAgents, NodeResourceSlots, Nodes } from './types.gen.ts';

/** Null for operators, who see every project. */
type Bound = string | null;

const ANCHORS = {
  allocation: 'select correlation_id from allocations where id = $1 and ($2::text is null or project_id = $2)',
  workflow_run: 'select correlation_id from workflow_runs where id = $1 and ($2::text is null or project_id = $2)',
  audit_log: 'select correlation_id from audit_logs where id = $1 and ($2::text is null or project_id = $2)',
  event: 'select correlation_id from outbox_events where id = $1 and ($2::text is null or project_id = $2)',
  node_task: 'select correlation_id from node_tasks where id = $1 and $2::text is null',
  node: 'select null as correlation_id from nodes where id = $1 and $2::text is null',
  slot: 'select null as correlation_id from node_resource_slots where id = $1 and $2::text is null',
} as const;
export type AnchorKind = keyof typeof ANCHORS;

/** Undefined if it does not exist, or not in the project. */
export const findAnchor = async (
  reader: Reader,
  kind: AnchorKind,
  id: string,
  projectId: Bound,
): Promise<Readonly<{ correlation_id: string | null }> | undefined> =>
  (await queryByIndex<{ correlation_id: string | null }>(reader, ANCHORS[kind], [id, projectId])).rows[0];

/** Related ids: the runs of an allocation or slot, the current or last holder of a slot, the slots of a node. */
export const listRelated = async (reader: Reader, id: string): Promise<string[]> =>
  (
    await queryByIndex<{ id: string }>(
      reader,
      `with held as (
         select coalesce((select c.allocation_id from allocation_resource_claims c where c.slot_id = $1 and ${claimIsLive('c')}),
           (select allocation_id from wipe_proofs where slot_id = $1 and allocation_id is not null order by created_at desc limit 1)) as id
         union all select id from node_resource_slots where node_id = $1)
       select id from held where id is not null union all
       (select r.id from (select $1 as id union all select id from held) s
          cross join lateral (select id from workflow_runs where subject_id = s.id order by id desc limit 50) r)`,
      [id],
    )
  ).rows.map((row) => row.id);

const ROWS = 200;

/** The correlation ids of changes and events about the ids: a bounded number, newest first. */
export const listCorrelations = async (
  reader: Reader,
  ids: readonly string[],
  projectId: Bound,
  limit: number,
): Promise<string[]> => {
  const part = (table: string, column: string): string =>
    `select c.correlation_id, c.created_at from unnest($1::text[]) i (id) cross join lateral (
       select correlation_id, created_at from ${table} where ${column} = i.id and ($2::text is null or project_id = $2)
       order by id desc limit ${ROWS}) c`;
  const { rows } = await queryByIndex<{ correlation_id: string }>(
    reader,
    `select correlation_id from (
       ${part('workflow_runs', 'subject_id')} union all ${part('workflow_runs', 'id')}
       union all ${part('audit_logs', 'target_id')} union all ${part('outbox_events', 'subject')}
       union all select correlation_id, created_at from allocations
         where id = any ($1::text[]) and ($2::text is null or project_id = $2)
     ) s group by correlation_id order by max(created_at) desc, correlation_id limit $3`,
    [ids, projectId, limit],
  );
  return rows.map(({ correlation_id }) => correlation_id);
};

/** The correlation ids of the runs that were started, joined, retried or cancelled under these: newest first. */
export const listJoined = async (
  reader: Reader,
  correlationIds: readonly string[],
  projectId: Bound,
  limit: number,
): Promise<string[]> =>
  (
    await queryByIndex<{ correlation_id: string }>(
      reader,
      `select r.correlation_id from (
         select a.run_id from unnest($1::text[]) v (value) cross join lateral (
           select x.metadata ->> 'workflow_run_id' as run_id from audit_logs x where x.correlation_id = v.value
             and ($2::text is null or x.project_id = $2) order by x.id desc limit ${ROWS}) a where a.run_id is not null) j
         join workflow_runs r on r.id = j.run_id and ($2::text is null or r.project_id = $2)
       group by r.correlation_id order by max(r.id) desc limit $3`,
      [correlationIds, projectId, limit],
    )
  ).rows.map(({ correlation_id }) => correlation_id);

/** The column and values that select rows, and the maximum number. */
export type TraceQuery = Readonly<{
  by: 'correlation' | 'about';
  values: readonly string[];
  project_id: Bound;
  /** Ids sort by time: none older than this. */
  since_ms: number | null;
  limit: number;
}>;

const NO_TIME = '1970-01-01T00:00:00.000Z';
const sinceOf = ({ since_ms }: TraceQuery): string => (since_ms === null ? NO_TIME : new Date(since_ms).toISOString());

/** The newest rows of each value, then the newest of all. */
const newest = async <R extends object>(
  reader: Reader,
  query: TraceQuery,
  source: Readonly<{ columns: string; table: string; column: string; where: string }>,
): Promise<R[]> =>
  (
    await queryByIndex<R>(
      reader,
      `select f.* from unnest($1::text[]) v (value) cross join lateral (
         select ${source.columns} from ${source.table} x where x.${source.column} = v.value and ${source.where}
           and ($2::text is null or x.project_id = $2)
         order by x.id desc limit $4) f
       order by f.id desc limit $4`,
      [query.values, query.project_id, sinceOf(query), query.limit],
    )
  ).rows;

const AUDIT = `x.id, x.created_at, x.actor_kind, x.actor_id, x.action, x.target_kind, x.target_id, x.result, x.error_code,
  x.policy, x.correlation_id, x.metadata`;

export const listAuditFacts = (reader: Reader, query: TraceQuery): Promise<AuditFact[]> =>
  newest(reader, query, {
    columns: AUDIT,
    table: 'audit_logs',
    column: query.by === 'correlation' ? 'correlation_id' : 'target_id',
    where: 'x.created_at >= $3::timestamptz',
  });

const RUN = `x.id, x.workflow, x.subject_id, x.project_id, x.correlation_id, x.step, x.state, x.state_reason, x.state_detail,
  x.state_since, x.finished_at`;

/** Live ones are never too old. */
export const listRunFacts = (reader: Reader, query: TraceQuery): Promise<RunFact[]> =>
  newest(reader, query, {
    columns: RUN,
    table: 'workflow_runs',
    column: query.by === 'correlation' ? 'correlation_id' : 'subject_id',
    where: "coalesce(x.finished_at, 'infinity') >= $3::timestamptz",
  });

export const listEventFacts = (reader: Reader, query: TraceQuery): Promise<EventFact[]> =>
  newest(reader, query, {
    columns: 'x.id, x.event_type, x.subject, x.data, x.correlation_id, x.created_at',
    table: 'outbox_events',
    column: query.by === 'correlation' ? 'correlation_id' : 'subject',
    where: 'x.created_at >= $3::timestamptz',
  });

export const listStepFacts = async (reader: Reader, runIds: readonly string[], limit: number): Promise<StepFact[]> =>
  (
    await queryByIndex<StepFact>(
      reader,
      `select f.* from unnest($1::text[]) r (id) cross join lateral (
         select run_id, sequence, step, attempt, outcome, detail, internal_detail, started_at, finished_at
         from workflow_steps where run_id = r.id order by sequence desc limit $2) f
       order by f.finished_at desc, f.run_id, f.sequence desc limit $2`,
      [runIds, limit],
    )
  ).rows;

const TASK = `x.id, x.node_id, x.allocation_id, x.slot_id, x.workflow_run_id, x.kind, x.attempt, x.state, x.state_reason,
  x.error_code, x.percent, x.correlation_id, x.created_at, x.dispatched_at, x.finished_at`;

/** Slots and disks: those of its allocation, or the one that its run is about. */
const BUNDLES = `(select coalesce(jsonb_agg(b order by b.slot_index, b.serial), '[]') from (
    select s.slot_index, s.nvme_serial as serial from allocation_resource_claims c join node_resource_slots s on s.id = c.slot_id
      where c.allocation_id = f.allocation_id
    union select s.slot_index, s.nvme_serial from node_resource_slots s where s.id = any (array[f.slot_id, w.subject_id])
    union select null, d.serial from disk_ownerships d where d.id = w.subject_id) b)`;

/** Tasks are internal: for operators only. `about` is a node. */
export const listTaskFacts = async (reader: Reader, query: TraceQuery): Promise<TaskFact[]> => {
  const [column, order] = query.by === 'correlation' ? ['correlation_id', 'id'] : ['node_id', 'created_at'];
  const { rows } = await queryByIndex<TaskFact>(
    reader,
    `select f.*, n.name as host_name, ${BUNDLES} as bundles, exists (select from log_lines l where l.correlation_id = f.correlation_id
         and l.node_id = f.node_id) as has_log_line
     from (select t.* from unnest($1::text[]) v (value) cross join lateral (
         select ${TASK} from node_tasks x where x.${column} = v.value and x.created_at >= $2::timestamptz
         order by x.${order} desc limit $3) t
       order by t.id desc limit $3) f
     join nodes n on n.id = f.node_id left join workflow_runs w on w.id = f.workflow_run_id`,
    [query.values, sinceOf(query), query.limit],
  );
  return rows;
};

const LINE = `l.logged_at, l.service, l.host_role, l.host_name, l.node_id, l.level, l.message, l.correlation_id, l.error_code,
  l.fields, l.origin, l.number`;

/** For a correlation id also errors beyond the newest lines. For a node its warnings. */
export const listLogFacts = async (reader: Reader, query: TraceQuery): Promise<LogFact[]> => {
  const lines = (where: string): string =>
    `select f.* from unnest($1::text[]) v (value) cross join lateral (
       select ${LINE} from log_lines l where ${where} and l.logged_at >= $2::timestamptz
       order by l.logged_at desc limit $3) f`;
  const text =
    query.by === 'correlation'
      ? `(${lines('l.correlation_id = v.value')} order by f.logged_at desc limit $3)
         union (${lines("l.correlation_id = v.value and l.level in ('error', 'fatal')")} order by f.logged_at desc limit $3)`
      : `${lines("l.node_id = v.value and l.level in ('warn', 'error', 'fatal')")} order by f.logged_at desc limit $3`;
  const { rows } = await queryByIndex<LogFact>(reader, text, [query.values, sinceOf(query), query.limit]);
  return rows;
};

export type SubjectRow = Readonly<{
  id: string;
  name: string | null;
  state: Allocations['state'] | Nodes['state'] | NodeResourceSlots['status'];
  project_id: Allocations['project_id'] | null;
}>;

/** Allocations, nodes and slots by id; a project sees only its allocations. */
export const listSubjects = async (reader: Reader, ids: readonly string[], projectId: Bound): Promise<SubjectRow[]> =>
  (
    await queryByIndex<SubjectRow>(
      reader,
      `select id, name, state, project_id from allocations where id = any ($1) and ($2::text is null or project_id = $2)
       union all select id, name, state, null from nodes where id = any ($1) and $2::text is null
       union all select s.id, n.name || ' slot ' || s.slot_index, s.status, null from node_resource_slots s
         join nodes n on n.id = s.node_id where s.id = any ($1) and $2::text is null`,
      [ids, projectId],
    )
  ).rows;

export type SkewRow = Readonly<
  Pick<NodeAgents, 'node_id'> & { host_name: Nodes['name']; skew_ms: NodeAgents['clock_skew_ms'] }
>;

export const listSkews = async (reader: Reader, nodeIds: readonly string[]): Promise<SkewRow[]> =>
  (
    await queryByIndex<SkewRow>(
      reader,
      `select a.node_id, n.name as host_name, a.clock_skew_ms as skew_ms from node_agents a join nodes n on n.id = a.node_id
       where a.node_id = any ($1) order by n.name`,
      [nodeIds],
    )
  ).rows;
