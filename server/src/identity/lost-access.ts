/**
 * Revokes the keys of a user who loses access, in the transaction that ends it: the correlation ID of that request then
 * leads to their removal from the VMs. `revoke-grants` revokes what this misses.
 */
import type { WriteCtx } from '../context.ts';
import { listLostGrants } from '../db/access-grant.ts';
import type { Tx } from '../db/client.ts';
import { listLostLaunchKeys } from '../db/statements/launch-key.ts';
import { principalOf } from '../pipeline/caller.ts';
import { revokeLostGrant, revokeLostLaunchKey } from '../workflows/access-grant.ts';

/** Each locks its allocation until the request ends. The others are revoked within a minute. */
const LOST_KEYS_MAX = 200;

export type LostAccess = Readonly<{ user_id: string; correlation_id: string }>;

/** In the platform scope: the keys may be in any organization, and only their owners see them. */
export const revokeLostKeys = async (tx: Tx, { user_id, correlation_id }: LostAccess): Promise<void> => {
  const of = { user_id, limit: LOST_KEYS_MAX };
  for (const lost of await listLostGrants(tx, of)) await revokeLostGrant(tx, { ...lost, correlation_id });
  for (const lost of await listLostLaunchKeys(tx, of)) await revokeLostLaunchKey(tx, { ...lost, correlation_id });
};

/** The same for a request in the scope of its organization, or of none. */
export const revokeLostKeysOf = async (ctx: WriteCtx, user_id: string): Promise<void> => {
  const { tx, correlation_id, organization_id } = ctx;
  const principal_id = principalOf(ctx).id;
  tx.enter({ tenant_id: '*', principal_id });
  await revokeLostKeys(tx, { user_id, correlation_id });
  tx.enter({ tenant_id: organization_id ?? '', principal_id });
};
