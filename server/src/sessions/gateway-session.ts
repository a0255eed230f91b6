/**
 * The session rows of the gateway. Each change of a row and its audit row are one transaction; the row of an opened
 * session is durable before the client is connected, so every connection leaves a trace.
 */
import type { TaskParams } from '@gpuaas/contract/node';
import type { Log } from '@gpuaas/kit';
import { type AuditRow, insertAuditLog, systemAudit } from '../db/audit.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import {
  findTicketRefusal,
  listSessionAccess,
  type SessionAccessRow,
  type TicketRefusal,
} from '../db/gateway-session.ts';
import { listGoodEnrollments } from '../db/node-certificate.ts';
import { cancelStreamTask, insertTask } from '../db/node-task.ts';
import { insertRecordingPart } from '../db/terminal-recording.ts';
import {
  type ClosedSessionRow,
  closeAbandonedSessions,
  type GatewaySessionRow,
  moveSessionClosed,
  moveSessionOpen,
  noteSessions,
  putSessionTask,
  type SessionCount,
  type SessionEnd,
  takeTicket,
} from '../db/terminal-session.ts';
import { usernameOf } from '../domain/host-name.ts';
import { SEALED_TO } from '../domain/sealed.ts';
import type { Secrets } from '../ports/secrets/secrets.ts';
import { disconnectReason, endOf, LOST, permissionOf, roleOfSession, type SessionActivity } from './session-access.ts';

export type { GatewaySessionRow, SessionActivity, SessionCount, SessionEnd, TicketRefusal };

export type TicketShown = Readonly<{
  ticket_hash: Buffer;
  source_ip: string;
  user_agent: string;
}>;

export type RedeemedTicket =
  | Readonly<{ session: GatewaySessionRow }>
  | Readonly<{ refusal: TicketRefusal }>
  /** The ticket was valid, its permission no longer is. */
  | Readonly<{ end: SessionEnd }>;

export type Ending = SessionEnd & Readonly<{ id: string; bytes_in: number; bytes_out: number; user_agent: string }>;

export type GatewaySessions = Readonly<{
  redeem(shown: TicketShown): Promise<RedeemedTicket>;
  opened(ids: readonly string[]): Promise<void>;
  /** Closes the row if it is open; repeating it has no effect. */
  close(ending: Ending): Promise<void>;
  note(counts: readonly SessionCount[]): Promise<void>;
  /** Which of them must end, and why. */
  judge(looks: readonly SessionActivity[]): Promise<ReadonlyMap<string, SessionEnd>>;
  /** Its VM or its host disconnected: the reason, where the control plane's own action explains it. */
  endReason(look: SessionActivity): Promise<SessionEnd | null>;
  /** Closes the sessions of replicas that no longer run; returns how many. */
  closeAbandoned(): Promise<number>;
  /** Those of the named host enrollments that are still valid. */
  goodEnrollments(ids: readonly string[], caIds: ReadonlySet<string>): Promise<ReadonlySet<string>>;
  keepPart(
    part: Readonly<{ session_id: string; organization_id: string; part: number; content: Buffer }>,
  ): Promise<void>;
}>;

/** How long an agent may take to connect. Its task expires later, so that the gateway can answer a late one. */
export const ABANDONED_AFTER_S = 15;
const ABANDONED_BATCH = 500;

/** Ends caused by the client or the VM; the others are the control plane's. */
const BY_THE_PRINCIPAL: ReadonlySet<string> = new Set(['ended', 'client_disconnected', 'protocol_error']);

const streamTask = (session: GatewaySessionRow, gatewayUrl: string): TaskParams<'stream.open'> => ({
  allocation_id: session.allocation_id,
  session_id: session.id,
  kind: session.kind,
  gateway_url: gatewayUrl,
  username: session.capacity_shape === 'baremetal' ? usernameOf(session.allocation_id) : null,
  port: session.port,
  cols: session.cols,
  rows: session.rows,
  is_writable: session.is_writable,
  session_expires_at: session.expires_at,
});

const factsOf = (session: GatewaySessionRow) => ({
  kind: session.kind,
  ...(session.port === null ? {} : { port: session.port }),
  allocation_id: session.allocation_id,
  principal_id: session.principal_id,
  is_writable: session.is_writable,
  is_recorded: session.is_recorded,
});

const aboutSession = (session: GatewaySessionRow) => ({
  organization_id: session.organization_id,
  project_id: session.project_id,
  target_kind: 'terminal_session',
  target_id: session.id,
  correlation_id: session.correlation_id,
});

const auditOpen = (session: GatewaySessionRow, access: SessionAccessRow, userAgent: string): AuditRow => {
  const role = roleOfSession(access) ?? null;
  return {
    ...aboutSession(session),
    actor_kind: session.principal_kind,
    actor_id: session.principal_id,
    actor_role: role,
    source_ip: session.source_ip,
    user_agent: userAgent,
    action: 'allocation.session.open',
    result: 'success',
    error_code: null,
    policy: `${role} holds ${permissionOf(session)}`,
    metadata: factsOf(session),
  };
};

const auditClose = (session: ClosedSessionRow, end: SessionEnd, userAgent: string | null): AuditRow => {
  const row = systemAudit({
    ...aboutSession(session),
    action: 'allocation.session.close',
    policy: end.message,
    metadata: {
      ...factsOf(session),
      reason: end.reason,
      bytes_in: session.bytes_in,
      bytes_out: session.bytes_out,
      was_reached: session.opened_at !== null,
      ...(session.close_requested_by === null ? {} : { ended_by: session.close_requested_by }),
    },
  });
  if (session.close_requested_by !== null || !BY_THE_PRINCIPAL.has(end.reason)) return row;
  return {
    ...row,
    actor_kind: session.principal_kind,
    actor_id: session.principal_id,
    source_ip: session.source_ip,
    user_agent: userAgent,
  };
};

export const createGatewaySessions = (
  deps: Readonly<{ database: Database; secrets: Secrets; log: Log; gateway_url: () => string }>,
): GatewaySessions => {
  const { database, secrets, log } = deps;

  const closeIn = async (tx: Tx, ending: Ending): Promise<void> => {
    const closed = await moveSessionClosed(tx, ending.id, ending);
    if (closed === undefined) return;
    await cancelStreamTask(tx, ending.id);
    await insertAuditLog(tx, auditClose(closed, ending, ending.user_agent));
  };

  return {
    redeem: ({ ticket_hash, source_ip, user_agent }) =>
      database.write(PLATFORM, async (tx): Promise<RedeemedTicket> => {
        const session = await takeTicket(tx, { ticket_hash, gateway_url: deps.gateway_url(), source_ip });
        if (session === undefined) return { refusal: await findTicketRefusal(tx, ticket_hash) };
        const [access] = await listSessionAccess(tx, [session.id]);
        if (access === undefined) return { refusal: 'unknown' };
        const end = endOf(access, null);
        if (end !== null) {
          await closeIn(tx, { ...end, id: session.id, bytes_in: 0, bytes_out: 0, user_agent });
          return { end };
        }
        await insertAuditLog(tx, auditOpen(session, access, user_agent));
        // It names no allocation, so that it waits behind no other work of the allocation.
        const task = await insertTask(tx, {
          node_id: session.node_id,
          kind: 'stream.open',
          params: streamTask(session, deps.gateway_url()),
          correlation_id: session.correlation_id,
        });
        tx.defer(putSessionTask(tx, session.id, task.id));
        tx.wake();
        return { session };
      }),
    opened: (ids) => database.write(PLATFORM, (tx) => moveSessionOpen(tx, ids)),
    close: (ending) => database.write(PLATFORM, (tx) => closeIn(tx, ending)),
    note: (counts) => database.write(PLATFORM, (tx) => noteSessions(tx, counts)),
    judge: async (looks) => {
      const rows = await database.read(PLATFORM, (reader) =>
        listSessionAccess(
          reader,
          looks.map((look) => look.id),
        ),
      );
      const byId = new Map(rows.map((row) => [row.id, row]));
      const ends = new Map<string, SessionEnd>();
      for (const look of looks) {
        const row = byId.get(look.id);
        const end = row === undefined ? LOST : endOf(row, look);
        if (end === null) continue;
        ends.set(look.id, end);
        // The host's own text is for operators: it may name details that a tenant must not see.
        if (end.reason === 'unreachable')
          log.info(
            { session_id: look.id, task_state: row?.task_state, reason: row?.task_reason },
            'agent did not connect',
          );
      }
      return ends;
    },
    endReason: async (look) => {
      const [row] = await database.read(PLATFORM, (reader) => listSessionAccess(reader, [look.id]));
      return row === undefined ? null : disconnectReason(row, look);
    },
    closeAbandoned: () =>
      database.write(PLATFORM, async (tx) => {
        const end: SessionEnd = {
          reason: 'gateway_stopped',
          message: 'The gateway of this session stopped. Open a new session.',
        };
        const closed = await closeAbandonedSessions(tx, {
          ...end,
          unseen_s: ABANDONED_AFTER_S,
          limit: ABANDONED_BATCH,
        });
        for (const session of closed) {
          await cancelStreamTask(tx, session.id);
          await insertAuditLog(tx, auditClose(session, end, null));
        }
        return closed.length;
      }),
    goodEnrollments: async (ids, caIds) =>
      new Set(await database.read(PLATFORM, (reader) => listGoodEnrollments(reader, ids, [...caIds]))),
    keepPart: ({ content, ...part }) => {
      const sealed_content = secrets.seal(content, SEALED_TO.recording(part.session_id, part.part));
      return database.write(PLATFORM, (tx) => insertRecordingPart(tx, { ...part, sealed_content }));
    },
  };
};
