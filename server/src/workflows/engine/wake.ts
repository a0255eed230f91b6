/**
 * Tells workers in all processes that there may be work. A notification inside the business transaction would make
 * every commit take one global lock, so it is sent after the commit, at most once per few milliseconds and process.
 * A lost one costs latency up to the polling interval and nothing else.
 */
import { backoffMs, type Log, pause } from '@gpuaas/kit';
import type { PoolClient } from 'pg';
import type { Database } from '../../db/client.ts';
import { createEventHub, type EventHub } from '../../ports/events/hub.ts';

const CHANNEL = 'gpuaas_workflow';
const DEBOUNCE_MS = 10;

export type RunWake = Readonly<{
  /** For the workers of this process. */
  hub: EventHub;
  /** Hand this to startRun and its siblings. */
  wake(): void;
  /** Hears the other processes, reconnecting as needed. */
  listen(): void;
  stop(): Promise<void>;
}>;

export const createRunWake = (options: Readonly<{ database: Database; log: Log }>): RunWake => {
  const { database, log } = options;
  const hub = createEventHub();
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | undefined;
  let listening: Promise<void> | undefined;

  const send = async (): Promise<void> => {
    let client: PoolClient | undefined;
    try {
      client = await database.connect();
      await client.query(`notify ${CHANNEL}`);
    } catch (err) {
      log.debug({ err }, 'workflow notification not sent');
    } finally {
      client?.release();
    }
  };

  const listenOnce = async (): Promise<void> => {
    const client = await database.connect();
    const ended = new Promise<Error | undefined>((resolve) => {
      client.once('error', resolve);
      client.once('end', () => resolve(undefined));
      stopping.signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    try {
      client.on('notification', () => hub.wake());
      await client.query(`listen ${CHANNEL}`);
      // What was announced while nobody listened is found by looking once.
      hub.wake();
      await ended;
    } finally {
      // A connection that listens is not one to give back to the pool.
      client.release(true);
    }
  };

  const listenOn = async (): Promise<void> => {
    for (let attempt = 1; !stopping.signal.aborted; attempt++) {
      await listenOnce().catch((err: unknown) => log.debug({ err }, 'workflow notifications interrupted'));
      await pause(backoffMs(attempt, { baseMs: 200, capMs: 5_000 }), stopping.signal);
    }
  };

  return {
    hub,
    wake: () => {
      hub.wake();
      if (stopping.signal.aborted) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        sending = send();
      }, DEBOUNCE_MS);
    },
    listen: () => {
      listening ??= listenOn();
    },
    stop: async () => {
      stopping.abort();
      clearTimeout(timer);
      await Promise.all([sending, listening]);
    },
  };
};
