/** Wipe proofs and released claims whose certificate can no longer be asked for. */
import type { Tx } from '../client.ts';
import { statement } from '../statement.ts';

const CUT = statement({ limit: 'integer', years: 'integer' }, 'select cut_wipe_chains(:limit, :years) as removed');

/**
 * Returns how many proofs are gone. What is cut and what its chain continues from are decided by the schema: the
 * application may not delete a proof.
 */
export const cutWipeChains = async (tx: Tx, limit: number, years: number): Promise<number> =>
  (await CUT.query<{ removed: number }>(tx, { limit, years })).rows[0]?.removed ?? 0;
