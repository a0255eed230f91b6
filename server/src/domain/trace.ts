/**
 * One ID as one timeline. Entries are ordered by the control plane's clock.
 *
 * Exactly one entry is the first failure. A failure usually has several entries: the host task, the step that waited
 * for it, log lines, the following state. The earliest failed entry is taken; among entries of the same failure (same
 * correlation ID or run, same subject, at most ten seconds later) the one closest to the cause wins: the host task,
 * then the step, then the earliest. A step leads to the task that it waited for, whenever that ended. A failure that a
 * later try overcame does not count.
 */
import { OPEN_TASK_STATES } from '@gpuaas/contract';
import { taskLabel } from '@gpuaas/contract/task-kinds';
import {
  type Audience,
  type AuditFact,
  auditEntry,
  type EventFact,
  eventEntry,
  isFailedStep,
  isFailedTask,
  isRoutineRead,
  type LogFact,
  liveRunEntry,
  logEntry,
  type RunFact,
  type StepFact,
  stepEntry,
  type TaskFact,
  type TraceEntry,
  taskEntry,
} from './trace-entry.ts';

export type TraceFacts = Readonly<{
  audit: readonly AuditFact[];
  runs: readonly RunFact[];
  steps: readonly StepFact[];
  tasks: readonly TaskFact[];
  logs: readonly LogFact[];
  events: readonly EventFact[];
  skews: readonly Readonly<{ node_id: string; host_name: string; skew_ms: number }>[];
}>;

const SOURCES: readonly TraceEntry['source'][] = ['request', 'audit', 'workflow', 'task', 'log', 'event'];

const compare = (a: string | number, b: string | number): number => (a < b ? -1 : a > b ? 1 : 0);
/** Entries of ends come before entries of starts at the same time. */
const inOrder = (a: TraceEntry, b: TraceEntry): number =>
  compare(a.at, b.at) ||
  compare(SOURCES.indexOf(a.source), SOURCES.indexOf(b.source)) ||
  compare(Number(a.since === null), Number(b.since === null)) ||
  compare(a.key, b.key);

type Try = Readonly<{ run_id: string | null; what: string; at: string; is_good: boolean }>;

/** A later try of the same work in the same run succeeded, and the run was not stuck in between. */
const wasOvercome = (failed: Try, tries: readonly Try[], stops: readonly Try[]): boolean =>
  failed.run_id !== null &&
  tries.some(
    (later) =>
      later.is_good &&
      later.run_id === failed.run_id &&
      later.what === failed.what &&
      later.at > failed.at &&
      !stops.some(({ run_id, at }) => run_id === failed.run_id && at >= failed.at && at <= later.at),
  );

const GOOD: ReadonlySet<string> = new Set(['next', 'done', 'wait']);
const tryOfStep = (step: StepFact): Try => ({
  run_id: step.run_id,
  what: step.step,
  at: step.finished_at,
  is_good: GOOD.has(step.outcome),
});
const tryOfTask = (task: TaskFact): Try => ({
  run_id: task.workflow_run_id,
  what: task.kind,
  at: task.finished_at ?? task.created_at,
  is_good: task.state === 'completed',
});

const GAVE_UP: ReadonlySet<string> = new Set(['stuck', 'timeout']);
const UNFINISHED: ReadonlySet<string> = new Set([...OPEN_TASK_STATES, 'cancelled']);

/** Its step timed out without a result. */
const isAbandoned = (task: TaskFact, steps: readonly StepFact[]): boolean =>
  UNFINISHED.has(task.state) &&
  steps.some(
    ({ run_id, outcome, started_at, finished_at }) =>
      run_id === task.workflow_run_id &&
      GAVE_UP.has(outcome) &&
      task.created_at <= finished_at &&
      (task.finished_at ?? finished_at) >= started_at,
  );

/** Every entry of the facts, in order. */
export const entriesOf = (facts: TraceFacts, audience: Audience): TraceEntry[] => {
  const runs = new Map(facts.runs.map((run) => [run.id, run]));
  const skews = new Map(facts.skews.map(({ node_id, skew_ms }) => [node_id, skew_ms]));
  const stepTries = facts.steps.map(tryOfStep);
  const taskTries = facts.tasks.map(tryOfTask);
  const stops = facts.steps.filter(({ outcome }) => outcome === 'stuck').map(tryOfStep);
  const isOvercomeStep = (step: StepFact) => isFailedStep(step) && wasOvercome(tryOfStep(step), stepTries, stops);
  const taskOf = (task: TaskFact): TraceEntry => {
    const isAtFault = isFailedTask(task) || isAbandoned(task, facts.steps);
    return taskEntry(task, isAtFault, isAtFault && wasOvercome(tryOfTask(task), taskTries, stops));
  };
  return [
    ...facts.audit.map((row) => auditEntry(row, audience)),
    ...facts.steps.flatMap((step) => {
      const run = runs.get(step.run_id);
      return run === undefined ? [] : [stepEntry(run, step, isOvercomeStep(step), audience)];
    }),
    ...facts.runs.filter(({ finished_at }) => finished_at === null).map((run) => liveRunEntry(run, audience)),
    ...facts.tasks.map(taskOf),
    ...facts.logs
      .filter((line) => !isRoutineRead(line))
      .map((line) => logEntry(line, line.node_id === null ? undefined : skews.get(line.node_id))),
    ...facts.events.map((event) => eventEntry(event, audience)),
  ].sort(inOrder);
};

const SAME_FAILURE_MS = 10_000;
const CAUSE_ORDER: readonly TraceEntry['source'][] = ['task', 'workflow', 'log', 'request', 'audit', 'event'];

const failedAt = ({ at }: TraceEntry): number => Date.parse(at);
const soonest = (a: TraceEntry, b: TraceEntry): number => compare(failedAt(a), failedAt(b));
const closest = (a: TraceEntry, b: TraceEntry): number =>
  compare(CAUSE_ORDER.indexOf(a.source), CAUSE_ORDER.indexOf(b.source));

const dataOf = ({ data }: TraceEntry) => data as Readonly<Record<string, unknown>>;
const runOf = (entry: TraceEntry): unknown => dataOf(entry)['workflow_run_id'] ?? null;

const isSameFailure = (first: TraceEntry, other: TraceEntry): boolean => {
  const isOneRun = runOf(first) !== null && runOf(first) === runOf(other);
  const isOneId = first.correlation_id !== null && first.correlation_id === other.correlation_id;
  const isAboutOther =
    first.subject_id !== null && other.subject_id !== null && first.subject_id !== other.subject_id && !isOneRun;
  return (isOneRun || isOneId) && !isAboutOther && failedAt(other) - failedAt(first) <= SAME_FAILURE_MS;
};

/** A task that existed when the step of its run timed out. */
const isAwaited = (task: TraceEntry, step: TraceEntry): boolean =>
  task.source === 'task' &&
  step.source === 'workflow' &&
  runOf(task) !== null &&
  runOf(task) === runOf(step) &&
  String(dataOf(task)['created_at']) <= step.at;

export const firstFailureOf = (entries: readonly TraceEntry[]): TraceEntry | undefined => {
  const failures = entries.filter(({ is_failure }) => is_failure);
  const [first] = failures.toSorted((a, b) => soonest(a, b) || closest(a, b) || inOrder(a, b));
  if (first === undefined) return undefined;
  const [nearest] = failures
    .filter((one) => isSameFailure(first, one) || one === first)
    .toSorted((a, b) => closest(a, b) || soonest(a, b) || inOrder(a, b));
  const [awaited] = failures
    .filter((one) => nearest !== undefined && isAwaited(one, nearest))
    .toSorted((a, b) => soonest(a, b) || inOrder(a, b));
  return awaited ?? nearest;
};

/** If there are too many: the first failure, the other failures and the newest others, still in order. */
export const capEntries = (entries: readonly TraceEntry[], max: number): TraceEntry[] => {
  if (entries.length <= max) return [...entries];
  const first = firstFailureOf(entries);
  const weight = (entry: TraceEntry): number => (entry === first ? 0 : entry.is_failure ? 1 : 2);
  const capped = entries.toSorted((a, b) => weight(a) - weight(b) || inOrder(b, a)).slice(0, max);
  return capped.sort(inOrder);
};

const counted = (n: number, one: string, many: string): string => (n === 1 ? `1 ${one}` : `${n} ${many}`);
const TASK_GAPS_MAX = 10;
/** Agents send log lines every few seconds, and keep them while the control plane is unreachable. */
const LINES_TRAVEL_MS = 60_000;

const taskGaps = (tasks: readonly TaskFact[], window: GapWindow): string[] => {
  const withoutLines = tasks
    .filter(({ state, has_log_line }) => (state === 'completed' || state === 'failed') && !has_log_line)
    .filter(({ finished_at }) => {
      const at = Date.parse(finished_at ?? '');
      return at >= window.logs_since_ms && at <= window.now_ms - LINES_TRAVEL_MS;
    })
    .toSorted((a, b) => compare(a.id, b.id));
  const more = withoutLines.length - TASK_GAPS_MAX;
  return [
    ...withoutLines
      .slice(0, TASK_GAPS_MAX)
      .map(({ id, host_name, kind }) => `${host_name} wrote no log line for the task "${taskLabel(kind)}" (${id}).`),
    ...(more > 0 ? [`${counted(more, 'more task', 'more tasks')} ended without a log line from the host.`] : []),
  ];
};

export type GapWindow = Readonly<{ now_ms: number; logs_since_ms: number }>;

/** Missing evidence, as sentences. */
export const gapsOf = ({ logs, tasks }: Pick<TraceFacts, 'logs' | 'tasks'>, window: GapWindow): string[] => {
  const grouped = (lines: readonly LogFact[], nameOf: (line: LogFact) => string): [string, number][] =>
    [...Map.groupBy(lines, nameOf)]
      .map(([name, group]): [string, number] => [name, group.length])
      .sort(([a], [b]) => compare(a, b));
  const withoutCorrelation = logs.filter(({ correlation_id }) => correlation_id === null);
  const withoutHost = logs.filter(({ host_name }) => host_name === '');
  return [
    ...grouped(withoutCorrelation, ({ service, host_name }) =>
      host_name === '' ? service : `${service} on ${host_name}`,
    ).map(
      ([name, n]) => `${counted(n, 'log line', 'log lines')} of ${name} ${n === 1 ? 'has' : 'have'} no correlation ID.`,
    ),
    ...grouped(withoutHost, ({ service }) => service).map(
      ([name, n]) =>
        `${counted(n, 'log line', 'log lines')} of ${name} ${n === 1 ? 'does not name its' : 'do not name their'} host.`,
    ),
    ...taskGaps(tasks, window),
  ];
};
