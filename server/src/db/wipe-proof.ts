/** Proofs of erasure. Appended, never changed: the table itself refuses anything else. */
import { mintId } from '@gpuaas/kit';
import type { Tx } from './client.ts';

export type NewWipeProof = Readonly<{
  node_id: string;
  /** Null when the proof is about the node as a whole. */
  slot_id: string | null;
  /** Null when no allocation held what was erased: a disk taken over, a slot under repair. */
  allocation_id: string | null;
  disk_serial?: string;
  task_id: string;
  method: string;
  is_verified: boolean;
  evidence: Readonly<Record<string, unknown>>;
  correlation_id: string;
}>;

export const insertWipeProof = async (tx: Tx, proof: NewWipeProof): Promise<string> => {
  const id = mintId('wpf');
  await tx.query(
    `insert into wipe_proofs (id, node_id, slot_id, allocation_id, task_id, method, is_verified, evidence, correlation_id, disk_serial)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      id,
      proof.node_id,
      proof.slot_id,
      proof.allocation_id,
      proof.task_id,
      proof.method,
      proof.is_verified,
      JSON.stringify(proof.evidence),
      proof.correlation_id,
      proof.disk_serial ?? null,
    ],
  );
  return id;
};
