/**
 * Keeps grants true to what people are. Who left the project or the organization, whose account was disabled and whose key was
 * deleted opens nothing any more: each grant of theirs is taken back as if somebody had asked, in a transaction of its own, with
 * the system as the actor. And machines that run and were not told of everything are told, which is how a revocation that
 * a machine did not hear of gets there in the end.
 */
import { randomUUID } from 'node:crypto';
import { listLostGrants, listUntoldAllocations } from '../db/access-grant.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';

const BATCH_ROWS = 100;
/** A machine that could not be told is let rest for so long. */
const REST_S = 60;

type Lost = Readonly<{ id: string; allocation_id: string; reason: string; correlation_id: string }>;

export type FollowGrantsDeps = Readonly<{
  database: Database;
  /** The workflow that tells machines. */
  workflow: string;
  takeBack(tx: Tx, lost: Lost): Promise<void>;
  tell(tx: Tx, allocationId: string): Promise<void>;
}>;

/** Throws in the end, when all had their turn, if any could not be done. */
export const revokeGrants = async (deps: FollowGrantsDeps, signal?: AbortSignal): Promise<void> => {
  const { database, workflow } = deps;
  const failures: unknown[] = [];
  const each = async <T>(items: readonly T[], act: (tx: Tx, item: T) => Promise<void>): Promise<void> => {
    for (const item of items) {
      if (signal?.aborted) return;
      await database.write(PLATFORM, (tx) => act(tx, item)).catch((err: unknown) => failures.push(err));
    }
  };
  const lost = await database.read(PLATFORM, (reader) => listLostGrants(reader, BATCH_ROWS));
  await each(lost, (tx, one) => deps.takeBack(tx, { ...one, correlation_id: `grants-${randomUUID()}` }));
  const asked = { workflow, rest_s: REST_S, limit: BATCH_ROWS };
  const untold = await database.read(PLATFORM, (reader) => listUntoldAllocations(reader, asked));
  await each(untold, (tx, id) => deps.tell(tx, id));
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} grants could not be followed`);
};
