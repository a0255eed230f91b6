/**
 * Accepts task starts, progress, results and health reports from agents. A result counts for the task and attempt that
 * were dispatched to this node while the task is open. Duplicates are accepted once; late results change nothing. A
 * completed task whose output does not have the shape of its kind has failed, and the output is not stored, nor that of a
 * failed task in another shape than its kind declares for a failure.
 */
import { isDeepStrictEqual } from 'node:util';
import { isTaskKind, type NodeBody, type NodeResponse, TASKS, type TaskKind } from '@gpuaas/contract/node';
import type { Clock } from '@gpuaas/kit';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import { type AgentTaskRow, findAgentTask, lockAgentTask } from '../db/agent-task.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { noteProgress, noteStart, startTask, type TaskOnNode, type TaskResult } from '../db/node-task.ts';
import { noteHostGeneration } from '../db/slot-approval.ts';
import { LAUNCH_SOURCE } from '../domain/launch-failures.ts';
import { REASONS } from '../domain/reasons.ts';
import { FUTURE_REPORT, FUTURE_TIME, isFromFuture } from '../domain/report-time.ts';
import { isTaskOpen } from '../domain/task.ts';
import { BEGUN_EXPIRES_S } from '../domain/task-limit.ts';
import { AppError, notFound } from '../errors.ts';
import { createAjv } from '../schema.ts';
import { finishTask } from './end-task.ts';
import { recordHealth } from './node-health.ts';

export type ResultDeps = Readonly<{ database: Database; clock: Clock }>;
type Result = NodeBody<'taskResult'>;
type Output = Readonly<Record<string, unknown>>;
type Where = Readonly<{ node_id: string; task_id: string }>;

const ajv = createAjv({});
type End = Result['state'];
const outputs = new Map<string, ValidateFunction>();

const validatorOf = (kind: TaskKind, state: End): ValidateFunction => {
  const key = `${kind} ${state}`;
  const validate = outputs.get(key) ?? ajv.compile(TASKS[kind][state === 'failed' ? 'failed_output' : 'output']);
  outputs.set(key, validate);
  return validate;
};

/** What is wrong with the output of a kind; undefined if nothing is. */
const faultOf = (kind: string, state: End, output: unknown): string | undefined => {
  if (!isTaskKind(kind)) return `The control plane does not know task kind ${kind}.`;
  const validate = validatorOf(kind, state);
  if (validate(output)) return undefined;
  const [first] = validate.errors ?? [];
  return `The result does not match task kind ${kind}: ${first?.instancePath || 'body'} ${first?.message ?? 'is not valid'}.`;
};

/** The result as it is stored. */
const checkedResult = (
  kind: string,
  result: Result,
): Pick<Result, 'state' | 'error_code' | 'reason'> & Readonly<{ output: Output | null }> => {
  const output = result.output as Output | null;
  const { state, error_code, reason } = result;
  const fault = faultOf(kind, state, output ?? {});
  if (state === 'failed')
    return {
      ...{ state, error_code, reason: reason ?? 'The agent gave no reason.' },
      output: fault === undefined ? output : null,
    };
  if (fault === undefined) return { state, error_code: null, reason, output: output ?? {} };
  return { state: 'failed', error_code: 'host_error', reason: fault, output: null };
};

const lateReason = (task: Pick<AgentTaskRow, 'state' | 'attempt' | 'is_overdue'>, attempt: number): string => {
  if (task.attempt !== attempt) return `The result is for another attempt; attempt ${task.attempt} is current.`;
  if (task.state === 'queued') return 'The task was not dispatched.';
  if (task.state === 'unknown') return REASONS.task_unknown;
  if (task.is_overdue || task.state === 'expired') return REASONS.task_expired;
  return `The task is ${task.state}.`;
};

const isRunningAttempt = (task: AgentTaskRow, attempt: number): boolean =>
  task.attempt === attempt && !task.is_overdue && isTaskOpen(task.state);

export const start = async (
  deps: ResultDeps,
  where: Where,
  body: NodeBody<'taskStart'>,
): Promise<NodeResponse<'taskStart'>> => {
  const task: TaskOnNode = { id: where.task_id, node_id: where.node_id, attempt: body.attempt };
  if (await deps.database.writeAtOnce(PLATFORM, (tx) => startTask(tx, task, BEGUN_EXPIRES_S)))
    return { may_start: true, reason: null };
  const found = await deps.database.readAtOnce(PLATFORM, (reader) =>
    findAgentTask(reader, where.node_id, where.task_id),
  );
  return { may_start: false, reason: found ? lateReason(found, body.attempt) : 'The task belongs to another node.' };
};

export const progress = async (
  deps: ResultDeps,
  where: Where,
  body: NodeBody<'taskProgress'>,
): Promise<NodeResponse<'taskProgress'>> => {
  const task: TaskOnNode = { id: where.task_id, node_id: where.node_id, attempt: body.attempt };
  return { is_open: await deps.database.writeAtOnce(PLATFORM, (tx) => noteProgress(tx, task, body)) };
};

/** The same result was stored before; a rejected one is stored as failed, without its output. */
const isSameResult = (task: AgentTaskRow, result: TaskResult): boolean =>
  task.attempt === result.attempt &&
  isDeepStrictEqual(task.output, result.output) &&
  (task.state === 'failed' && result.output === null
    ? result.state === 'failed' && task.state_reason === result.reason
    : task.state === 'completed' || task.state === 'failed');

const GENERATION_MAX = 1_000_000_000;
/** The most slots a task may name. */
const SLOTS_MAX = 64;

/**
 * If the host knows a newer generation than the database, the database was restored from a backup. The generation is
 * only recorded: the host may hold tenant data of that generation, so an operator decides (slot repair, forced
 * cleanup).
 */
const learnGenerations = async (tx: Tx, nodeId: string, output: Output | null): Promise<void> => {
  const listed: readonly unknown[] = Array.isArray(output?.['slots']) ? output['slots'].slice(0, SLOTS_MAX) : [output];
  for (const one of listed) {
    const { slot_id, newest_generation } = (one ?? {}) as Record<string, unknown>;
    if (typeof slot_id !== 'string' || typeof newest_generation !== 'number') continue;
    if (!Number.isInteger(newest_generation) || newest_generation < 0 || newest_generation > GENERATION_MAX) continue;
    await noteHostGeneration(tx, { node_id: nodeId, slot_id, newest_generation });
  }
};

export const finish = (deps: ResultDeps, where: Where, body: Result): Promise<NodeResponse<'taskResult'>> =>
  deps.database.write(PLATFORM, async (tx) => {
    const task = await lockAgentTask(tx, where.node_id, where.task_id);
    if (task === undefined) throw notFound('task');
    // The task did not run and is not at fault; it is dispatched again once the host's clock is correct.
    if (body.state === 'failed' && body.error_code === 'clock_skew' && isRunningAttempt(task, body.attempt))
      return { is_accepted: false, reason: 'The task waits until the clock of this host is corrected.' };
    const { state, error_code, reason, output } = checkedResult(task.kind, body);
    const result = { id: task.id, attempt: body.attempt, state, error_code, reason, output };
    const { is_accepted, rejection } = await finishTask(tx, result, { now: deps.clock.now() });
    if (!is_accepted)
      return isSameResult(task, result)
        ? { is_accepted: true, reason: null }
        : { is_accepted: false, reason: lateReason(task, body.attempt) };
    tx.defer(noteStart(tx, task.id, body.started_at));
    if (error_code === 'stale_generation') await learnGenerations(tx, task.node_id, body.output as Output | null);
    return { is_accepted: true, reason: rejection };
  });

export const health = async (
  deps: ResultDeps,
  nodeId: string,
  body: NodeBody<'healthReport'>,
): Promise<NodeResponse<'healthReport'>> => {
  // The control plane's own report about its launches cannot be changed by the host.
  if (body.report.source === LAUNCH_SOURCE) return { is_accepted: false };
  if (isFromFuture(body.report, deps.clock.now()))
    throw new AppError('invalid_request', FUTURE_REPORT, {
      errors: [
        {
          pointer: '/body/report/observed_at',
          code: 'future',
          message: FUTURE_TIME,
        },
      ],
    });
  return { is_accepted: await deps.database.write(PLATFORM, (tx) => recordHealth(tx, nodeId, body.report)) };
};
