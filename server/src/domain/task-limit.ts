/**
 * How long the server waits for a host, from the declarations of the contract. A task that no host has begun expires within
 * minutes, whatever its kind: its host is away, and the run that waits for it must learn that. A task that was begun may
 * take as long as the work takes: most kinds end within the same minutes, a cleanup when the agent itself would have ended
 * it. The deadline of the allocation's state and the age of its slots report a hanging wipe long before; ending its task
 * earlier would only throw away a proof under way.
 */
import { CLEANUP_LIMIT_S, isTaskKind, TASK_EXPIRES_S, TASK_KINDS, TASKS } from '@gpuaas/contract/node';

const HOUR_S = 60 * 60;

/** The agent ends a task that takes too long; the server waits a little longer for its result. */
const RESULT_MARGIN_S = HOUR_S;

export { TASK_EXPIRES_S };

/** From being asked for to its end, or to its beginning for the kinds below. */
export const taskExpiresS = (kind: string): number => (isTaskKind(kind) ? TASKS[kind].expires_s : TASK_EXPIRES_S);

/** From its beginning to its end, for kinds that may take longer. */
export const BEGUN_EXPIRES_S: Readonly<Record<string, number>> = Object.fromEntries(
  TASK_KINDS.filter((kind) => TASKS[kind].is_waited_out).map((kind) => [kind, TASKS[kind].timeout_s + RESULT_MARGIN_S]),
);

export const CLEANUP_TRIES_MAX = 3;

/**
 * For a run that stops what runs and then wipes. It is longer than all of its tries, so that it never gives up a host that
 * is at work: what it leaves then would be wiped again from the start, and again not be waited for.
 */
export const CLEANUP_RUN_DEADLINE_MS =
  1_000 *
  CLEANUP_TRIES_MAX *
  // Stopped, begun at the last moment, and rested between two tries.
  (2 * TASK_EXPIRES_S + CLEANUP_LIMIT_S + RESULT_MARGIN_S + HOUR_S);
