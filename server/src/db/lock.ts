/**
 * A lock across all processes. The lock belongs to a connection, not to a transaction: it is held during external
 * calls, and an open transaction would delay every reader of commit order for as long. It is released automatically
 * when the process or the connection ends.
 */
import type { Database } from './client.ts';

/** Keys share one space in the database, with those of migrations. */
export const LOCKS = {
  relay_outbox: 4_752_010,
  count_capacity: 4_752_011,
  trust_keys: 4_752_012,
  platform_keys: 4_752_013,
  write_heads: 4_752_014,
  archive_audit: 4_752_015,
  site: 4_752_016,
  fetch_images: 4_752_017,
} as const;

/** Runs `fn` unless another process holds the lock; returns whether it ran. */
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
      // A connection that cannot release the lock is closed, which releases it.
      await client.query('select pg_advisory_unlock($1)', [LOCKS[lock]]).catch(onError);
    }
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
};
