/**
 * Accepts delivered tasks: verify, compare with the journal, write, start. A refusal is journaled and reported as such
 * once, however often the task is delivered. It is also the result of the task, unless the journal has a task of that
 * ID: a replayed or forged copy cannot fail the task itself. A task whose signer may be in a bundle that could not be
 * fetched is not refused: the control plane delivers it again.
 */
import { createHash } from 'node:crypto';
import type { NodeBody, SignedTask, TaskErrorCode, TaskPayload } from '@gpuaas/contract/node';
import type { Log } from '@gpuaas/kit';
import type { TaskApi } from './control-plane/task-api.ts';
import { HostError } from './host/host.ts';
import type { Journal } from './journal.ts';
import type { Boundary, Runner } from './runner.ts';
import { staleOutput, staleSentence } from './stale.ts';
import { type Signers, type Verdict, verifyTask } from './verify.ts';

export type Intake = Readonly<{ deliver(tasks: readonly SignedTask[]): Promise<void> }>;

export type IntakeOptions = Readonly<{
  node_id: string;
  journal: Journal;
  runner: Runner;
  api: TaskApi;
  log: Log;
  now: () => Date;
  signers: () => Signers;
  /** Called for an unknown signer: there may be a newer bundle. Rejects if it cannot be fetched now. */
  refreshTrust: () => Promise<void>;
  signal: AbortSignal;
  at?: (boundary: Boundary, taskId: string) => void;
}>;

/** The maximum of one report. */
const REPORTED_MAX = 20;

type Head = Readonly<{ task_id: string; attempt: number; correlation_id: string | null }>;

export const createIntake = (options: IntakeOptions): Intake => {
  const { journal, runner, log, now } = options;
  /** Tasks that are being journaled; copies that arrive meanwhile are dropped. */
  const taking = new Set<string>();

  let reporting: Promise<void> = Promise.resolve();
  /** One report at a time; unsent refusals go with the next. */
  const reportRefusals = (): Promise<void> => {
    reporting = reporting.then(async () => {
      const refusals = journal.unreportedRefusals().slice(0, REPORTED_MAX);
      if (refusals.length === 0 || options.signal.aborted) return;
      try {
        await options.api.refused(refusals, options.signal);
        for (const { key } of refusals) await journal.refusalReported(key);
      } catch (err) {
        log.debug({ err }, 'failed to report refused tasks; retrying with the next tasks');
      }
    });
    return reporting;
  };

  const note = async (signed: SignedTask, task: Head | null, error_code: TaskErrorCode, reason: string) => {
    const content = task?.task_id ?? createHash('sha256').update(signed.payload).digest('base64url');
    const refusal = {
      key: `${error_code}:${content}`,
      task_id: task?.task_id ?? null,
      signer_id: signed.signer_id.slice(0, 64),
      error_code,
      reason: reason.slice(0, 2000),
      refused_at: now().toISOString(),
    };
    // A journal without space refuses the task as well: the log line remains.
    await journal.refuse(refusal).catch((err: unknown) => log.warn({ err }, 'failed to journal a refused task'));
    void reportRefusals();
  };

  const refuse = async (
    signed: SignedTask,
    task: Head | null,
    code: TaskErrorCode,
    reason: string,
    output: NodeBody<'taskResult'>['output'] = null,
  ): Promise<void> => {
    const correlation_id = task?.correlation_id ?? task?.task_id ?? 'unknown';
    log.warn({ task_id: task?.task_id, correlation_id, error_code: code, reason }, 'task refused');
    await note(signed, task, code, reason);
    if (task === null || journal.find(task.task_id) !== undefined || taking.has(task.task_id)) return;
    const at = now().toISOString();
    const result = {
      attempt: task.attempt,
      state: 'failed' as const,
      error_code: code,
      reason,
      output,
      started_at: null,
      finished_at: at,
    };
    try {
      await options.api.result({ ...task, correlation_id }, result, options.signal);
    } catch (err) {
      // The control plane delivers it again, and the agent refuses it again, until a result arrives.
      log.debug({ err, task_id: task.task_id }, 'failed to report refusal');
    }
  };

  const judge = (signed: SignedTask): Verdict =>
    verifyTask(signed, { node_id: options.node_id, signers: options.signers(), now: now() });

  const accept = async (signed: SignedTask, payload: TaskPayload): Promise<void> => {
    taking.add(payload.task_id);
    try {
      await journal.accept(payload);
    } catch (err) {
      taking.delete(payload.task_id);
      if (!(err instanceof HostError)) throw err;
      return refuse(signed, payload, err.code, err.message);
    }
    taking.delete(payload.task_id);
    options.at?.('accepted', payload.task_id);
    runner.begin(payload.task_id);
  };

  const take = async (signed: SignedTask): Promise<void> => {
    let verdict = judge(signed);
    if (!verdict.is_valid && verdict.code === 'unknown_signer') {
      try {
        await options.refreshTrust();
      } catch (err) {
        log.warn(
          { err, task_id: verdict.task?.task_id },
          'task deferred: its signer is unknown and the trust bundle could not be fetched',
        );
        return;
      }
      verdict = judge(signed);
    }
    if (!verdict.is_valid) return refuse(signed, verdict.task, verdict.code, verdict.reason);
    const { payload } = verdict;
    if (taking.has(payload.task_id)) return;
    const judgement = journal.judge(payload);
    switch (judgement.kind) {
      case 'new':
        return accept(signed, payload);
      case 'known':
        if (['finished', 'acknowledged'].includes(judgement.record.state)) runner.repeat(payload.task_id);
        else runner.begin(payload.task_id);
        return;
      case 'forged':
        return refuse(signed, payload, 'conflict', 'This task ID was used before with different content.');
      case 'stale': {
        const { slots } = judgement;
        return refuse(signed, payload, 'stale_generation', staleSentence(slots), staleOutput(slots));
      }
      default:
        judgement satisfies never;
    }
  };

  return {
    deliver: async (tasks) => {
      // In order of delivery: a newer generation that arrives first makes the older one stale.
      void reportRefusals();
      await Promise.all(
        tasks.map((signed) => take(signed).catch((err: unknown) => log.error({ err }, 'failed to accept task'))),
      );
    },
  };
};
