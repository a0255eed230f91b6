/**
 * Ends transactions of the control plane's own account that have written and do not end. Statements and idle
 * transactions have limits of their own, so this is a loop inside a transaction, or a person with that account. Events,
 * streams and audit seals wait for the oldest writer, so its end bounds their delay. Transactions of other accounts are
 * left alone: GpuaasCommitOrderDelayed names the query that finds them.
 */
import type { Log } from '@gpuaas/kit';
import { type Database, PLATFORM } from '../db/client.ts';
import { endLongWriters as end } from '../db/long-writer.ts';

export const endLongWriters = async (
  deps: Readonly<{ database: Database; log: Log; max_s: number }>,
): Promise<number> => {
  const ended = await deps.database.write(PLATFORM, (tx) => end(tx, deps.max_s));
  for (const writer of ended)
    deps.log.warn({ ...writer, max_s: deps.max_s }, 'ended a write transaction that held back events and audit seals');
  return ended.length;
};
