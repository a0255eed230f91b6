/**
 * Marks a node without recent heartbeats as offline: nothing new is placed on it. Its tasks wait, its claims and
 * running VMs stay, and it is active again with the next heartbeat. Nodes that never had an agent are skipped.
 */
import { randomUUID } from 'node:crypto';
import { insertSystemAudit } from '../db/audit.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { moveNode } from '../db/node.ts';
import { isAgentSeen, listNodesWithWrongState, type MisstatedNode } from '../db/node-agent.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { lockSummary } from '../db/placement.ts';
import { NO_HEARTBEAT, OFFLINE_AFTER_S } from '../domain/heartbeat.ts';
import { nodeChanged } from '../domain/node-event.ts';
import { refreshSummary } from '../placement/summary.ts';
import { eachRow } from './each-row.ts';

export type MarkOfflineDeps = Readonly<{ database: Database }>;

const BATCH_ROWS = 200;

const markOne = (deps: MarkOfflineDeps, id: string, name: string): Promise<boolean> =>
  deps.database.write(PLATFORM, async (tx) => {
    await lockSummary(tx, id);
    const isSeen = await isAgentSeen(tx, id);
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
export const markOffline = (deps: MarkOfflineDeps, signal?: AbortSignal): Promise<number> =>
  eachRow({
    list: (after: MisstatedNode | undefined) =>
      deps.database.read(PLATFORM, (reader) => listNodesWithWrongState(reader, after, BATCH_ROWS)),
    handle: ({ id, name }) => markOne(deps, id, name),
    failed: 'could not be marked',
    signal,
  });
