/** Wipe proofs and released claims whose certificate can no longer be asked for. */
import type { Tx } from '../client.ts';

/**
 * Returns how many proofs are gone. What is cut and what its chain continues from are decided by the schema: the
 * application may not delete a proof.
 */
export const cutWipeChains = async (tx: Tx, limit: number, years: number): Promise<number> =>
  (await tx.query<{ removed: number }>('select cut_wipe_chains($1, $2) as removed', [limit, years])).rows[0]?.removed ??
  0;
