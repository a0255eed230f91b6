/**
 * Gives work to agents that are there. A task is locked, signed, sent and then marked as handed out, all in one
 * transaction, so no other process sends it meanwhile, and an agent that begins at once waits for the mark. If the
 * answer is lost on its way, or the mark is, the task is handed out again with the same attempt: an agent's next poll
 * does not name it as in hand, and its journal knows one that came twice.
 */
import { growTaskTree, type SignedTask, type TaskPayload } from '@gpuaas/contract/node';
import type { Clock } from '@gpuaas/kit';
import {
  type InHand,
  listNodesLacking,
  listOverTasks,
  listQueuedTasks,
  lockQueuedTasks,
  markDispatched,
  type OutgoingTask,
  readTasksByName,
  redispatchTasks,
} from '../db/agent-task.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { findActiveKeyId } from '../db/trust-key.ts';
import { signBytes } from '../ports/trust/x509.ts';
import type { TrustKeeper } from './trust.ts';

/** What there is to do, when it was looked for. */
export type Found = Readonly<{
  signer_id: string | undefined;
  queued: ReadonlyMap<string, readonly string[]>;
  /** Nodes with work: queued, or handed out before and not in hand. */
  nodes: readonly string[];
  /** Tasks in hand that are over, by node. */
  over: ReadonlyMap<string, readonly string[]>;
}>;

/** Says to a node what its work is; false for one that hung up: it is handed its work when it comes back. */
export type Send = (nodeId: string, tasks: SignedTask[]) => boolean;

type Signed = Readonly<{ task: OutgoingTask; signed: SignedTask }>;

export type HandOut = Readonly<{
  /** Looks for work of those who just came, or of everyone who is there. Nothing is written. */
  look(fresh: readonly InHand[], everyone: readonly InHand[] | null): Promise<Found>;
  /** Hands out what was found for these nodes; to those who just came also what they lack. */
  give(found: Found, nodes: readonly string[], fresh: readonly InHand[], send: Send): Promise<void>;
}>;

const TASKS_PER_POLL = 16;
/** What was handed out a moment ago may still be on its way. */
const ON_ITS_WAY_S = 1;
/** While these are signed and sent, the database finds the others of a fleet that is woken at once. */
const NODES_IN_FIRST_PART = 500;
/**
 * Then as many as possible in a row. Between parts the ends of those before are worked off, and their marks take the
 * processor from whoever still waits; in one part both come when the last answer has left.
 */
const NODES_PER_PART = 8_000;
/** Parts whose mark is not durable yet; each has a connection. */
const MARKS_AT_ONCE = 5;

export const createHandOut = (deps: Readonly<{ database: Database; clock: Clock; trust: TrustKeeper }>): HandOut => {
  const { database, clock, trust } = deps;

  const textOf = (task: OutgoingTask, issuedAt: string): string =>
    JSON.stringify({
      task_id: task.id,
      node_id: task.node_id,
      kind: task.kind as TaskPayload['kind'],
      attempt: task.attempt,
      params: task.params,
      allocation_id: task.allocation_id,
      correlation_id: task.correlation_id,
      issued_at: issuedAt,
      expires_at: task.expires_at,
    } satisfies TaskPayload);

  /** All of them with one signature: one for each would cost more than everything else that is done for it here. */
  const sign = (tasks: readonly OutgoingTask[]): Signed[] => {
    if (tasks.length === 0) return [];
    const { signer } = trust.current();
    const issuedAt = clock.now().toISOString();
    const payloads = tasks.map((task) => textOf(task, issuedAt));
    const { signed_bytes, proofs } = growTaskTree(payloads);
    const signature = signBytes(signer.key, signed_bytes);
    return tasks.map((task, place) => {
      const signed = { payload: payloads[place] ?? '', signer_id: signer.id, proof: proofs[place] ?? [], signature };
      return { task, signed };
    });
  };

  /** `onFound` is called before anything is signed: the next part may begin. */
  const servePart = (
    queued: readonly string[],
    again: readonly InHand[],
    send: Send,
    onFound: () => void,
  ): Promise<void> =>
    database.write(PLATFORM, async (tx) => {
      readTasksByName(tx);
      const [lost, locked] = await Promise.all([
        again.length === 0 ? [] : redispatchTasks(tx, again, ON_ITS_WAY_S),
        queued.length === 0 ? [] : lockQueuedTasks(tx, queued),
      ]);
      onFound();
      // What the next part asks of the database leaves first.
      await new Promise<void>((resolve) => setImmediate(resolve));
      const isLocked = new Set<OutgoingTask>(locked);
      const toMark: string[] = [];
      // All are signed, then all are sent: answers in a row cost less than one now and then.
      const signed = sign([...lost, ...locked].toSorted((a, b) => (a.id < b.id ? -1 : 1)));
      for (const [nodeId, mine] of Map.groupBy(signed, ({ task }) => task.node_id)) {
        const tasks = mine.map((one) => one.signed);
        if (!send(nodeId, tasks)) continue;
        for (const { task } of mine) if (isLocked.has(task)) toMark.push(task.id);
      }
      if (toMark.length > 0) await markDispatched(tx, toMark);
    });

  return {
    look: (fresh, everyone) =>
      database.read(PLATFORM, async (reader) => {
        const holding = (everyone ?? fresh).flatMap(({ node_id, in_hand }) =>
          in_hand.map((task_id) => ({ node_id, task_id })),
        );
        const freshIds = fresh.map((one) => one.node_id);
        const [signer_id, queued, lacking, over] = await Promise.all([
          findActiveKeyId(reader, 'task_signer'),
          listQueuedTasks(reader, everyone === null ? freshIds : 'all', TASKS_PER_POLL),
          fresh.length === 0 ? [] : listNodesLacking(reader, fresh),
          holding.length === 0
            ? []
            : listOverTasks(reader, {
                node_ids: holding.map((one) => one.node_id),
                task_ids: holding.map((one) => one.task_id),
              }),
        ]);
        const overBy = Map.groupBy(over, (one) => one.node_id);
        return {
          signer_id,
          queued,
          nodes: [...new Set([...queued.keys(), ...lacking])],
          over: new Map([...overBy].map(([nodeId, mine]) => [nodeId, mine.map((one) => one.task_id)] as const)),
        };
      }),
    give: async (found, nodes, fresh, send) => {
      // A task is never signed with a key that was replaced meanwhile.
      if (nodes.length > 0 && found.signer_id !== trust.current().signer.id) await trust.refresh();
      const marking: Promise<void>[] = [];
      let next = 0;
      let size = NODES_IN_FIRST_PART;
      while (next < nodes.length) {
        const part = new Set(nodes.slice(next, next + size));
        next += size;
        size = NODES_PER_PART;
        const queued = [...part].flatMap((id) => found.queued.get(id) ?? []);
        const again = fresh.filter((one) => part.has(one.node_id));
        const isFound = Promise.withResolvers<void>();
        const marked = servePart(queued, again, send, isFound.resolve);
        // Its failure is told where it is awaited.
        marked.catch(() => isFound.resolve());
        marking.push(marked);
        await isFound.promise;
        if (marking.length > MARKS_AT_ONCE) await marking.shift();
      }
      await Promise.all(marking);
    },
  };
};
