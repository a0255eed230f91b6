/** The sessions of this replica by ID: clients are connected here, and agents find their session here. */
import type { SessionEndReason } from '@gpuaas/contract/stream';
import type { Log } from '@gpuaas/kit';
import type { WebSocket } from 'ws';
import type { Ending, GatewaySessionRow, GatewaySessions, SessionEnd } from '../sessions/gateway-session.ts';
import type { GatewayMetrics } from '../telemetry/gateway-metrics.ts';
import { createSession, type Session } from './session.ts';

export type Registry = Readonly<{
  size(): number;
  find(id: string): Session | undefined;
  all(): readonly Session[];
  add(client: WebSocket, row: GatewaySessionRow, userAgent: string): void;
  /** A ticket was redeemed, and its client disconnected before it was connected. */
  abandon(row: GatewaySessionRow, userAgent: string): void;
  /** Retries failed writes. */
  catchUp(): Promise<void>;
  endAll(end: SessionEnd): void;
  /** Resolves when the rows of ended sessions are closed, or that failed. */
  settled(): Promise<void>;
}>;

export const createRegistry = (
  options: Readonly<{
    sessions: GatewaySessions;
    metrics: GatewayMetrics;
    nowMs: () => number;
    log: Log;
  }>,
): Registry => {
  const { sessions, metrics, log } = options;
  const live = new Map<string, Session>();
  const settling = new Set<Promise<void>>();
  /** Changes not yet in the database. */
  const unopened = new Set<string>();
  const unclosed = new Map<string, Ending>();

  const settle = (work: Promise<void>): void => {
    settling.add(work);
    void work.finally(() => settling.delete(work));
  };

  const close = async (ending: Ending): Promise<void> => {
    unclosed.set(ending.id, ending);
    try {
      await sessions.close(ending);
      unclosed.delete(ending.id);
    } catch (err) {
      log.warn({ err, session_id: ending.id }, 'failed to record session end; retrying');
    }
  };

  const open = async (id: string): Promise<void> => {
    unopened.add(id);
    try {
      await sessions.opened([id]);
      unopened.delete(id);
    } catch (err) {
      log.warn({ err, session_id: id }, 'failed to record session start; retrying');
    }
  };

  const end = (row: GatewaySessionRow, reason: SessionEndReason, ending: Ending): void => {
    metrics.closed(row.kind, reason);
    log.info(
      {
        session_id: row.id,
        allocation_id: row.allocation_id,
        kind: row.kind,
        reason,
        bytes_in: ending.bytes_in,
        bytes_out: ending.bytes_out,
        correlation_id: row.correlation_id,
      },
      'session closed',
    );
  };

  return {
    size: () => live.size,
    find: (id) => live.get(id),
    all: () => [...live.values()],
    add: (client, row, userAgent) => {
      metrics.opened(row.kind);
      const session = createSession({
        row,
        client,
        user_agent: userAgent,
        nowMs: options.nowMs,
        log,
        keepPart: (part, content) =>
          sessions.keepPart({ session_id: row.id, organization_id: row.organization_id, part, content }),
        onReady: () => settle(open(row.id)),
        endReason: (look) => sessions.endReason(look),
        onBytes: (direction, bytes) => metrics.bytes(direction, bytes),
        onEnd: (ending, recorded) => {
          live.delete(row.id);
          unopened.delete(row.id);
          end(row, ending.reason, ending);
          settle(Promise.all([recorded, close(ending)]).then(() => {}));
        },
      });
      live.set(row.id, session);
    },
    abandon: (row, userAgent) => {
      const message = 'The client disconnected.';
      const ending = {
        id: row.id,
        reason: 'client_disconnected',
        message,
        bytes_in: 0,
        bytes_out: 0,
        user_agent: userAgent,
      } as const;
      end(row, ending.reason, ending);
      settle(close(ending));
    },
    catchUp: async () => {
      for (const ending of [...unclosed.values()]) {
        await sessions.close(ending);
        unclosed.delete(ending.id);
      }
      if (unopened.size === 0) return;
      const ids = [...unopened];
      await sessions.opened(ids);
      for (const id of ids) unopened.delete(id);
    },
    endAll: (end) => {
      for (const session of [...live.values()]) session.end(end);
    },
    settled: async () => {
      await Promise.all(settling);
    },
  };
};
