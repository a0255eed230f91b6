/**
 * Creates the first key of each purpose. A process without agents needs them too: the API signs wipe certificates.
 */
import type { Clock } from '@gpuaas/kit';
import { ensureTrustKeys as ensure } from '../agents/trust.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import type { Secrets } from '../ports/secrets/secrets.ts';

export const ensureTrustKeys = (
  deps: Readonly<{ database: Database; secrets: Secrets; clock: Clock }>,
): Promise<void> => deps.database.write(PLATFORM, (tx) => ensure(tx, deps));
