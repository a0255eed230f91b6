/**
 * Records heartbeats: every poll of an agent is one, and all nodes are written together once a second. A heartbeat
 * activates a node that was enrolling. A changed boot ID requires a new discovery before slices are placed on the host
 * again. A node that enrolled before hosts were bound is bound by its next heartbeat; while it cannot be, it is not seen.
 */
import { randomUUID } from 'node:crypto';
import { CLOCK_SKEW_MAX_MS, type NodeBody } from '@gpuaas/contract/node';
import type { Clock, Log } from '@gpuaas/kit';
import { insertSystemAudit } from '../db/audit.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { moveNode, noteBoot } from '../db/node.ts';
import { type HeartbeatRow, putHeartbeats, type SeenNode } from '../db/node-agent.ts';
import { insertOutboxEvent } from '../db/outbox.ts';
import { lockSummary } from '../db/placement.ts';
import { countSlots } from '../db/slot.ts';
import { insertDiscoveryTask } from '../db/topology.ts';
import type { HostIdentity } from '../domain/host-identity.ts';
import { nodeChanged, nodeRebooted } from '../domain/node-event.ts';
import { AppError } from '../errors.ts';
import { refreshSummary } from '../placement/summary.ts';
import { bindHost } from './host-binding.ts';

export type HeartbeatDeps = Readonly<{ database: Database; clock: Clock; log: Log }>;

export type Heartbeats = Readonly<{
  /**
   * Returns why this agent receives no tasks; null if it does. `unbound`: the host to bind to the node; null if the node
   * has its host.
   */
  record(nodeId: string, heartbeat: NodeBody<'taskWait'>, unbound?: HostIdentity | null): string | null;
  /** Writes the heartbeats received since the last flush. */
  flush(): Promise<void>;
}>;

type Heartbeat = Omit<HeartbeatRow, 'age_ms'> &
  Readonly<{
    /** Of the process, which only runs forward: its clock may be set meanwhile. */
    received_ms: number;
    unbound: HostIdentity | null;
  }>;

/** Agents refuse tasks signed further from their own time; the margin covers transit. */
const SKEW_PAUSED_MS = CLOCK_SKEW_MAX_MS - 10_000;
const FIRST_SEEN = 'The agent is connected.';

const isTime = (text: string): boolean => Date.parse(text) > Date.UTC(1900, 0) && Date.parse(text) < Date.UTC(9000, 0);

export const createHeartbeats = (deps: HeartbeatDeps): Heartbeats => {
  const { database, clock, log } = deps;
  let pending = new Map<string, Heartbeat>();
  /** Nodes whose clock was out of range at the last poll; logged once each. */
  const skewed = new Set<string>();
  /** Nodes that could not be bound to the host they report, with the reason. */
  const unbindable = new Map<string, string>();

  const checkClock = (node_id: string, clock_skew_ms: number): string | null => {
    const isWrong = Math.abs(clock_skew_ms) > SKEW_PAUSED_MS;
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

  const rowOf = ({ received_ms, unbound: _, ...rest }: Heartbeat): HeartbeatRow => ({
    ...rest,
    age_ms: performance.now() - received_ms,
  });

  const applyChanges = async (tx: Tx, node: SeenNode, bootId: string): Promise<void> => {
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
      // Checks from before the boot no longer count. Without a new discovery the host stays unschedulable.
      if ((await countSlots(tx, node_id)) > 0) await insertDiscoveryTask(tx, node_id, correlation_id);
    }
    if (await moveNode(tx, { id: node_id, from: ['enrolling'], to: 'active', reason: FIRST_SEEN })) {
      const event = nodeChanged({ node_id, name, state: 'active', state_reason: FIRST_SEEN }, correlation_id);
      tx.defer(insertOutboxEvent(tx, event));
      audit('node.activate', 'first task poll', {});
    }
    await refreshSummary(tx, node_id);
    tx.wake();
  };

  /** True when the node has its host now. Refused the same way again, it is recorded once. */
  const ensureBound = async (tx: Tx, { node_id }: Heartbeat, host: HostIdentity): Promise<boolean> => {
    const refusal = await bindHost(tx, node_id, host);
    if (refusal === null) {
      unbindable.delete(node_id);
      return true;
    }
    if (unbindable.get(node_id) === refusal.sentence) return false;
    unbindable.set(node_id, refusal.sentence);
    log.warn({ node_id, error_code: 'host_refused' }, 'node cannot be bound to its host; tasks paused');
    tx.defer(
      insertSystemAudit(tx, {
        organization_id: null,
        project_id: null,
        action: 'node.host.refuse',
        target_kind: 'node',
        target_id: node_id,
        policy: refusal.sentence,
        correlation_id: `c-${randomUUID()}`,
        metadata: { reported: host, other_node_id: refusal.owner?.node_id ?? null },
      }),
    );
    return false;
  };

  const applyOne = (one: Heartbeat): Promise<void> =>
    database.write(PLATFORM, async (tx) => {
      await lockSummary(tx, one.node_id);
      if (one.unbound !== null && !(await ensureBound(tx, one, one.unbound))) return;
      const [node] = await putHeartbeats(tx, [rowOf(one)], { with_news: true });
      if (node !== undefined) await applyChanges(tx, node, one.boot_id);
    });

  return {
    record: (nodeId, heartbeat, unbound = null) => {
      const { agent_version, boot_id, booted_at: bootedAt, kinds, clock: hostClock, trust_version } = heartbeat;
      const at_ms = clock.now().getTime();
      const text = agent_version + boot_id + trust_version;
      // One statement writes all nodes: a value that cannot be stored would fail every other node.
      if (text.includes('\0') || !text.isWellFormed() || !isTime(bootedAt) || !isTime(hostClock))
        throw new AppError(
          'invalid_request',
          'The agent version, boot ID, boot time, clock or trust version cannot be stored.',
        );
      const booted_at = new Date(bootedAt).toISOString();
      const clock_skew_ms = Math.round(Date.parse(hostClock) - at_ms);
      const host_time = new Date(hostClock).toISOString();
      const status = { agent_version, boot_id, booted_at, kinds, clock_skew_ms, trust_version, host_time };
      pending.set(nodeId, { node_id: nodeId, received_ms: performance.now(), ...status, unbound });
      if (unbound === null) unbindable.delete(nodeId);
      return checkClock(nodeId, clock_skew_ms) ?? unbindable.get(nodeId) ?? null;
    },
    flush: async () => {
      if (pending.size === 0) return;
      const batch = pending;
      pending = new Map();
      try {
        const usual = [...batch.values()].filter(({ unbound }) => unbound === null).map(rowOf);
        const changed =
          usual.length === 0
            ? []
            : await database.write(PLATFORM, (tx) => putHeartbeats(tx, usual, { with_news: false }));
        const news = new Set(changed.map(({ node_id }) => node_id));
        for (const one of batch.values()) {
          const { node_id } = one;
          if (one.unbound === null && !news.has(node_id)) continue;
          // A failure for one node must not affect the others; its next heartbeat retries.
          await applyOne(one).catch((err: unknown) => log.error({ err, node_id }, 'failed to record heartbeat'));
        }
      } catch (err) {
        for (const [nodeId, one] of batch) if (!pending.has(nodeId)) pending.set(nodeId, one);
        throw err;
      }
    },
  };
};
