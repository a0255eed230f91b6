/**
 * Ends a task in one transaction: its row, the processor of its kind from
 * `result-processors.ts`, and what a launch says about its host. A result takes effect in no other way.
 */
import { isTaskKind, type TaskKind } from '@gpuaas/contract/node';
import type { Tx } from '../db/client.ts';
import {
  expireTask as markExpired,
  failUnsentTask as markUnsent,
  finishTask as moveTask,
  type NodeTaskRow,
  rejectTask,
  type TaskResult,
} from '../db/node-task.ts';
import { suspectSlots } from '../db/slot-approval.ts';
import { quarantineReason } from '../domain/task.ts';
import { noteLaunchTask } from './launch-failures.ts';
import { RESULT_PROCESSORS, type ResultProcessor } from './result-processors.ts';

export type EndContext = Readonly<{ now: Date }>;
export type Ended = Readonly<{
  /** False when the result came too late. */
  is_accepted: boolean;
  /** Why a task that the agent completed counts as failed. */
  rejection: string | null;
}>;

const processorOf = (kind: string): ResultProcessor<TaskKind> | undefined =>
  isTaskKind(kind) ? (RESULT_PROCESSORS[kind] as ResultProcessor<TaskKind>) : undefined;

type NamedSlot = Readonly<{ slot_id: string; generation: number }>;
/** A task for a whole node names its slots by their generation alone. */
type NamedSlots = Readonly<{ slots?: readonly NamedSlot[]; slot_generations?: readonly NamedSlot[] }>;

/** Slots that late or refused work could have touched are unavailable until an operator repairs them. */
const suspect = async (tx: Tx, task: NodeTaskRow): Promise<void> => {
  const reason = quarantineReason(task);
  const named = task.params as NamedSlots;
  const slots = named.slots ?? named.slot_generations ?? [];
  if (reason !== null && slots.length > 0) await suspectSlots(tx, { node_id: task.node_id, slots, reason });
};

const end = async (tx: Tx, task: NodeTaskRow, ctx: EndContext): Promise<string | null> => {
  const processor = processorOf(task.kind);
  // The database has signaled the run in this transaction.
  tx.wake();
  const rejection =
    task.state === 'completed'
      ? ((await processor?.completed?.(tx, task, (task.output ?? {}) as never, ctx.now)) ?? null)
      : null;
  if (rejection !== null) await rejectTask(tx, task.id, rejection);
  if (rejection === null) await suspect(tx, task);
  const ended: NodeTaskRow = rejection === null ? task : { ...task, state: 'failed', state_reason: rejection };
  await processor?.ended?.(tx, ended);
  await noteLaunchTask(tx, ended);
  return rejection;
};

export const finishTask = async (tx: Tx, result: TaskResult, ctx: EndContext): Promise<Ended> => {
  const task = await moveTask(tx, result);
  return task === undefined
    ? { is_accepted: false, rejection: null }
    : { is_accepted: true, rejection: await end(tx, task, ctx) };
};

/** False when the task is not overdue any more. */
export const expireTask = async (tx: Tx, id: string, ctx: EndContext): Promise<boolean> => {
  const task = await markExpired(tx, id);
  if (task !== undefined) await end(tx, task, ctx);
  return task !== undefined;
};

/** False when a host began the task, or it has ended. */
export const failUnsentTask = async (tx: Tx, id: string, reason: string, ctx: EndContext): Promise<boolean> => {
  const task = await markUnsent(tx, id, reason);
  if (task !== undefined) await end(tx, task, ctx);
  return task !== undefined;
};
