/** Ends the trust in keys whose grace period is over. Processes that cache keys see it within a second. */
import { randomUUID } from 'node:crypto';
import { insertSystemAudit } from '../db/audit.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { retireOverdueKeys } from '../db/trust-key.ts';

export const endGrace = (deps: Readonly<{ database: Database }>): Promise<number> =>
  deps.database.write(PLATFORM, async (tx) => {
    const ids = await retireOverdueKeys(tx);
    for (const id of ids)
      tx.defer(
        insertSystemAudit(tx, {
          organization_id: null,
          project_id: null,
          action: 'trust_key.retire',
          target_kind: 'trust_key',
          target_id: id,
          policy: 'grace period ended',
          correlation_id: `c-${randomUUID()}`,
          metadata: {},
        }),
      );
    return ids.length;
  });
