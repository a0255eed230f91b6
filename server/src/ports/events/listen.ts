/**
 * Receives notifications of other processes on its own connection and wakes this process. After a reconnect every
 * listener is woken once, since a notification may have been missed. A connection that only listens sends nothing and
 * would not notice that the network is silent, so it asks for a response every few seconds.
 */
import { backoffMs, type Log, type LoopWatch, pause } from '@gpuaas/kit';
import type { PoolClient } from 'pg';
import type { EventHub } from './hub.ts';
import { CHANNEL } from './waker.ts';

type Connector = Readonly<{ connect(): Promise<PoolClient> }>;

export type Listener = Readonly<{
  /** Resolves once the first connection listens. */
  ready: Promise<void>;
  stop(): Promise<void>;
}>;

const HEARTBEAT_MS = 5_000;
const RETRY = { baseMs: 100, capMs: 5_000 };

type Turn = <T>(fn: () => Promise<T>) => Promise<T>;

/**
 * Until the connection is lost (throws) or the signal is aborted (returns). Each wait for the server is a turn; the rest
 * between heartbeats is not, or a listener without news would look stalled.
 */
const listen = async (
  client: PoolClient,
  { hub, signal, heartbeat_ms }: Readonly<{ hub: EventHub; signal: AbortSignal; heartbeat_ms: number }>,
  turn: Turn,
  onReady: () => void,
): Promise<void> => {
  const lost = Promise.withResolvers<void>();
  lost.promise.catch(() => {});
  const onError = (err: Error) => lost.reject(err);
  const onEnd = () => lost.reject(new Error('the connection ended'));
  const onAbort = () => lost.resolve();
  client.on('error', onError);
  client.on('end', onEnd);
  client.on('notification', hub.wake);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await turn(() => client.query(`listen ${CHANNEL}`));
    hub.wake();
    onReady();
    while (!signal.aborted) {
      const rest = new AbortController();
      await Promise.race([lost.promise, pause(heartbeat_ms, rest.signal)]).finally(() => rest.abort());
      if (!signal.aborted) await turn(() => client.query('select 1'));
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    client.off('notification', hub.wake);
    client.off('end', onEnd);
    // A listening connection is never returned to the pool.
    client.release(true);
    client.off('error', onError);
    client.on('error', () => {});
  }
};

export type ListenOptions = Readonly<{
  database: Connector;
  hub: EventHub;
  log: Log;
  signal: AbortSignal;
  loops?: LoopWatch;
  heartbeat_ms?: number;
}>;

export const startListening = (options: ListenOptions): Listener => {
  const { database, hub, log, heartbeat_ms = HEARTBEAT_MS } = options;
  const own = new AbortController();
  const signal = AbortSignal.any([options.signal, own.signal]);
  const ready = Promise.withResolvers<void>();
  const watch = options.loops?.add('event-notifications', Math.max(heartbeat_ms, RETRY.capMs));
  const turn: Turn = (fn) => (watch === undefined ? fn() : watch.turn(fn));

  const loop = async (): Promise<void> => {
    let failures = 0;
    while (!signal.aborted) {
      try {
        const client = await turn(() => database.connect());
        await listen(client, { hub, signal, heartbeat_ms }, turn, () => {
          failures = 0;
          ready.resolve();
        });
      } catch (err) {
        failures += 1;
        if (failures === 1) log.warn({ err }, 'event notifications lost; polling until they are back');
        await pause(backoffMs(failures, RETRY), signal);
      }
    }
    watch?.end();
    ready.resolve();
  };
  const running = loop();
  return {
    ready: ready.promise,
    stop: () => {
      own.abort();
      return running;
    },
  };
};
