/**
 * The sessions of an agent. A task only starts a session, which ends with its target, its leg, its time limit or the
 * agent. Only the fact that a session key was installed is stored, so that a restarted agent can remove it.
 */
import type { Log } from '@gpuaas/kit';
import type { WebSocket } from 'ws';
import { restoreTenantKeys, staleKeySets } from '../authorized-keys.ts';
import { type Host, HostError } from '../host/host.ts';
import type { TaskHandler } from '../tasks/task.ts';
import { carry } from './carry.ts';
import type { OpenGateway } from './gateway.ts';
import { createLeg, type Leg } from './leg.ts';
import { type Opening, openTarget, type SessionParams, undoOf } from './open.ts';
import { findReach, Refusal } from './reach.ts';

export const SESSIONS_MAX = 512;
/** A tenant with many sessions must not block those of other tenants: this many are guaranteed to each. */
const shareOf = (max: number): number => Math.max(1, Math.floor(max / 8));
const MESSAGE_MAX = 500;
/** The maximum of a timer. */
const TIMER_MS_MAX = 2 ** 31 - 1;
const REPAIR_MS = 60_000;
const REPAIR_EACH_MS = 20_000;
const STOP_MS = 5_000;

export type Streams = Readonly<{
  handler: TaskHandler<'stream.open'>;
  /** The number of open sessions. */
  count(): number;
  /** Installs the set without session keys where an earlier agent could not. */
  repair(): Promise<void>;
  /** Ends all of them, and waits briefly until their keys are removed. */
  close(): Promise<void>;
}>;

export const createStreams = (
  given: Readonly<{
    host: Host;
    state: string;
    log: Log;
    now: () => Date;
    openGateway: OpenGateway;
    sessions_max?: number;
  }>,
): Streams => {
  const { host, state, now } = given;
  const place = { host, state };
  const host_keys = new Map<string, string>();
  const sessions = new Map<string, Readonly<{ leg: Leg; allocation_id: string }>>();
  const ending = new Set<Promise<void>>();
  let isClosed = false;
  let repairTimer: NodeJS.Timeout | undefined;

  const repairLater = (): void => {
    if (isClosed || repairTimer !== undefined) return;
    repairTimer = setTimeout(() => {
      repairTimer = undefined;
      void repair();
    }, REPAIR_MS).unref();
  };
  const repair = async (): Promise<void> => {
    try {
      for (const set of await staleKeySets(state)) {
        if (isClosed) return;
        try {
          await findReach(place, set);
          await restoreTenantKeys(place, set.allocation_id, AbortSignal.timeout(REPAIR_EACH_MS));
        } catch (err) {
          given.log.debug({ err, allocation_id: set.allocation_id }, 'session keys are not removed yet');
          repairLater();
        }
      }
    } catch (err) {
      given.log.warn({ err }, 'failed to read tenant keys');
    }
  };

  const removeKey = (undo: () => Promise<void>, log: Log): void => {
    const work = undo().catch((err: unknown) => {
      log.warn({ err }, 'failed to remove a session key; retrying');
      repairLater();
    });
    ending.add(work);
    void work.then(() => ending.delete(work));
  };

  const isFull = (allocationId: string): boolean => {
    const max = given.sessions_max ?? SESSIONS_MAX;
    if (sessions.size <= max) return false;
    const own = [...sessions.values()].filter((one) => one.allocation_id === allocationId);
    return own.length > shareOf(max);
  };

  const serve = async (opening: Opening, leg: Leg, params: SessionParams, log: Log): Promise<void> => {
    const over = new AbortController();
    void leg.closed.then(() => over.abort());
    try {
      if (isFull(params.allocation_id)) {
        leg.sendMessage({ type: 'failed', message: 'The host has too many open sessions. End one, then retry.' });
        return;
      }
      const { target, undo } = await openTarget(opening, params, over.signal);
      try {
        if (over.signal.aborted) target.close();
        else await carry(leg, target, params);
      } finally {
        target.close();
        removeKey(undo, log);
      }
    } catch (err) {
      const undo = undoOf(err);
      if (undo !== undefined) removeKey(undo, log);
      // Other errors may contain details that tenants must not see; they go only to the log.
      const message = err instanceof Refusal ? err.message : 'The session could not be opened. Try again in a moment.';
      log.info({ err }, 'failed to connect a session to its target');
      leg.sendMessage({ type: 'failed', message: message.slice(0, MESSAGE_MAX) });
    } finally {
      leg.close();
    }
  };

  const begin = (opening: Opening, socket: WebSocket, params: SessionParams): void => {
    const { session_id, allocation_id, kind } = params;
    const log = given.log.child({ session_id, allocation_id, session_kind: kind });
    const leg = createLeg(socket);
    sessions.set(session_id, { leg, allocation_id });
    const left = Date.parse(params.session_expires_at) - now().getTime();
    const timer = setTimeout(leg.close, Math.min(Math.max(left, 0), TIMER_MS_MAX)).unref();
    log.info('session started');
    const work = serve(opening, leg, params, log)
      .catch((err: unknown) => log.error({ err }, 'session failed'))
      .then(() => leg.closed)
      .then(() => {
        clearTimeout(timer);
        sessions.delete(session_id);
        log.info(leg.counts(), 'session ended');
      });
    ending.add(work);
    void work.then(() => ending.delete(work));
  };

  return {
    count: () => sessions.size,
    repair,
    handler: async (ctx, params) => {
      const { access } = host;
      if (access === undefined) throw new HostError('unsupported', 'This host lets no tenant in.');
      const { session_id } = params;
      if (sessions.has(session_id)) return { session_id };
      if (Date.parse(params.session_expires_at) <= now().getTime())
        throw new HostError('conflict', 'The session has ended.');
      const socket = await given.openGateway(params.gateway_url, session_id, ctx.signal);
      if (isClosed || ctx.signal.aborted) {
        socket.terminate();
        throw new HostError('conflict', 'The agent stops.');
      }
      begin({ ...place, access, host_keys }, socket, params);
      return { session_id };
    },
    close: async () => {
      isClosed = true;
      clearTimeout(repairTimer);
      for (const { leg } of sessions.values()) leg.close();
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, STOP_MS);
      while (ending.size > 0) {
        const isDone = await Promise.race([Promise.all(ending).then(() => true), late.promise.then(() => false)]);
        if (!isDone) break;
      }
      clearTimeout(timer);
    },
  };
};
