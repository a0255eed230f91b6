/**
 * Holds the long polls of agents. One dispatcher per process checks for tasks of all held polls together, when the
 * process is woken and at least once a second, and responds to the polls that have some.
 *
 * A response that an agent cannot act on (an outdated trust version, a cancelled task that still runs) must not turn
 * its poll into a busy loop: it is sent once, or after a second.
 */
import type { NodeBody, NodeResponse, SignedTask } from '@gpuaas/contract/node';
import { type Clock, type Log, type LoopWatch, pause } from '@gpuaas/kit';
import type { Database } from '../db/client.ts';
import type { EventHub } from '../ports/events/hub.ts';
import type { Secrets } from '../ports/secrets/secrets.ts';
import { createTaskSender } from './task-sender.ts';
import type { TrustCache } from './trust.ts';

export type PollResponse = NodeResponse<'taskWait'>;
export type HeldPoll = Readonly<{
  response: Promise<PollResponse>;
  /** The agent disconnected: this poll receives no tasks. */
  abandon(): void;
}>;

type PollRequest = Pick<NodeBody<'taskWait'>, 'journaled_task_ids' | 'trust_version' | 'wait_s'> &
  /** Why this agent receives no tasks for now; null if it does. */
  Readonly<{ no_tasks_reason: string | null }>;

export type Dispatcher = Readonly<{
  wait(nodeId: string, request: PollRequest): HeldPoll;
  /** Number of held polls. */
  size(): number;
  /** The trust bundle changed: every poll gets a response now. */
  announceTrust(): void;
  /** Responds to every poll and accepts no more; resolves when the current round ends. */
  stop(): Promise<void>;
}>;

type Poll = {
  readonly node_id: string;
  readonly journaled_task_ids: readonly string[];
  readonly no_tasks_reason: string | null;
  until_ms: number;
  /** Dispatched tasks missing from its journal are still to be found. */
  is_fresh: boolean;
  is_checked: boolean;
  readonly resolve: (respond: PollResponse) => void;
};

const HOLD_MAX_MS = 15_000;
const FLOOR_MS = 1_000;
/** Polls that arrive within this time are checked together. */
const BATCH_MS = 10;
/** Minimum interval between rounds over all polls. */
const SPACING_MS = 25;

export const createDispatcher = (
  deps: Readonly<{
    database: Database;
    clock: Clock;
    log: Log;
    hub: EventHub;
    trust: TrustCache;
    secrets: Secrets;
    /** Reports a round that does not end. */
    loops?: LoopWatch;
  }>,
): Dispatcher => {
  const { clock, log, hub, trust } = deps;
  const work = createTaskSender(deps);
  const polls = new Map<string, Poll>();
  /** Cancelled tasks that were reported to an agent and are still in its journal. */
  const reportedCancelled = new Map<string, ReadonlySet<string>>();
  const closing = new AbortController();
  const watch = deps.loops?.add('dispatch-tasks', FLOOR_MS);
  const turn = <T>(fn: () => Promise<T>): Promise<T> => (watch === undefined ? fn() : watch.turn(fn));
  let pending: 'nothing' | 'fresh' | 'all' = 'nothing';
  let batchTimer: NodeJS.Timeout | undefined;
  let round: Promise<void> | undefined;
  let lastFailure = '';

  /** Polls are held by the time of the process, which only runs forward: its clock may be set meanwhile. */
  const now = (): number => performance.now();
  /** Formatting the time costs more than sending a task, so responses of the same millisecond share it. */
  let serverTime = { ms: 0, text: '' };
  const currentTime = (): string => {
    const ms = clock.now().getTime();
    if (ms !== serverTime.ms) serverTime = { ms, text: new Date(ms).toISOString() };
    return serverTime.text;
  };

  const respond = (poll: Poll, tasks: SignedTask[], cancelled: readonly string[]): void => {
    if (polls.get(poll.node_id) === poll) polls.delete(poll.node_id);
    if (cancelled.length > 0) reportedCancelled.set(poll.node_id, new Set(cancelled));
    poll.resolve({
      tasks,
      cancelled: [...cancelled],
      trust_version: trust.current().bundle.version,
      server_time: currentTime(),
      ...(poll.no_tasks_reason === null ? {} : { no_tasks_reason: poll.no_tasks_reason }),
    });
  };

  const endOverdue = (): void => {
    const at = now();
    for (const poll of polls.values()) {
      // A poll is not ended before it was checked, unless the database is unreachable.
      const until = poll.is_checked ? poll.until_ms : poll.until_ms + FLOOR_MS;
      if (until <= at) respond(poll, [], [...(reportedCancelled.get(poll.node_id) ?? [])]);
    }
  };

  const dispatchRound = async (isForAll: boolean): Promise<void> => {
    const fresh = [...polls.values()].filter((poll) => poll.is_fresh);
    if (fresh.length === 0 && !isForAll) return;
    const found = await work.find(fresh, isForAll ? [...polls.values()] : null);
    const nodes = found.nodes.filter((id) => polls.get(id)?.no_tasks_reason === null);
    const withWork = new Set(nodes);
    await work.send(found, nodes, fresh, (nodeId, tasks) => {
      const poll = polls.get(nodeId);
      if (poll === undefined || poll.no_tasks_reason !== null) return false;
      respond(poll, tasks, found.over.get(nodeId) ?? []);
      return true;
    });
    for (const [nodeId, cancelled] of found.over) {
      const poll = polls.get(nodeId);
      const known = reportedCancelled.get(nodeId);
      if (poll !== undefined && cancelled.some((id) => !known?.has(id))) respond(poll, [], cancelled);
    }
    // A node that had tasks but received none (they may be in flight) is checked again in the next round.
    for (const poll of fresh) {
      poll.is_checked = true;
      poll.is_fresh = withWork.has(poll.node_id) && polls.get(poll.node_id) === poll;
    }
  };

  const runRounds = async (): Promise<void> => {
    while (pending !== 'nothing' && !closing.signal.aborted) {
      const isForAll = pending === 'all';
      pending = 'nothing';
      try {
        await turn(() => dispatchRound(isForAll));
        lastFailure = '';
      } catch (err) {
        const message = err instanceof Error ? err.message : String(err);
        if (message !== lastFailure) log.error({ err }, 'failed to read agent tasks; retrying');
        lastFailure = message;
      }
      endOverdue();
      if (isForAll) await pause(SPACING_MS, closing.signal);
    }
    round = undefined;
  };

  const requestRound = (what: 'fresh' | 'all'): void => {
    if (pending !== 'all') pending = what;
    round ??= runRounds();
  };

  const watchHub = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await hub.wait(FLOOR_MS, closing.signal);
      // While a round runs, only its end or progress is a sign of life.
      if (round === undefined) await turn(async () => endOverdue());
      else endOverdue();
      if (polls.size > 0) requestRound('all');
    }
    watch?.end();
  };
  const watching = watchHub();

  return {
    wait: (nodeId, request) => {
      const { promise, resolve } = Promise.withResolvers<PollResponse>();
      const isCurrent = request.trust_version === trust.current().bundle.version;
      const holdMs = Math.min(request.wait_s * 1000, isCurrent ? HOLD_MAX_MS : FLOOR_MS);
      const poll: Poll = {
        node_id: nodeId,
        journaled_task_ids: request.journaled_task_ids,
        no_tasks_reason: request.no_tasks_reason,
        until_ms: now() + holdMs,
        is_fresh: true,
        is_checked: false,
        resolve,
      };
      const before = polls.get(nodeId);
      if (before !== undefined) respond(before, [], []);
      const known = reportedCancelled.get(nodeId);
      const stillOpen = request.journaled_task_ids.filter((id) => known?.has(id));
      if (stillOpen.length > 0) reportedCancelled.set(nodeId, new Set(stillOpen));
      else reportedCancelled.delete(nodeId);
      polls.set(nodeId, poll);
      if (closing.signal.aborted) respond(poll, [], []);
      else
        batchTimer ??= setTimeout(() => {
          batchTimer = undefined;
          requestRound('fresh');
        }, BATCH_MS);
      return {
        response: promise,
        abandon: () => {
          if (polls.get(nodeId) === poll) polls.delete(nodeId);
        },
      };
    },
    size: () => polls.size,
    announceTrust: () => {
      for (const poll of polls.values()) respond(poll, [], []);
    },
    stop: async () => {
      closing.abort();
      clearTimeout(batchTimer);
      await Promise.all([watching, round]);
      for (const poll of polls.values()) respond(poll, [], []);
    },
  };
};
