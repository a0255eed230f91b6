/**
 * Announces committed events: to this process immediately, to others by one notification. Never inside the business
 * transaction, where NOTIFY makes commits queue for a database-wide lock; and at most once in ten milliseconds. A lost
 * notification costs the time to the next poll.
 */
import type { Log } from '@gpuaas/kit';
import type { PoolClient } from 'pg';
import type { EventHub } from './hub.ts';

export const CHANNEL = 'gpuaas_events';
const SPACING_MS = 10;

export type Waker = Readonly<{
  /** After a transaction that requested it with `tx.wake()`. */
  afterCommit(): void;
  /** Sends the pending notification and no more after it. */
  stop(): Promise<void>;
}>;

type Connector = Readonly<{ connect(): Promise<PoolClient> }>;

export const createWaker = (options: Readonly<{ database: Connector; hub: EventHub; log: Log }>): Waker => {
  const { database, hub, log } = options;
  let timer: NodeJS.Timeout | undefined;
  let isDue = false;
  let isStopped = false;
  let sending: Promise<void> = Promise.resolve();

  const notify = async (): Promise<void> => {
    let client: PoolClient | undefined;
    let failure: Error | undefined;
    try {
      client = await database.connect();
      await client.query('select pg_notify($1, $2)', [CHANNEL, '']);
    } catch (err) {
      failure = err instanceof Error ? err : new Error(String(err));
      log.debug({ err }, 'could not notify other processes of new events');
    } finally {
      client?.release(failure);
    }
  };

  const fire = () => {
    isDue = false;
    hub.wake();
    sending = notify();
    timer = setTimeout(() => {
      timer = undefined;
      // The next one waits for the last, so a slow database is not flooded.
      void sending.then(() => {
        if (isDue && timer === undefined) fire();
      });
    }, SPACING_MS);
    timer.unref();
  };

  const afterCommit = () => {
    if (isStopped) return hub.wake();
    isDue = true;
    if (timer === undefined) fire();
  };

  return {
    afterCommit,
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await sending;
      if (isDue) await notify();
    },
  };
};
