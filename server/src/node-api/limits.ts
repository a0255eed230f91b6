/**
 * Limits of one node. A certificate proves the identity, not good intent: a compromised host must not slow down other
 * agents. Requests are limited by number, size and concurrency. A working agent stays far below all limits and retries
 * later when refused.
 */
import { AppError } from '../errors.ts';

export type Entry = Readonly<{ node_id: string; is_poll: boolean; bytes: number; now_ms: number }>;

export type NodeLimits = Readonly<{
  /** Refuses, or admits until the returned function is called. */
  enter(entry: Entry): () => void;
}>;

const IN_FLIGHT_MAX = 8;
/** A waiting poll, and its replacement. */
const POLLS_MAX = 2;
/** A body counts as one request per this many bytes. */
const BYTES_PER_REQUEST = 64 * 1024;
const BUSY_RETRY_S = 1;

type RateAllowance = { tokens: number; at_ms: number; requests: number; polls: number };

const tooMany = (detail: string, retry_after_s: number): AppError =>
  new AppError('rate_limited', `${detail}; wait ${retry_after_s} s.`, { retry_after_s });

export const createNodeLimits = (perMinute: number): NodeLimits => {
  const perMs = perMinute / 60_000;
  // Only nodes with a valid certificate are in here.
  const nodes = new Map<string, RateAllowance>();

  const allowanceOf = (nodeId: string, nowMs: number): RateAllowance => {
    let one = nodes.get(nodeId);
    if (one === undefined) {
      one = { tokens: perMinute, at_ms: nowMs, requests: 0, polls: 0 };
      nodes.set(nodeId, one);
    }
    one.tokens = Math.min(perMinute, one.tokens + Math.max(0, nowMs - one.at_ms) * perMs);
    one.at_ms = nowMs;
    return one;
  };

  return {
    enter: ({ node_id, is_poll, bytes, now_ms }) => {
      const one = allowanceOf(node_id, now_ms);
      if (one.tokens < 1) throw tooMany('This node exceeds its rate limit', Math.ceil((1 - one.tokens) / perMs / 1000));
      const kind = is_poll ? 'polls' : 'requests';
      if (one[kind] >= (is_poll ? POLLS_MAX : IN_FLIGHT_MAX))
        throw tooMany(`This node has ${one[kind]} ${kind} in progress`, BUSY_RETRY_S);
      // A large body is accepted and charged afterwards: otherwise a body above the allowance could never be sent.
      one.tokens -= 1 + Math.floor(bytes / BYTES_PER_REQUEST);
      one[kind] += 1;
      let isOver = false;
      return () => {
        if (!isOver) one[kind] -= 1;
        isOver = true;
      };
    },
  };
};
