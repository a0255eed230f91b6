/**
 * Receives notifications of other processes on its own connection and wakes this process. After a reconnect every
 * listener is woken once, since a notification may have been missed.
 */
import { backoffMs, type Log, pause } from '@gpuaas/kit';
import type { PoolClient } from 'pg';
import type { EventHub } from './hub.ts';
import { CHANNEL } from './waker.ts';

type Connector = Readonly<{ connect(): Promise<PoolClient> }>;

export type Listener = Readonly<{
  /** Resolves once the first connection listens. */
  ready: Promise<void>;
  stop(): Promise<void>;
}>;

/** Until the connection is lost (throws) or the signal is aborted (returns). */
const listen = async (client: PoolClient, hub: EventHub, signal: AbortSignal, onReady: () => void): Promise<void> => {
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
    await client.query(`listen ${CHANNEL}`);
    hub.wake();
    onReady();
    if (!signal.aborted) await lost.promise;
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

export const startListening = (
  options: Readonly<{ database: Connector; hub: EventHub; log: Log; signal: AbortSignal }>,
): Listener => {
  const { database, hub, log } = options;
  const own = new AbortController();
  const signal = AbortSignal.any([options.signal, own.signal]);
  const ready = Promise.withResolvers<void>();

  const loop = async (): Promise<void> => {
    let failures = 0;
    while (!signal.aborted) {
      try {
        await listen(await database.connect(), hub, signal, () => {
          failures = 0;
          ready.resolve();
        });
      } catch (err) {
        failures += 1;
        if (failures === 1) log.warn({ err }, 'event notifications lost; polling until they are back');
        await pause(backoffMs(failures, { baseMs: 100, capMs: 5_000 }), signal);
      }
    }
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
