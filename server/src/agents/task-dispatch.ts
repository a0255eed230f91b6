/**
 * Agents at rest. Each holds a long poll; one dispatcher per process looks for work of all of them together, when the
 * process is woken and at least once a second, and answers who has any.
 *
 * An answer that an agent may not act on (a stale trust version, a cancelled task that still runs) never turns its poll
 * into a busy loop: such news is told once, or after a second.
 */
import type { NodeAnswer, NodeBody, SignedTask } from '@gpuaas/contract/node';
import { type Clock, type Log, pause } from '@gpuaas/kit';
import type { Database } from '../db/client.ts';
import type { EventHub } from '../ports/events/hub.ts';
import { createHandOut } from './task-hand-out.ts';
import type { TrustKeeper } from './trust.ts';

export type WaitAnswer = NodeAnswer<'taskWait'>;
export type Held = Readonly<{
  answer: Promise<WaitAnswer>;
  /** The agent hung up: nothing is handed out to this poll any more. */
  abandon(): void;
}>;

type Ask = Pick<NodeBody<'taskWait'>, 'in_hand' | 'trust_version' | 'wait_s'> &
  /** Why this agent is handed no work for now; null where it is. */
  Readonly<{ withheld: string | null }>;

export type Dispatcher = Readonly<{
  wait(nodeId: string, ask: Ask): Held;
  /** How many agents rest here. */
  size(): number;
  /** What agents trust has changed: they are told at once. */
  announceTrust(): void;
  /** Answers every poll and takes no more; resolves when the turn under way is over. */
  stop(): Promise<void>;
}>;

type Poll = {
  readonly node_id: string;
  readonly in_hand: readonly string[];
  readonly withheld: string | null;
  until_ms: number;
  /** What it lacks of what was handed out before is still to be looked for. */
  is_fresh: boolean;
  is_looked_at: boolean;
  readonly resolve: (answer: WaitAnswer) => void;
};

const HOLD_MAX_MS = 15_000;
const FLOOR_MS = 1_000;
/** Polls that come within this time are looked at together. */
const GATHER_MS = 10;
/** At most this often for everyone, however often the process is woken. */
const SPACING_MS = 25;

export const createDispatcher = (
  deps: Readonly<{ database: Database; clock: Clock; log: Log; hub: EventHub; trust: TrustKeeper }>,
): Dispatcher => {
  const { clock, log, hub, trust } = deps;
  const work = createHandOut(deps);
  const held = new Map<string, Poll>();
  /** Cancelled tasks that an agent was told of and still has in hand. */
  const told = new Map<string, ReadonlySet<string>>();
  const closing = new AbortController();
  let wants: 'nothing' | 'fresh' | 'all' = 'nothing';
  let gathering: NodeJS.Timeout | undefined;
  let turning: Promise<void> | undefined;
  let lastFailure = '';

  const now = (): number => clock.now().getTime();
  /** Answers of the same moment say the same time: writing it anew takes longer than handing out the task. */
  let serverTime = { ms: 0, text: '' };
  const currentTime = (): string => {
    const ms = now();
    if (ms !== serverTime.ms) serverTime = { ms, text: new Date(ms).toISOString() };
    return serverTime.text;
  };

  const answer = (poll: Poll, tasks: SignedTask[], cancelled: readonly string[]): void => {
    if (held.get(poll.node_id) === poll) held.delete(poll.node_id);
    if (cancelled.length > 0) told.set(poll.node_id, new Set(cancelled));
    poll.resolve({
      tasks,
      cancelled: [...cancelled],
      trust_version: trust.current().bundle.version,
      server_time: currentTime(),
      ...(poll.withheld === null ? {} : { withheld: poll.withheld }),
    });
  };

  const endOverdue = (): void => {
    const at = now();
    for (const poll of held.values()) {
      // Nobody goes without having been looked at, unless database unreachable.
      const until = poll.is_looked_at ? poll.until_ms : poll.until_ms + FLOOR_MS;
      if (until <= at) answer(poll, [], [...(told.get(poll.node_id) ?? [])]);
    }
  };

  const turn = async (isForAll: boolean): Promise<void> => {
    const fresh = [...held.values()].filter((poll) => poll.is_fresh);
    if (fresh.length === 0 && !isForAll) return;
    const found = await work.look(fresh, isForAll ? [...held.values()] : null);
    const nodes = found.nodes.filter((id) => held.get(id)?.withheld === null);
    const withWork = new Set(nodes);
    await work.give(found, nodes, fresh, (nodeId, tasks) => {
      const poll = held.get(nodeId);
      if (poll === undefined || poll.withheld !== null) return false;
      answer(poll, tasks, found.over.get(nodeId) ?? []);
      return true;
    });
    for (const [nodeId, cancelled] of found.over) {
      const poll = held.get(nodeId);
      const known = told.get(nodeId);
      if (poll !== undefined && cancelled.some((id) => !known?.has(id))) answer(poll, [], cancelled);
    }
    // Whoever had work and got none may find it on its way still: looked at again with everyone.
    for (const poll of fresh) {
      poll.is_looked_at = true;
      poll.is_fresh = withWork.has(poll.node_id) && held.get(poll.node_id) === poll;
    }
  };

  const keepTurning = async (): Promise<void> => {
    while (wants !== 'nothing' && !closing.signal.aborted) {
      const isForAll = wants === 'all';
      wants = 'nothing';
      try {
        await turn(isForAll);
        lastFailure = '';
      } catch (err) {
        const message = err instanceof Error ? err.message : String(err);
        if (message !== lastFailure) log.error({ err }, 'failed to read agent tasks; retrying');
        lastFailure = message;
      }
      endOverdue();
      if (isForAll) await pause(SPACING_MS, closing.signal);
    }
    turning = undefined;
  };

  const want = (what: 'fresh' | 'all'): void => {
    if (wants !== 'all') wants = what;
    turning ??= keepTurning();
  };

  const keepLooking = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await hub.wait(FLOOR_MS, closing.signal);
      endOverdue();
      if (held.size > 0) want('all');
    }
  };
  const looking = keepLooking();

  return {
    wait: (nodeId, ask) => {
      const { promise, resolve } = Promise.withResolvers<WaitAnswer>();
      const isCurrent = ask.trust_version === trust.current().bundle.version;
      const holdMs = Math.min(ask.wait_s * 1000, isCurrent ? HOLD_MAX_MS : FLOOR_MS);
      const poll: Poll = {
        node_id: nodeId,
        in_hand: ask.in_hand,
        withheld: ask.withheld,
        until_ms: now() + holdMs,
        is_fresh: true,
        is_looked_at: false,
        resolve,
      };
      const before = held.get(nodeId);
      if (before !== undefined) answer(before, [], []);
      const known = told.get(nodeId);
      const still = ask.in_hand.filter((id) => known?.has(id));
      if (still.length > 0) told.set(nodeId, new Set(still));
      else told.delete(nodeId);
      held.set(nodeId, poll);
      if (closing.signal.aborted) answer(poll, [], []);
      else
        gathering ??= setTimeout(() => {
          gathering = undefined;
          want('fresh');
        }, GATHER_MS);
      return {
        answer: promise,
        abandon: () => {
          if (held.get(nodeId) === poll) held.delete(nodeId);
        },
      };
    },
    size: () => held.size,
    announceTrust: () => {
      for (const poll of held.values()) answer(poll, [], []);
    },
    stop: async () => {
      closing.abort();
      clearTimeout(gathering);
      await Promise.all([looking, turning]);
      for (const poll of held.values()) answer(poll, [], []);
    },
  };
};
