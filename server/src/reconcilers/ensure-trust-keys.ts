/**
 * Creates the keys that the platform key seals: those that sign wipe certificates. The node API creates the others.
 */
import type { Clock } from '@gpuaas/kit';
import { ensureTrustKeys as ensure } from '../agents/trust.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import type { Secrets } from '../ports/secrets/secrets.ts';

export const ensureTrustKeys = (
  deps: Readonly<{ database: Database; secrets: Secrets; clock: Clock }>,
): Promise<void> => deps.database.write(PLATFORM, (tx) => ensure(tx, deps));
