/**
 * Database rows as entries of a trace. Operators see everything. Tenants see which step a host works on but not which
 * host: no host name, node, task or operator text reaches them.
 */
import {
  FAILED_STEP_OUTCOMES,
  type PublicApi,
  type ResponseOf,
  type StepOutcome,
  type TASK_STATES,
} from '@gpuaas/contract';
import { isTaskKind, TASKS } from '@gpuaas/contract/task-kinds';
import { isTaskUndone } from './task.ts';
import { auditTitle, eventTitle, stepTitle, taskTitle } from './trace-titles.ts';
import type { WorkflowState } from './workflow.ts';
import { isHostStep, stepLabel } from './workflow-steps.ts';

export type TraceEntry = ResponseOf<PublicApi['adminTraceGet']>['entries'][number];
export type Audience = 'tenant' | 'operator';
type Fields = Readonly<Record<string, unknown>>;

export type AuditFact = Readonly<{
  id: string;
  created_at: string;
  actor_kind: string;
  actor_id: string | null;
  action: string;
  target_kind: string | null;
  target_id: string | null;
  result: 'success' | 'failure' | 'denied';
  error_code: string | null;
  policy: string;
  correlation_id: string;
  metadata: Fields;
}>;

export type RunFact = Readonly<{
  id: string;
  workflow: string;
  subject_id: string;
  project_id: string | null;
  correlation_id: string;
  step: string;
  state: WorkflowState;
  state_reason: string | null;
  state_detail: string | null;
  state_since: string;
  finished_at: string | null;
}>;

export type StepFact = Readonly<{
  run_id: string;
  sequence: number;
  step: string;
  attempt: number;
  outcome: StepOutcome;
  detail: string | null;
  internal_detail: string | null;
  started_at: string;
  finished_at: string;
}>;

/** `slot_index` is null for a data disk outside any slot. */
export type TaskBundle = Readonly<{ slot_index: number | null; serial: string | null }>;

export type TaskFact = Readonly<{
  id: string;
  node_id: string;
  host_name: string;
  allocation_id: string | null;
  slot_id: string | null;
  workflow_run_id: string | null;
  kind: string;
  attempt: number;
  state: (typeof TASK_STATES)[number];
  state_reason: string | null;
  error_code: string | null;
  percent: number | null;
  correlation_id: string;
  created_at: string;
  dispatched_at: string | null;
  finished_at: string | null;
  /** The slots and disks that it works on, as far as they are on record. */
  bundles: readonly TaskBundle[];
  /** Whether its node logged a line with its correlation ID. */
  has_log_line: boolean;
}>;

export type LogFact = Readonly<{
  logged_at: string;
  service: string;
  host_role: TraceEntry['host_role'];
  host_name: string;
  node_id: string | null;
  level: string;
  message: string;
  correlation_id: string | null;
  error_code: string | null;
  fields: Fields;
  origin: string;
  number: number;
}>;

export type EventFact = Readonly<{
  id: string;
  event_type: string;
  subject: string;
  data: Fields;
  correlation_id: string;
  created_at: string;
}>;

const base = {
  since: null,
  host_role: 'platform_control',
  host_name: null,
  service: null,
  node_id: null,
  level: 'info',
  is_failure: false,
  detail: null,
} as const;

const NODE = /^nod_/;
const HOSTS_OWN = /^(?:nod|slt|tsk|dsk)_/;
const subjectFor = (audience: Audience, id: string | null): string | null =>
  audience === 'tenant' && id !== null && HOSTS_OWN.test(id) ? null : id;

/** A public sentence, and the detail for operators. */
const explain = (audience: Audience, sentence: string | null, detail: string | null): string | null => {
  if (audience === 'tenant' || detail === null || detail === sentence) return sentence;
  return sentence === null ? detail : `${sentence} (${detail})`;
};

/** Both sentences, as far as they exist. */
const sentencesOf = (first: string | null, second: string | null): string | null =>
  first === null || second === null ? (first ?? second) : `${first}; ${second}`;

const AUDIT_LEVELS = { success: 'info', failure: 'error', denied: 'warn' } as const;

export const auditEntry = (row: AuditFact, audience: Audience): TraceEntry => ({
  ...base,
  key: `audit:${row.id}`,
  at: row.created_at,
  source: 'audit',
  level: AUDIT_LEVELS[row.result],
  is_failure: row.result !== 'success',
  title: auditTitle(row.action, row.result),
  detail: row.error_code,
  node_id: audience === 'operator' && row.target_id !== null && NODE.test(row.target_id) ? row.target_id : null,
  subject_id: subjectFor(audience, row.target_id),
  correlation_id: row.correlation_id,
  data: {
    action: row.action,
    result: row.result,
    actor_kind: row.actor_kind,
    actor_id: row.actor_id,
    ...(audience === 'operator' ? { policy: row.policy, metadata: row.metadata } : {}),
  },
});

const WORKER = 'gpuaas-provisioning-worker';

/** In the host lane only for tenants, for whom the step represents the hidden task. */
const laneOf = (audience: Audience, workflow: string, step: string): TraceEntry['host_role'] =>
  audience === 'tenant' && isHostStep(workflow, step) ? 'worker_compute' : 'platform_control';

const FAILED_OUTCOMES: ReadonlySet<StepOutcome> = new Set(FAILED_STEP_OUTCOMES);
export const isFailedStep = ({ outcome }: StepFact): boolean => FAILED_OUTCOMES.has(outcome);

const levelOf = (isFailed: boolean, isOvercome: boolean, isOddEnd: boolean): TraceEntry['level'] => {
  if (isFailed) return isOvercome ? 'warn' : 'error';
  return isOddEnd ? 'warn' : 'info';
};

/** `isOvercome`: a later try succeeded, so the entry is shown but is not a failure. */
export const stepEntry = (run: RunFact, step: StepFact, isOvercome: boolean, audience: Audience): TraceEntry => ({
  ...base,
  key: `step:${run.id}:${String(step.sequence).padStart(6, '0')}`,
  at: step.finished_at,
  since: step.started_at,
  host_role: laneOf(audience, run.workflow, step.step),
  service: WORKER,
  source: 'workflow',
  level: levelOf(isFailedStep(step), isOvercome, step.outcome === 'cancelled'),
  is_failure: isFailedStep(step) && !isOvercome,
  title: stepTitle(run.workflow, step.step, step.outcome),
  detail: explain(audience, step.detail, step.internal_detail),
  subject_id: subjectFor(audience, run.subject_id),
  correlation_id: run.correlation_id,
  data: {
    workflow_run_id: run.id,
    workflow: run.workflow,
    step: step.step,
    attempt: step.attempt,
    outcome: step.outcome,
    ...(isOvercome ? { is_overcome: true } : {}),
  },
});

/** The current position of a live run, which has no recorded step yet. */
export const liveRunEntry = (run: RunFact, audience: Audience): TraceEntry => ({
  ...base,
  key: `run:${run.id}`,
  at: run.state_since,
  host_role: laneOf(audience, run.workflow, run.step),
  service: WORKER,
  source: 'workflow',
  title: `${stepLabel(run.workflow, run.step)}: ${run.state === 'waiting' ? 'waits' : 'under way'}`,
  detail: explain(audience, run.state_reason, run.state_detail),
  subject_id: subjectFor(audience, run.subject_id),
  correlation_id: run.correlation_id,
  data: { workflow_run_id: run.id, workflow: run.workflow, step: run.step, state: run.state },
});

export const isFailedTask = ({ state }: TaskFact): boolean => isTaskUndone(state);

const bundleName = ({ slot_index, serial }: TaskBundle): string =>
  [slot_index === null ? [] : `slot ${slot_index}`, serial === null ? [] : `disk ${serial}`].flat().join(' ');

const isDestructive = (kind: string): boolean => isTaskKind(kind) && TASKS[kind].effect === 'destroy';

/** A task that failed or destroys data names the slots and disks. */
const bundlesOf = ({ bundles, kind }: TaskFact, isAtFault: boolean): string | null =>
  bundles.length > 0 && (isAtFault || isDestructive(kind)) ? bundles.map(bundleName).join(', ') : null;

/** `isAtFault`: it failed, or the step that waited for it gave up before it ended. */
export const taskEntry = (task: TaskFact, isAtFault: boolean, isOvercome: boolean): TraceEntry => ({
  key: `task:${task.id}`,
  at: task.finished_at ?? task.dispatched_at ?? task.created_at,
  since: task.finished_at === null ? null : (task.dispatched_at ?? task.created_at),
  host_role: 'worker_compute',
  host_name: task.host_name,
  service: 'gpuaas-node-agent',
  node_id: task.node_id,
  source: 'task',
  level: levelOf(isAtFault, isOvercome, task.state === 'cancelled'),
  is_failure: isAtFault && !isOvercome,
  title: taskTitle(task.kind, task.state),
  detail: sentencesOf(explain('operator', task.state_reason, task.error_code), bundlesOf(task, isAtFault)),
  subject_id: task.allocation_id ?? task.slot_id ?? task.node_id,
  correlation_id: task.correlation_id,
  data: {
    task_id: task.id,
    kind: task.kind,
    attempt: task.attempt,
    state: task.state,
    percent: task.percent,
    created_at: task.created_at,
    bundles: task.bundles,
    workflow_run_id: task.workflow_run_id,
    ...(isOvercome ? { is_overcome: true } : {}),
  },
});

const BROKEN: Readonly<Record<string, ReadonlySet<unknown>>> = {
  'allocation.changed': new Set(['failed', 'release_failed']),
  'workflow_run.changed': new Set(['stuck']),
};
const TROUBLED: Readonly<Record<string, ReadonlySet<unknown>>> = {
  'node.changed': new Set(['offline']),
  'allocation.power_changed': new Set(['unknown']),
};
const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

export const eventEntry = (event: EventFact, audience: Audience): TraceEntry => {
  const { event_type, data } = event;
  const state = data['state'] ?? data['power_state'];
  const isFailure = BROKEN[event_type]?.has(state) === true;
  const about = event_type === 'workflow_run.changed' ? textOf(data['subject_id']) : event.subject;
  return {
    ...base,
    key: `event:${event.id}`,
    at: event.created_at,
    source: 'event',
    level: levelOf(isFailure, false, TROUBLED[event_type]?.has(state) === true),
    is_failure: isFailure,
    title: eventTitle(event_type, data),
    detail: textOf(data['state_reason']) ?? textOf(data['power_reason']),
    node_id: audience === 'operator' && NODE.test(event.subject) ? event.subject : null,
    subject_id: subjectFor(audience, about),
    correlation_id: event.correlation_id,
    data: audience === 'operator' ? { type: event_type, ...data } : { type: event_type },
  };
};

const LOG_LEVELS: Readonly<Record<string, TraceEntry['level']>> = { warn: 'warn', error: 'error', fatal: 'error' };
const messageOf = (err: unknown): string | null =>
  typeof err === 'object' && err !== null ? textOf((err as Fields)['message']) : null;
const SERVER_ERROR = 500;
const CLIENT_ERROR = 400;

/** A read that succeeded changed nothing. Clients poll under one correlation ID, so such lines would hide the others. */
export const isRoutineRead = (line: Pick<LogFact, 'message' | 'fields'>): boolean => {
  const request = requestOf(line);
  return request?.method === 'GET' && request.status < CLIENT_ERROR;
};

const requestOf = ({ message, fields }: Pick<LogFact, 'message' | 'fields'>) => {
  const { method, path, status, duration_ms } = fields;
  const isRequest = message === 'request' && typeof method === 'string' && typeof status === 'number';
  return isRequest ? { method, path: textOf(path) ?? '', status, ms: Number(duration_ms ?? 0) } : undefined;
};

/**
 * An API log line about a request becomes the request. A refusal (4xx) is not a failure: its audit row describes it.
 */
const requestPart = ({ method, path, status, ms }: NonNullable<ReturnType<typeof requestOf>>, at: string) => ({
  source: 'request' as const,
  since: new Date(Date.parse(at) - ms).toISOString(),
  level: status >= SERVER_ERROR ? ('error' as const) : status >= CLIENT_ERROR ? ('warn' as const) : ('info' as const),
  is_failure: status >= SERVER_ERROR,
  title: `${method} ${path}: ${status}`,
});

/** `skewMs`: how far the node's clock is ahead, for lines with times of the node. */
export const logEntry = (line: LogFact, skewMs: number | undefined): TraceEntry => {
  const isHosts = line.host_role === 'worker_compute' && line.fields['own_time'] === undefined;
  const skew = isHosts ? (skewMs ?? 0) : 0;
  const at = skew === 0 ? line.logged_at : new Date(Date.parse(line.logged_at) - skew).toISOString();
  const request = requestOf(line);
  const level = LOG_LEVELS[line.level] ?? 'info';
  return {
    key: `log:${line.origin}:${String(line.number).padStart(12, '0')}:${line.logged_at}`,
    at,
    since: null,
    host_role: line.host_role,
    host_name: line.host_name === '' ? null : line.host_name,
    service: line.service,
    node_id: line.node_id,
    source: 'log',
    level,
    is_failure: level === 'error',
    title: line.message,
    detail: textOf(line.fields['reason']) ?? messageOf(line.fields['err']) ?? line.error_code,
    subject_id: null,
    correlation_id: line.correlation_id,
    data: { ...line.fields, ...(skew === 0 ? {} : { clock_skew_ms: skew, reported_at: line.logged_at }) },
    ...(request === undefined ? {} : requestPart(request, at)),
  };
};
