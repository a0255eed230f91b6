/**
 * Sends tasks to connected agents. A task is locked, signed, sent and marked as dispatched in one transaction, so no
 * other process sends it at the same time, and an agent that starts at once waits for the mark. If the response or the
 * mark is lost, the task is sent again with the same attempt: the agent's next poll does not list it, and the agent's
 * journal drops duplicates.
 */
import { growTaskTree, type SignedTask, type TaskPayload } from '@gpuaas/contract/node';
import type { Clock, Log } from '@gpuaas/kit';
import {
  type JournaledTasks,
  listNodesLacking,
  listOverTasks,
  listQueuedTasks,
  lockQueuedTasks,
  type OutgoingTask,
  readTasksByName,
} from '../db/agent-task.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { markDispatched, redispatchTasks } from '../db/node-task.ts';
import { findActiveKeyId } from '../db/trust-key.ts';
import { REASONS } from '../domain/reasons.ts';
import { SEALED_TO } from '../domain/sealed.ts';
import { PLAIN, type Secrets } from '../ports/secrets/secrets.ts';
import { signBytes } from '../ports/trust/x509.ts';
import { failUnsentTask } from './end-task.ts';
import type { TrustCache } from './trust.ts';

/** Tasks to send, as of the last check. */
export type Found = Readonly<{
  signer_id: string | undefined;
  queued: ReadonlyMap<string, readonly string[]>;
  /** Nodes with tasks: queued, or dispatched and not in the agent's journal. */
  nodes: readonly string[];
  /** Journaled tasks that have ended, by node. */
  over: ReadonlyMap<string, readonly string[]>;
}>;

/** Sends a node its tasks; false if the agent disconnected, which receives them at its next poll. */
export type SendToNode = (nodeId: string, tasks: SignedTask[]) => boolean;

type Opened = Readonly<{ task: OutgoingTask; payload: string }>;
type Unopened = Readonly<{ task: OutgoingTask; err: unknown }>;
type Signed = Readonly<{ task: OutgoingTask; signed: SignedTask }>;

export type TaskSender = Readonly<{
  /** Finds tasks for new polls, or for all held polls. Writes nothing. */
  find(fresh: readonly JournaledTasks[], everyone: readonly JournaledTasks[] | null): Promise<Found>;
  /** Sends the found tasks to these nodes; new polls also get dispatched tasks that they did not list. */
  send(found: Found, nodes: readonly string[], fresh: readonly JournaledTasks[], send: SendToNode): Promise<void>;
}>;

const TASKS_PER_POLL = 16;
/** Tasks dispatched a moment ago may still be in flight. */
const IN_FLIGHT_S = 1;
/** While these are signed and sent, the database finds the rest of a fleet that is woken at once. */
const NODES_IN_FIRST_PART = 500;
/**
 * Then as many as possible per part. Between parts the marks of earlier parts compete for CPU with polls that still
 * wait; with one large part they run after the last response was sent.
 */
const NODES_PER_PART = 8_000;
/** Parts whose mark is not committed yet; each uses a connection. */
const MARKS_AT_ONCE = 5;

export const createTaskSender = (
  deps: Readonly<{ database: Database; clock: Clock; log: Log; trust: TrustCache; secrets: Secrets }>,
): TaskSender => {
  const { database, clock, log, trust, secrets } = deps;

  /** A value sealed at rest goes only to its host, in a signed task over its own connection. */
  const paramsOf = ({ params, sealed_user_data, allocation_id }: OutgoingTask): OutgoingTask['params'] =>
    sealed_user_data === null || allocation_id === null
      ? params
      : { ...params, user_data: secrets.open(sealed_user_data, SEALED_TO.user_data(allocation_id)) };

  const textOf = (task: OutgoingTask, issuedAt: string): string =>
    JSON.stringify({
      task_id: task.id,
      node_id: task.node_id,
      kind: task.kind as TaskPayload['kind'],
      attempt: task.attempt,
      params: paramsOf(task),
      allocation_id: task.allocation_id,
      correlation_id: task.correlation_id,
      issued_at: issuedAt,
      expires_at: task.expires_at,
    } satisfies TaskPayload);

  /** Each by itself: one that does not open must not keep the others from their hosts. */
  const openTasks = (tasks: readonly OutgoingTask[]): Readonly<{ opened: Opened[]; unopened: Unopened[] }> => {
    const issuedAt = clock.now().toISOString();
    const opened: Opened[] = [];
    const unopened: Unopened[] = [];
    for (const task of tasks)
      try {
        opened.push({ task, payload: textOf(task, issuedAt) });
      } catch (err) {
        // In the clear, of an earlier build: it waits until it is sealed.
        if (!task.sealed_user_data?.subarray(0, PLAIN.length).equals(PLAIN)) unopened.push({ task, err });
      }
    return { opened, unopened };
  };

  /** One signature covers all tasks: one per task would cost more than everything else here. */
  const sign = (tasks: readonly Opened[]): Signed[] => {
    if (tasks.length === 0) return [];
    const { signer } = trust.current();
    const { signed_bytes, proofs } = growTaskTree(tasks.map(({ payload }) => payload));
    const signature = signBytes(signer.key, signed_bytes);
    return tasks.map(({ task, payload }, place) => {
      const signed = { payload, signer_id: signer.id, proof: proofs[place] ?? [], signature };
      return { task, signed };
    });
  };

  /** In a transaction of its own, after the others were marked. One that cannot be ended is found again in the next round. */
  const fail = async ({ task, err }: Unopened): Promise<void> => {
    const { id: task_id, node_id, allocation_id, correlation_id } = task;
    const about = { task_id, node_id, allocation_id, correlation_id };
    try {
      const now = clock.now();
      if (await database.write(PLATFORM, (tx) => failUnsentTask(tx, task_id, REASONS.task_unopened, { now })))
        log.error({ ...about, err }, 'task failed: its user data does not open');
    } catch (failure) {
      log.error({ ...about, err: failure }, 'task whose user data does not open could not be ended');
    }
  };

  /** `onFound` is called before signing, so that the next part can start. */
  const servePart = async (
    queued: readonly string[],
    again: readonly JournaledTasks[],
    send: SendToNode,
    onFound: () => void,
  ): Promise<void> => {
    const toFail = await database.write(PLATFORM, async (tx) => {
      readTasksByName(tx);
      const [lost, locked] = await Promise.all([
        again.length === 0 ? [] : redispatchTasks(tx, again, IN_FLIGHT_S),
        queued.length === 0 ? [] : lockQueuedTasks(tx, queued),
      ]);
      onFound();
      // Lets the queries of the next part leave first.
      await new Promise<void>((resolve) => setImmediate(resolve));
      const isLocked = new Set<OutgoingTask>(locked);
      const toMark: string[] = [];
      // Sign all, then send all: consecutive responses are cheaper.
      const { opened, unopened } = openTasks([...lost, ...locked].toSorted((a, b) => (a.id < b.id ? -1 : 1)));
      const signed = sign(opened);
      for (const [nodeId, mine] of Map.groupBy(signed, ({ task }) => task.node_id)) {
        const tasks = mine.map((one) => one.signed);
        if (!send(nodeId, tasks)) continue;
        for (const { task } of mine) if (isLocked.has(task)) toMark.push(task.id);
      }
      if (toMark.length > 0) await markDispatched(tx, toMark);
      return unopened;
    });
    for (const one of toFail) await fail(one);
  };

  return {
    find: (fresh, everyone) =>
      database.readAtOnce(PLATFORM, async (reader) => {
        const holding = (everyone ?? fresh).flatMap(({ node_id, journaled_task_ids }) =>
          journaled_task_ids.map((task_id) => ({ node_id, task_id })),
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
    send: async (found, nodes, fresh, send) => {
      // A task is never signed with a key that was replaced.
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
        // The failure is reported where `marked` is awaited.
        marked.catch(() => isFound.resolve());
        marking.push(marked);
        await isFound.promise;
        if (marking.length > MARKS_AT_ONCE) await marking.shift();
      }
      await Promise.all(marking);
    },
  };
};
