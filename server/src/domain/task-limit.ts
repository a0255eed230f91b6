/**
 * How long a host may take. A task that no host has begun ends after minutes, whatever it is: its host is away, and whoever
 * waits for it must hear so. One that was begun may take as long as the work takes: most kinds end within the same minutes,
 * a cleanup when the agent itself would have given it up. A wipe that hangs is told by the deadline of the allocation's
 * state and by the age of its slots long before; ending its task earlier would only throw away a proof under way.
 */
import { CLEANUP_LIMIT_S } from '@gpuaas/contract/node';

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;

/** From being asked for to its end, or to its beginning for the kinds below. */
export const TASK_EXPIRES_S = 20 * MINUTE_S;

/** The agent ends what takes too long by itself; until its answer is here it is still waited for. */
const ANSWER_MARGIN_S = HOUR_S;

/** From its beginning to its end, for kinds that may take longer. */
export const BEGUN_EXPIRES_S: Readonly<Record<string, number>> = {
  'slice.cleanup': CLEANUP_LIMIT_S + ANSWER_MARGIN_S,
  'node.cleanup': CLEANUP_LIMIT_S + ANSWER_MARGIN_S,
};

export const CLEANUP_TRIES_MAX = 3;

/**
 * For a run that stops what runs and then erases. It is longer than all of its tries, so that it never gives up a host that
 * is at work: what it leaves then would be erased again from the start, and again not be waited for.
 */
export const CLEANUP_RUN_DEADLINE_MS =
  1_000 *
  CLEANUP_TRIES_MAX *
  // Stopped, begun at the last moment, and rested between two tries.
  (2 * TASK_EXPIRES_S + CLEANUP_LIMIT_S + ANSWER_MARGIN_S + HOUR_S);
