/** Metrics of a gateway. Tickets used twice are counted separately: many of them mean that tickets were stolen. */
import type { SessionEndReason, SessionKind } from '@gpuaas/contract/stream';
import { Counter } from 'prom-client';
import type { Telemetry } from './telemetry.ts';

export type GatewayMetrics = Readonly<{
  ticketRejected(reason: 'replayed' | 'expired' | 'unknown' | 'revoked'): void;
  opened(kind: SessionKind): void;
  closed(kind: SessionKind, reason: SessionEndReason): void;
  bytes(direction: 'in' | 'out', bytes: number): void;
}>;

export const createGatewayMetrics = (
  telemetry: Telemetry,
  openSessions: () => number,
  sessionsMax: number,
): GatewayMetrics => {
  const registers = [telemetry.registry];
  telemetry.gauge('gpuaas_terminal_sessions_max', 'Sessions that this process accepts.', [], async () => [
    { labels: {}, value: sessionsMax },
  ]);
  telemetry.gauge('gpuaas_terminal_sessions_open', 'Sessions of this process.', [], async () => [
    { labels: {}, value: openSessions() },
  ]);
  const rejected = new Counter({
    name: 'gpuaas_terminal_ticket_rejected_total',
    help: 'Refused tickets.',
    labelNames: ['reason'],
    registers,
  });
  const opened = new Counter({
    name: 'gpuaas_terminal_sessions_opened_total',
    help: 'Accepted sessions.',
    labelNames: ['kind'],
    registers,
  });
  const closed = new Counter({
    name: 'gpuaas_terminal_sessions_closed_total',
    help: 'Ended sessions.',
    labelNames: ['kind', 'reason'],
    registers,
  });
  const bytes = new Counter({
    name: 'gpuaas_terminal_bytes_total',
    help: 'Bytes of sessions, received from and sent to clients.',
    labelNames: ['direction'],
    registers,
  });
  // A rate over a series that begins with its first event misses that event.
  for (const reason of ['replayed', 'expired', 'unknown', 'revoked']) rejected.inc({ reason }, 0);
  const byDirection = { in: bytes.labels('in'), out: bytes.labels('out') };
  return {
    ticketRejected: (reason) => rejected.inc({ reason }),
    opened: (kind) => opened.inc({ kind }),
    closed: (kind, reason) => closed.inc({ kind, reason }),
    bytes: (direction, count) => byDirection[direction].inc(count),
  };
};
