/**
 * Hands out work. Agents rest in long polls; one dispatcher per process looks for work of all of them together, when
 * the process is woken and at least once a second. A task is locked, signed, sent and then marked as handed out, all in
 * one transaction, so no other process sends it meanwhile, and an agent that begins at once waits for the mark. If the
 * answer is lost on its way, or the mark is, the task is handed out again with the same attempt: an agent's next poll
 * does not name it as in hand, and its journal knows one that came twice.
 *
 * An answer that an agent may not act on (a stale trust version, a cancelled task that still runs) never turns its poll
 * into a busy loop: such news is told once, or after a second.
 */
import type { NodeAnswer, NodeBody, SignedTask, TaskPayload } from '@gpuaas/contract/node';
import { type Clock, type Log, pause } from '@gpuaas/kit';
import {
  listNodesLacking,
  listOverTasks,
  listQueuedTasks,
  lockQueuedTasks,
  markDispatched,
  type OutgoingTask,
  redispatchTasks,
} from '../db/agent-task.ts';
import { type Database, PLATFORM, type Reader } from '../db/client.ts';
import { findActiveKeyId } from '../db/trust-key.ts';
import type { EventHub } from '../ports/events/hub.ts';
import { signText } from '../ports/trust/x509.ts';
import type { TrustKeeper } from './trust.ts';

export type WaitAnswer = NodeAnswer<'taskWait'>;
export type Held = Readonly<{
  answer: Promise<WaitAnswer>;
  /** The agent hung up: nothing is handed out to this poll any more. */
  abandon(): void;
}>;

export type Dispatcher = Readonly<{
  wait(nodeId: string, ask: Pick<NodeBody<'taskWait'>, 'in_hand' | 'trust_version' | 'wait_s'>): Held;
  /** How many agents rest here. */
  size(): number;
  /** What agents trust has changed: they are told at once. */
  tellTrust(): void;
  /** Answers every poll and takes no more; resolves when the turn under way is over. */
  stop(): Promise<void>;
}>;

type Poll = {
  readonly node_id: string;
  readonly in_hand: readonly string[];
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
const TASKS_PER_POLL = 16;
/** What was handed out a moment ago may still be on its way. */
const ON_ITS_WAY_S = 1;
/** A fleet that is woken at once is served in parts: while one is signed and sent, the database works on others. */
const NODES_PER_PART = 100;
const PARTS_AT_ONCE = 3;

export const createDispatcher = (
  deps: Readonly<{ database: Database; clock: Clock; log: Log; hub: EventHub; trust: TrustKeeper }>,
): Dispatcher => {
  const { database, clock, log, hub, trust } = deps;
  const held = new Map<string, Poll>();
  /** Cancelled tasks that an agent was told of and still has in hand. */
  const told = new Map<string, ReadonlySet<string>>();
  const closing = new AbortController();
  let wants: 'nothing' | 'fresh' | 'all' = 'nothing';
  let gathering: NodeJS.Timeout | undefined;
  let turning: Promise<void> | undefined;
  let lastFailure = '';

  const now = (): number => clock.now().getTime();

  const answer = (poll: Poll, tasks: readonly SignedTask[], cancelled: readonly string[]): void => {
    if (held.get(poll.node_id) === poll) held.delete(poll.node_id);
    if (cancelled.length > 0) told.set(poll.node_id, new Set(cancelled));
    poll.resolve({
      tasks: [...tasks],
      cancelled: [...cancelled],
      trust_version: trust.current().bundle.version,
      server_time: clock.now().toISOString(),
    });
  };

  const endOverdue = (): void => {
    const at = now();
    for (const poll of held.values()) {
      // Nobody goes without having been looked at, unless the database does not answer.
      const until = poll.is_looked_at ? poll.until_ms : poll.until_ms + FLOOR_MS;
      if (until <= at) answer(poll, [], [...(told.get(poll.node_id) ?? [])]);
    }
  };

  const sign = async (task: OutgoingTask): Promise<SignedTask> => {
    const { signer } = trust.current();
    const payload = JSON.stringify({
      task_id: task.id,
      node_id: task.node_id,
      kind: task.kind as TaskPayload['kind'],
      attempt: task.attempt,
      params: task.params,
      allocation_id: task.allocation_id,
      correlation_id: task.correlation_id,
      issued_at: clock.now().toISOString(),
      expires_at: task.expires_at,
    } satisfies TaskPayload);
    return { payload, signer_id: signer.id, signature: await signText(signer.key, payload) };
  };

  /** Which of the polls have work, and which in-hand tasks are over; nothing is written. */
  const look = (polls: readonly Poll[], isForAll: boolean) =>
    database.read(PLATFORM, async (reader: Reader) => {
      const fresh = polls.filter((poll) => poll.is_fresh);
      const holding = (isForAll ? [...held.values()] : fresh).flatMap((poll) =>
        poll.in_hand.map((task_id) => [poll.node_id, task_id] as const),
      );
      const freshIds = fresh.map((poll) => poll.node_id);
      const [signerId, queued, lacking, over] = await Promise.all([
        findActiveKeyId(reader, 'task_signer'),
        listQueuedTasks(reader, isForAll ? 'all' : freshIds, TASKS_PER_POLL),
        fresh.length === 0
          ? []
          : listNodesLacking(
              reader,
              freshIds,
              fresh.flatMap((poll) => poll.in_hand),
            ),
        holding.length === 0
          ? []
          : listOverTasks(reader, {
              node_ids: holding.map(([nodeId]) => nodeId),
              task_ids: holding.map(([, taskId]) => taskId),
            }),
      ]);
      const queuedBy = Map.groupBy(queued, (task) => task.node_id);
      return {
        signerId,
        queuedBy,
        nodes: [...new Set([...queuedBy.keys(), ...lacking])].filter((id) => held.has(id)),
        over,
      };
    });

  /** Signs what a node gets and answers its poll; false for one that hung up: it is handed its work when it comes back. */
  const hand = async (
    nodeId: string,
    mine: readonly OutgoingTask[],
    cancelled: readonly string[],
  ): Promise<boolean> => {
    const tasks = await Promise.all(mine.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(sign));
    const poll = held.get(nodeId);
    if (poll !== undefined) answer(poll, tasks, cancelled);
    return poll !== undefined;
  };

  type Part = Readonly<{
    nodes: readonly string[];
    /** What was queued for them when it was looked for. */
    queued: readonly string[];
    fresh: readonly Poll[];
    cancelledOf(nodeId: string): string[];
  }>;

  const serve = ({ nodes, queued, fresh, cancelledOf }: Part): Promise<void> =>
    database.write(PLATFORM, async (tx) => {
      const wanted = new Set(nodes);
      const again = fresh.filter((poll) => wanted.has(poll.node_id));
      const lost =
        again.length === 0
          ? []
          : redispatchTasks(
              tx,
              again.map((poll) => poll.node_id),
              again.flatMap((poll) => poll.in_hand),
              ON_ITS_WAY_S,
            );
      const [handedOut, locked] = await Promise.all([lost, queued.length === 0 ? [] : lockQueuedTasks(tx, queued)]);
      const toMark = new Set(locked.map((task) => task.id));
      const sent: string[] = [];
      await Promise.all(
        [...Map.groupBy([...handedOut, ...locked], (task) => task.node_id)].map(async ([nodeId, mine]) => {
          if (await hand(nodeId, mine, cancelledOf(nodeId))) sent.push(...mine.map((task) => task.id));
        }),
      );
      const marked = sent.filter((id) => toMark.has(id));
      if (marked.length > 0) await markDispatched(tx, marked);
    });

  const turn = async (isForAll: boolean): Promise<void> => {
    const fresh = [...held.values()].filter((poll) => poll.is_fresh);
    if (fresh.length === 0 && !isForAll) return;
    const { signerId, queuedBy, nodes, over } = await look(fresh, isForAll);
    // A task is never signed with a key that was replaced meanwhile.
    if (nodes.length > 0 && signerId !== trust.current().signer.id) await trust.refresh();
    const withWork = new Set(nodes);
    const overBy = Map.groupBy(over, (one) => one.node_id);
    const cancelledOf = (nodeId: string): string[] => overBy.get(nodeId)?.map((one) => one.task_id) ?? [];
    let next = 0;
    const serveParts = async (): Promise<void> => {
      while (next < nodes.length) {
        const part = nodes.slice(next, next + NODES_PER_PART);
        next += NODES_PER_PART;
        const queued = part.flatMap((id) => queuedBy.get(id)?.map((task) => task.id) ?? []);
        await serve({ nodes: part, queued, fresh, cancelledOf });
      }
    };
    await Promise.all(Array.from({ length: PARTS_AT_ONCE }, serveParts));
    for (const [nodeId, mine] of overBy) {
      const poll = held.get(nodeId);
      const known = told.get(nodeId);
      const cancelled = mine.map((one) => one.task_id);
      if (poll !== undefined && cancelled.some((id) => !known?.has(id))) answer(poll, [], cancelled);
    }
    // Whoever had work and got none may find it on its way still: looked at again with everyone.
    for (const poll of fresh) {
      poll.is_looked_at = true;
      poll.is_fresh = withWork.has(poll.node_id) && held.get(poll.node_id) === poll;
    }
  };

  const work = async (): Promise<void> => {
    while (wants !== 'nothing' && !closing.signal.aborted) {
      const isForAll = wants === 'all';
      wants = 'nothing';
      try {
        await turn(isForAll);
        lastFailure = '';
      } catch (err) {
        const message = err instanceof Error ? err.message : String(err);
        if (message !== lastFailure) log.error({ err }, 'could not look for work of agents; will look again');
        lastFailure = message;
      }
      endOverdue();
      if (isForAll) await pause(SPACING_MS, closing.signal);
    }
    turning = undefined;
  };

  const want = (what: 'fresh' | 'all'): void => {
    if (wants !== 'all') wants = what;
    turning ??= work();
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
    tellTrust: () => {
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
