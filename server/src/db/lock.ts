/**
 * One at a time across all processes. The lock belongs to a connection, not to a transaction: it is held while talking
 * to others, and an open transaction would keep every reader of commit order waiting for as long. It falls by itself
 * when the process or the connection dies.
 */
import type { Database } from './client.ts';

/** Keys share one space in the database, with those of migrations. */
export const LOCKS = {
  relay_outbox: 4_752_010,
  count_capacity: 4_752_011,
  trust_keys: 4_752_012,
  platform_keys: 4_752_013,
} as const;

/** Runs `fn` unless someone else holds the lock; says whether it ran. */
export const runExclusively = async (
  database: Database,
  lock: keyof typeof LOCKS,
  fn: () => Promise<void>,
): Promise<boolean> => {
  const client = await database.connect();
  let broken: Error | undefined;
  const onError = (err: Error) => {
    broken = err;
  };
  client.on('error', onError);
  try {
    const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [LOCKS[lock]]);
    if (rows[0]?.held !== true) return false;
    try {
      await fn();
      return true;
    } finally {
      // A connection that cannot give the lock back is closed, which gives it back.
      await client.query('select pg_advisory_unlock($1)', [LOCKS[lock]]).catch(onError);
    }
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
};
