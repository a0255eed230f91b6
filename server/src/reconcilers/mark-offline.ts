/**
 * Marks a node without recent heartbeats as offline: nothing new is placed on it. Its tasks wait, its claims and
 * running VMs stay, and it is active again with the next heartbeat. Nodes that never had an agent are skipped.
 *
 * Many silent at once are likelier one failure of the control plane or a network than that many hosts. Without any
 * heartbeat the node API is away: no node is moved. Too many of them trip the circuit breaker, as too many unhealthy
 * hosts do, and no node is moved until they return or an operator resets it.
 */
import { randomUUID } from 'node:crypto';
import { insertSystemAudit } from '../db/audit.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { isClockTrusted } from '../db/clock-guard.ts';
import { lockBreaker, tripBreaker } from '../db/health-report.ts';
import { moveNode } from '../db/node.ts';
import { countUnseenNodes, isAgentSeen, listNodesWithWrongState, type MisstatedNode } from '../db/node-agent.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { lockSummary } from '../db/placement.ts';
import { BREAKER_WINDOW_MIN, tripsBreaker } from '../domain/health.ts';
import { NO_HEARTBEAT, OFFLINE_AFTER_S } from '../domain/heartbeat.ts';
import { nodeChanged } from '../domain/node-event.ts';
import { refreshSummary } from '../placement/summary.ts';
import { eachRow } from './each-row.ts';

export type MarkOfflineDeps = Readonly<{ database: Database }>;

const BATCH_ROWS = 200;

/** Whether silent nodes may be moved now; trips the breaker when they are too many. */
const mayMoveOffline = (deps: MarkOfflineDeps): Promise<boolean> =>
  deps.database.write(PLATFORM, async (tx) => {
    if (!(await isClockTrusted(tx))) return false;
    const { unseen, fallen, seen, nodes } = await countUnseenNodes(tx, BREAKER_WINDOW_MIN);
    // A site of one host cannot distinguish the two.
    if (unseen === 0 || (seen === 0 && nodes > 1)) return false;
    const breaker = await lockBreaker(tx);
    if (breaker?.is_tripped === true) return false;
    if (!tripsBreaker(fallen, nodes)) return true;
    await tripBreaker(tx, `${fallen} of ${nodes} hosts sent no heartbeat for ${OFFLINE_AFTER_S} seconds.`);
    return false;
  });

const markOne = (deps: MarkOfflineDeps, id: string, name: string): Promise<boolean> =>
  deps.database.write(PLATFORM, async (tx) => {
    await lockSummary(tx, id);
    const isSeen = await isAgentSeen(tx, id);
    if (!isSeen && !(await isClockTrusted(tx))) return false;
    const move = isSeen
      ? ({ from: ['offline'], to: 'active', reason: 'The agent reconnected.' } as const)
      : ({
          from: ['active'],
          to: 'offline',
          reason: NO_HEARTBEAT,
        } as const);
    if (!(await moveNode(tx, { id, ...move }))) return false;
    await refreshSummary(tx, id);
    const correlation_id = `c-${randomUUID()}`;
    const data = { node_id: id, name, state: move.to, state_reason: move.reason };
    tx.defer(insertOutboxEvent(tx, nodeChanged(data, correlation_id)));
    tx.defer(
      insertSystemAudit(tx, {
        organization_id: null,
        project_id: null,
        action: isSeen ? 'node.online' : 'node.offline',
        target_kind: 'node',
        target_id: id,
        policy: `heartbeat within ${OFFLINE_AFTER_S} seconds`,
        correlation_id,
        metadata: { name },
      }),
    );
    tx.wake();
    return true;
  });

/** Returns how many nodes moved. Throws after the last one if any failed. */
export const markOffline = async (deps: MarkOfflineDeps, signal?: AbortSignal): Promise<number> => {
  const withSilent = await mayMoveOffline(deps);
  return eachRow({
    list: (after: MisstatedNode | undefined) =>
      deps.database.read(PLATFORM, (reader) => listNodesWithWrongState(reader, after, BATCH_ROWS, withSilent)),
    handle: ({ id, name }) => markOne(deps, id, name),
    failed: 'could not be marked',
    signal,
  });
};
