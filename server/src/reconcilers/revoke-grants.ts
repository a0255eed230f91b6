/**
 * Revokes grants and keys of launches that outlived the access of their users: members removed from the project or
 * organization, disabled accounts and deleted keys. The request that ends the access revokes them itself
 * (`identity/lost-access.ts`); here are those that it missed, such as a grant of the same moment. Each is revoked in its own
 * transaction with the system as the actor. It also installs keys again on running VMs that do not have all of them yet,
 * so that a revocation arrives even when the first attempt failed.
 */
import { randomUUID } from 'node:crypto';
import { listAllocationsWithPendingGrants, listLostGrants } from '../db/access-grant.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import { listLostLaunchKeys } from '../db/statements/launch-key.ts';
import { revokeLostGrant, revokeLostLaunchKey, sendPendingKeys } from '../workflows/access-grant.ts';
import { FAILED_REASONS, installKeys } from '../workflows/install-keys.ts';

const BATCH_ROWS = 100;
const ALL = { user_id: null, limit: BATCH_ROWS };
/** Pause before keys are installed again on a VM where it failed. */
const RETRY_AFTER_S = 60;

export type RevokeGrantsDeps = Readonly<{ database: Database }>;

/** Throws after the last one if any failed. */
export const revokeGrants = async (deps: RevokeGrantsDeps, signal?: AbortSignal): Promise<void> => {
  const { database } = deps;
  const failures: unknown[] = [];
  const each = async <T>(items: readonly T[], act: (tx: Tx, item: T) => Promise<void>): Promise<void> => {
    for (const item of items) {
      if (signal?.aborted) return;
      await database.write(PLATFORM, (tx) => act(tx, item)).catch((err: unknown) => failures.push(err));
    }
  };
  const lost = await database.read(PLATFORM, (reader) => listLostGrants(reader, ALL));
  await each(lost, (tx, one) => revokeLostGrant(tx, { ...one, correlation_id: `grants-${randomUUID()}` }));
  const launchKeys = await database.read(PLATFORM, (reader) => listLostLaunchKeys(reader, ALL));
  await each(launchKeys, (tx, one) => revokeLostLaunchKey(tx, { ...one, correlation_id: `grants-${randomUUID()}` }));
  const query = {
    ...{ workflow: installKeys.name, failed_reason: FAILED_REASONS.revoking },
    ...{ rest_s: RETRY_AFTER_S, limit: BATCH_ROWS },
  };
  const pending = await database.read(PLATFORM, (reader) => listAllocationsWithPendingGrants(reader, query));
  await each(pending, (tx, id) => sendPendingKeys(tx, id));
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} grants could not be revoked or installed`);
};
