/**
 * Which agents are there. Every question for work is a sign of life; what it says is written down once a second for all
 * nodes together. Two things follow from a sighting: a node that was enrolled begins its work, and a host that booted
 * must prove its runtime again before slices are placed on it.
 */
import { randomUUID } from 'node:crypto';
import type { NodeBody } from '@gpuaas/contract/node';
import type { Clock, Log } from '@gpuaas/kit';
import { insertSystemAudit } from '../db/audit.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { moveNode } from '../db/node.ts';
import { noteBoot, putSightings, type SeenNode, type Sighting } from '../db/node-agent.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { lockSummary } from '../db/placement.ts';
import { countSlots } from '../db/slot.ts';
import { insertDiscoveryTask } from '../db/topology.ts';
import { nodeChanged, nodeRebooted } from '../domain/node-event.ts';
import { AppError } from '../errors.ts';
import { refreshSummary } from '../placement/summary.ts';

export type PresenceDeps = Readonly<{ database: Database; clock: Clock; log: Log; wake: () => void }>;

export type Presence = Readonly<{
  /** Why this agent is handed no work as it stands; null where it is. */
  see(nodeId: string, standing: NodeBody<'taskWait'>): string | null;
  /** Writes down who was seen since. */
  flush(): Promise<void>;
}>;

type Seen = Omit<Sighting, 'age_ms'> & Readonly<{ at_ms: number }>;

/** Agents refuse what was signed two minutes from their time; an answer takes a moment on its way. */
const CLOCK_SKEW_MAX_MS = 110_000;
const FIRST_SEEN = 'The agent is connected.';

const isTime = (text: string): boolean => Date.parse(text) > Date.UTC(1900, 0) && Date.parse(text) < Date.UTC(9000, 0);

export const createHeartbeats = (deps: PresenceDeps): Presence => {
  const { database, clock, log } = deps;
  let seen = new Map<string, Seen>();
  /** Nodes whose clock was wrong when they last asked; each is told of once. */
  const skewed = new Set<string>();

  const judgeClock = (node_id: string, clock_skew_ms: number): string | null => {
    const isWrong = Math.abs(clock_skew_ms) > CLOCK_SKEW_MAX_MS;
    if (isWrong !== skewed.has(node_id)) {
      const about = { node_id, clock_skew_ms };
      if (isWrong) log.warn({ ...about, error_code: 'clock_skew' }, 'host clock out of range; tasks paused');
      else log.info(about, 'host clock in range again');
    }
    if (!isWrong) skewed.delete(node_id);
    else skewed.add(node_id);
    if (!isWrong) return null;
    const seconds = Math.round(Math.abs(clock_skew_ms) / 1000);
    return `The clock of this host is ${seconds} s ${clock_skew_ms > 0 ? 'ahead' : 'behind'}. Its tasks wait until the clock is corrected.`;
  };

  const sightingOf = ({ at_ms, ...rest }: Seen): Sighting => ({
    ...rest,
    age_ms: Math.max(0, clock.now().getTime() - at_ms),
  });

  const follow = async (tx: Tx, node: SeenNode, bootId: string): Promise<void> => {
    const { node_id, name } = node;
    const correlation_id = `c-${randomUUID()}`;
    const audit = (action: string, policy: string, metadata: Readonly<Record<string, unknown>>) =>
      tx.defer(
        insertSystemAudit(tx, {
          organization_id: null,
          project_id: null,
          action,
          target_kind: 'node',
          target_id: node_id,
          policy,
          correlation_id,
          metadata,
        }),
      );
    if (node.is_rebooted) await noteBoot(tx, node_id);
    if (node.is_rebooted && node.is_known) {
      tx.defer(insertOutboxEvent(tx, nodeRebooted({ node_id, name }, correlation_id)));
      audit('node.reboot', 'host boot ID changed', { boot_id: bootId });
      // What was checked before the boot counts no more; without a new look the host would stay out of sale.
      if ((await countSlots(tx, node_id)) > 0) await insertDiscoveryTask(tx, node_id, correlation_id);
    }
    if (await moveNode(tx, { id: node_id, from: ['enrolling'], to: 'active', reason: FIRST_SEEN })) {
      const event = nodeChanged({ node_id, name, state: 'active', state_reason: FIRST_SEEN }, correlation_id);
      tx.defer(insertOutboxEvent(tx, event));
      audit('node.activate', 'first task poll', {});
    }
    await refreshSummary(tx, node_id);
    tx.afterCommit(deps.wake);
  };

  const act = (one: Seen): Promise<void> =>
    database.write(PLATFORM, async (tx) => {
      await lockSummary(tx, one.node_id);
      const [node] = await putSightings(tx, [sightingOf(one)], { with_news: true });
      if (node !== undefined) await follow(tx, node, one.boot_id);
    });

  return {
    see: (nodeId, { agent_version, boot_id, booted_at: bootedAt, kinds, clock: hostClock, trust_version }) => {
      const at_ms = clock.now().getTime();
      const words = agent_version + boot_id + trust_version;
      // All nodes are written in one statement: what cannot be stored of one would keep every other unseen.
      if (words.includes('\0') || !words.isWellFormed() || !isTime(bootedAt) || !isTime(hostClock))
        throw new AppError(
          'invalid_request',
          'The agent version, boot ID, boot time, clock or trust version cannot be stored.',
        );
      const booted_at = new Date(bootedAt).toISOString();
      const clock_skew_ms = Math.round(Date.parse(hostClock) - at_ms);
      const said = { agent_version, boot_id, booted_at, kinds, clock_skew_ms, trust_version };
      seen.set(nodeId, { node_id: nodeId, at_ms, ...said });
      return judgeClock(nodeId, clock_skew_ms);
    },
    flush: async () => {
      if (seen.size === 0) return;
      const batch = seen;
      seen = new Map();
      try {
        const sightings = [...batch.values()].map(sightingOf);
        const news = await database.write(PLATFORM, (tx) => putSightings(tx, sightings, { with_news: false }));
        for (const { node_id } of news) {
          const one = batch.get(node_id);
          if (one === undefined) continue;
          // One node's trouble is not the others'; it will be seen again.
          await act(one).catch((err: unknown) => log.error({ err, node_id }, 'failed to record heartbeat'));
        }
      } catch (err) {
        for (const [nodeId, one] of batch) if (!seen.has(nodeId)) seen.set(nodeId, one);
        throw err;
      }
    },
  };
};
