/**
 * How long the server waits for a host, from the declarations of the contract. A task that has not started expires
 * within minutes, whatever its kind: its host is offline, and the waiting run must know. A started task may take as
 * long as its work: most kinds end within the same minutes, a cleanup when the agent itself ends it. The deadline of
 * the allocation's state and the age of its slots report a hanging wipe long before; ending its task earlier would only
 * discard a proof in progress.
 */
import { CLEANUP_LIMIT_S, isTaskKind, TASK_EXPIRES_S, TASK_KINDS, TASKS } from '@gpuaas/contract/node';

const HOUR_S = 60 * 60;

/** The agent ends a task that takes too long; the server waits slightly longer for its result. */
const RESULT_MARGIN_S = HOUR_S;

export { TASK_EXPIRES_S };

/** From creation to the end, or to the start for the kinds below. */
export const taskExpiresS = (kind: string): number => (isTaskKind(kind) ? TASKS[kind].expires_s : TASK_EXPIRES_S);

/** From the start to the end, for kinds that may take longer. */
export const BEGUN_EXPIRES_S: Readonly<Record<string, number>> = Object.fromEntries(
  TASK_KINDS.filter((kind) => TASKS[kind].is_waited_out).map((kind) => [kind, TASKS[kind].timeout_s + RESULT_MARGIN_S]),
);

export const CLEANUP_TRIES_MAX = 3;

/**
 * Deadline of a run that stops and then wipes. It exceeds all of its tries, so that the run never abandons a host at
 * work: the wipe would start over and be abandoned again.
 */
export const CLEANUP_RUN_DEADLINE_MS =
  1_000 *
  CLEANUP_TRIES_MAX *
  // The stop, a start at the last moment, and the delay between two tries.
  (2 * TASK_EXPIRES_S + CLEANUP_LIMIT_S + RESULT_MARGIN_S + HOUR_S);
