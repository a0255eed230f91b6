/**
 * The rows as the facts of a trace; entries, their order and the first failure follow the server's own rules. Tenants
 * do not see hosts: tasks and log lines of hosts are left out for them. Actions of other users are shown to those who
 * may read the audit log.
 */
import { ID_PREFIXES, type PublicApi, type ResponseOf } from '@gpuaas/contract';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { capEntries, entriesOf, firstFailureOf, gapsOf, type TraceFacts } from '../../../server/src/domain/trace.ts';
import { type MockCtx, organizationOf, projectOf, type Req } from '../core/context.ts';
import { Refusal } from '../core/errors.ts';
import type { NodeTask } from '../core/rows.ts';
import type { World } from '../core/world.ts';

type Trace = ResponseOf<PublicApi['adminTraceGet']>;
type Subject = Trace['subjects'][number];

const CORRELATIONS_MAX = 50;
const ENTRIES_MAX = 1_000;
const DAY_MS = 86_400_000;
const KINDS = ['allocation', 'workflow_run', 'node', 'slot', 'node_task'] as const;

const kindOf = (id: string): Trace['kind'] =>
  KINDS.find((kind) => id.startsWith(`${ID_PREFIXES[kind]}_`)) ?? 'correlation';

/** The correlation IDs of the runs that the requests under this one affected. */
const joinedTo = (world: World, correlationId: string): string[] =>
  world.audit
    .filter((row) => row.correlation_id === correlationId)
    .flatMap(
      (row) =>
        world.runs.get(String(new Map(Object.entries(row.metadata)).get('workflow_run_id')))?.correlation_id ?? [],
    );

/** The correlation IDs of the requested trace, oldest first. */
const correlationsOf = (world: World, id: string, kind: Trace['kind']): string[] => {
  const runs = [...world.runs.values()].filter((run) => run.id === id || run.subject_id === id);
  const tasks = world.tasks.filter((task) => task.id === id || task.node_id === id);
  const launch = world.allocations.get(id)?.correlation_id ?? [];
  const ids =
    kind === 'correlation'
      ? [...joinedTo(world, id), id]
      : [launch, ...[...runs, ...tasks].map((one) => one.correlation_id)].flat();
  return [...new Set(ids)].slice(-CORRELATIONS_MAX);
};

const bundlesOf = (world: World, { allocation_id }: NodeTask) =>
  (world.allocations.get(allocation_id ?? '')?.slot_ids ?? [])
    .flatMap((id) => world.slots.get(id) ?? [])
    .map(({ slot_index, nvme_serial }) => ({ slot_index, serial: nvme_serial }));

const factsOf = (world: World, ids: ReadonlySet<string>, id: string): Omit<TraceFacts, 'skews'> => {
  const runs = [...world.runs.values()].filter((run) => ids.has(run.correlation_id));
  const lines = world.logs.map((line, number) => ({
    ...line,
    number,
    origin: line.service,
    fields: { ...line.fields },
  }));
  return {
    audit: world.audit
      .filter((row) => ids.has(row.correlation_id))
      .map((row) => ({ ...row, metadata: { ...row.metadata } })),
    runs: runs.map((run) => ({ ...run, state_detail: null })),
    steps: runs.flatMap((run) => run.steps.map((step) => ({ ...step, run_id: run.id, internal_detail: null }))),
    tasks: world.tasks
      .filter((task) => task.id === id || ids.has(task.correlation_id))
      .map((task) => ({
        ...task,
        host_name: world.nodes.get(task.node_id)?.name ?? '',
        slot_id: null,
        bundles: bundlesOf(world, task),
        workflow_run_id: runs.find((run) => run.correlation_id === task.correlation_id)?.id ?? null,
        has_log_line: true,
      })),
    logs: lines.filter((line) => line.node_id === id || ids.has(line.correlation_id ?? '')),
    events: world.events
      .filter((event) => ids.has(event.correlationid))
      .map((event) => ({
        ...event,
        data: { ...event.data },
        event_type: event.type,
        correlation_id: event.correlationid,
        created_at: event.time,
      })),
  };
};

const subjectsOf = (
  world: World,
  id: string,
  { runs }: Pick<TraceFacts, 'runs'>,
  ids: ReadonlySet<string>,
): Subject[] => {
  const node = world.nodes.get(id);
  const slot = world.slots.get(id);
  return [
    ...[...world.allocations.values()]
      .filter((row) => row.id === id || ids.has(row.correlation_id))
      .map((row) => ({ ...pick(row), kind: 'allocation' as const, name: row.name })),
    ...runs.map((run) => ({ ...pick(run), kind: 'workflow_run' as const, name: run.workflow })),
    ...(node === undefined ? [] : [{ ...pick(node), kind: 'node' as const, name: node.name }]),
    ...(slot === undefined ? [] : [{ ...pick({ id, state: slot.status }), kind: 'slot' as const, name: null }]),
  ];
};

const pick = ({
  id,
  state,
  project_id = null,
}: Readonly<{ id: string; state: string; project_id?: string | null }>) => ({
  id,
  state,
  project_id,
});

const traceOf = (world: World, id: string, projectId: string | null, actorId: string | null): Trace => {
  const kind = kindOf(id);
  const correlation_ids = correlationsOf(world, id, kind);
  const ids = new Set(correlation_ids);
  const isOperator = projectId === null;
  const found = factsOf(world, ids, id);
  const facts = {
    ...found,
    audit: found.audit.filter((row) => actorId === null || row.actor_id === actorId),
    ...(isOperator ? {} : { tasks: [], logs: [] }),
  };
  const subjects = subjectsOf(world, id, facts, ids).filter((one) => isOperator || one.project_id === projectId);
  const hosts = new Set([...facts.tasks, ...facts.logs].map((one) => one.node_id));
  const skews = [...world.nodes.values()]
    .filter((node) => hosts.has(node.id))
    .map((node) => ({ node_id: node.id, host_name: node.name, skew_ms: node.clock_skew_ms }));
  const all = entriesOf({ ...facts, skews }, isOperator ? 'operator' : 'tenant');
  if (subjects.length === 0 && (all.length === 0 || !isOperator)) throw new Refusal('not_found', REFUSALS.no_records);
  const entries = capEntries(all, ENTRIES_MAX);
  return {
    id,
    kind,
    correlation_ids,
    subjects,
    first_failure_key: firstFailureOf(all)?.key ?? null,
    entries,
    is_truncated: entries.length < all.length,
    clock_skews: skews,
    gaps: gapsOf(facts, { now_ms: world.now(), logs_since_ms: world.now() - 30 * DAY_MS }),
  };
};

export const trace = {
  traceGet: async (ctx: MockCtx, { query }: Req<'traceGet'>) => {
    const project = projectOf(ctx);
    const seesAll = ctx.holds('audit.read', organizationOf(ctx), project);
    return traceOf(ctx.world, query.id, project, seesAll ? null : ctx.principal.id);
  },
  adminTraceGet: async (ctx: MockCtx, { query }: Req<'adminTraceGet'>) => traceOf(ctx.world, query.id, null, null),
};
