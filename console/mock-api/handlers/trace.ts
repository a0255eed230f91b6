/**
 * One id, followed: what stands in audit rows, runs, tasks, log lines and events under a correlation id or about a thing, in
 * one order. Tenants see no host: tasks and log lines of hosts are left out for them. What others did is told to whoever may
 * read the audit log.
 */

import type { PublicApi, ResponseOf } from '@gpuaas/contract';
import { stepLabel } from '../../../server/src/domain/workflow-steps.ts';
import { type MockCtx, organizationOf, projectOf, type Req } from '../core/context.ts';
import { notFound } from '../core/errors.ts';
import type { Run } from '../core/rows.ts';
import type { World } from '../core/world.ts';

type Trace = ResponseOf<PublicApi['adminTraceGet']>;
type Entry = Trace['entries'][number];
type Subject = Trace['subjects'][number];

const ENTRIES_MAX = 1_000;
const BAD_STEPS = ['stuck', 'error', 'timeout'];

const entry = (key: string, at: string, source: Entry['source'], rest: Partial<Entry> & { title: string }): Entry => ({
  key,
  at,
  until: null,
  host_role: 'platform_control',
  host_name: 'control-1',
  service: 'gpuaas-api',
  node_id: null,
  source,
  level: 'info',
  is_failure: false,
  detail: null,
  subject_id: null,
  correlation_id: null,
  data: {},
  ...rest,
});

const auditEntries = (world: World, ids: ReadonlySet<string>, actorId: string | null): Entry[] =>
  world.audit
    .filter((row) => ids.has(row.correlation_id) && (actorId === null || row.actor_id === actorId))
    .map((row) =>
      entry(row.id, row.created_at, 'audit', {
        title: row.action,
        detail: row.result === 'success' ? null : `${row.result}: ${row.error_code ?? row.policy}`,
        level: row.result === 'success' ? 'info' : 'warn',
        is_failure: row.result === 'failure',
        subject_id: row.target_id,
        correlation_id: row.correlation_id,
        data: { actor_id: row.actor_id, result: row.result },
      }),
    );

const runEntries = (run: Run): Entry[] =>
  run.steps.map((step) => {
    const isBad = BAD_STEPS.includes(step.outcome);
    return entry(`${run.id}/${step.sequence}`, step.started_at, 'workflow', {
      until: step.finished_at,
      service: 'gpuaas-provisioning-worker',
      title: `${run.workflow}: ${stepLabel(run.workflow, step.step)}`,
      detail: step.detail,
      level: isBad ? 'error' : 'info',
      is_failure: isBad,
      subject_id: run.subject_id,
      correlation_id: run.correlation_id,
      data: { workflow_run_id: run.id, step: step.step, outcome: step.outcome, attempt: step.attempt },
    });
  });

const taskEntries = (world: World, isWanted: (id: string, correlation: string, nodeId: string) => boolean): Entry[] =>
  world.tasks
    .filter((task) => isWanted(task.id, task.correlation_id, task.node_id))
    .map((task) =>
      entry(task.id, task.created_at, 'task', {
        until: task.finished_at,
        host_role: 'worker_compute',
        host_name: world.nodes.get(task.node_id)?.name ?? null,
        service: 'gpuaas-node-agent',
        node_id: task.node_id,
        title: task.kind,
        detail: task.state_reason,
        level: task.state === 'failed' ? 'error' : 'info',
        is_failure: task.state === 'failed',
        subject_id: task.id,
        correlation_id: task.correlation_id,
        data: { state: task.state, attempt: task.attempt, error_code: task.error_code },
      }),
    );

const logEntries = (world: World, isWanted: (correlation: string | null, nodeId: string | null) => boolean): Entry[] =>
  world.logs.flatMap((line, index) =>
    isWanted(line.correlation_id, line.node_id)
      ? [
          entry(`log-${index}`, line.logged_at, 'log', {
            host_role: line.host_role,
            host_name: line.host_name,
            service: line.service,
            node_id: line.node_id,
            title: line.message,
            level: line.level === 'error' || line.level === 'fatal' ? 'error' : line.level === 'warn' ? 'warn' : 'info',
            is_failure: line.level === 'error' || line.level === 'fatal',
            correlation_id: line.correlation_id,
            data: line.fields,
          }),
        ]
      : [],
  );

const eventEntries = (world: World, ids: ReadonlySet<string>): Entry[] =>
  world.events
    .filter((event) => ids.has(event.correlationid) && event.type !== 'workflow_run.changed')
    .map((event) =>
      entry(event.id, event.time, 'event', {
        title: event.type,
        detail: 'state' in event.data ? String(event.data['state']) : null,
        subject_id: event.subject,
        correlation_id: event.correlationid,
        data: event.data,
      }),
    );

const kindOf = (id: string): Trace['kind'] =>
  id.startsWith('alc_')
    ? 'allocation'
    : id.startsWith('nod_')
      ? 'node'
      : id.startsWith('slt_')
        ? 'slot'
        : id.startsWith('tsk_')
          ? 'node_task'
          : id.startsWith('wfr_')
            ? 'workflow_run'
            : 'correlation';

/** The correlation ids that belong to what was asked for. */
const correlationsOf = (world: World, id: string, kind: Trace['kind']): string[] => {
  const runs = [...world.runs.values()];
  switch (kind) {
    case 'correlation':
      return [id];
    case 'allocation':
      return [
        ...(world.allocations.get(id) ? [world.allocations.get(id)?.correlation_id ?? ''] : []),
        ...runs.filter((run) => run.subject_id === id).map((run) => run.correlation_id),
      ];
    case 'workflow_run':
      return runs.filter((run) => run.id === id).map((run) => run.correlation_id);
    case 'node_task':
      return world.tasks.filter((task) => task.id === id).map((task) => task.correlation_id);
    case 'node':
      return world.tasks.filter((task) => task.node_id === id).map((task) => task.correlation_id);
    case 'slot':
      return runs.filter((run) => run.subject_id === id).map((run) => run.correlation_id);
  }
};

const subjectsOf = (world: World, id: string, ids: ReadonlySet<string>): Subject[] => {
  const node = world.nodes.get(id);
  const slot = world.slots.get(id);
  const none = { name: null, project_id: null };
  return [
    ...[...world.allocations.values()]
      .filter((row) => row.id === id || ids.has(row.correlation_id))
      .map((row) => ({
        kind: 'allocation' as const,
        id: row.id,
        name: row.name,
        state: row.state,
        project_id: row.project_id,
      })),
    ...[...world.runs.values()]
      .filter((run) => ids.has(run.correlation_id))
      .map((run) => ({
        kind: 'workflow_run' as const,
        id: run.id,
        name: run.workflow,
        state: run.state,
        project_id: run.project_id,
      })),
    ...(node === undefined ? [] : [{ ...none, kind: 'node' as const, id, name: node.name, state: node.state }]),
    ...(slot === undefined ? [] : [{ ...none, kind: 'slot' as const, id, state: slot.status }]),
  ];
};

const traceOf = (world: World, id: string, projectId: string | null, actorId: string | null): Trace => {
  const kind = kindOf(id);
  const correlation_ids = [...new Set(correlationsOf(world, id, kind))].slice(0, 50);
  const ids = new Set(correlation_ids);
  const isOperator = projectId === null;
  const subjects = subjectsOf(world, id, ids).filter((one) => isOperator || one.project_id === projectId);
  const runs = [...world.runs.values()].filter((run) => ids.has(run.correlation_id));
  const entries = [
    ...auditEntries(world, ids, actorId),
    ...runs.flatMap(runEntries),
    ...eventEntries(world, ids),
    ...(isOperator ? taskEntries(world, (task, correlation) => task === id || ids.has(correlation)) : []),
    ...(isOperator
      ? logEntries(world, (correlation, node) => (correlation !== null && ids.has(correlation)) || node === id)
      : []),
  ]
    .map((one) => (isOperator ? one : { ...one, host_name: null, node_id: null }))
    .sort((a, b) => (a.at < b.at ? -1 : 1));
  if (subjects.length === 0 && (entries.length === 0 || !isOperator)) throw notFound('trace');
  const nodes = new Set(entries.flatMap((one) => one.node_id ?? []));
  return {
    id,
    kind,
    correlation_ids,
    subjects,
    first_failure_key: entries.find((one) => one.is_failure)?.key ?? null,
    entries: entries.slice(0, ENTRIES_MAX),
    is_truncated: entries.length > ENTRIES_MAX,
    clock_skews: [...nodes].flatMap((nodeId) => {
      const node = world.nodes.get(nodeId);
      return node === undefined ? [] : [{ node_id: nodeId, host_name: node.name, skew_ms: node.clock_skew_ms }];
    }),
    gaps: entries.some((one) => one.source === 'task' && one.correlation_id === null)
      ? ['A task carries no correlation id.']
      : [],
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
