/**
 * Wipe proofs with their audit rows. A proof is appended, never changed: the table itself refuses anything else, and
 * gives each proof its position in the chain of its target. The audit row repeats its hash, in one statement.
 */
import { mintId } from '@gpuaas/kit';
import { AUDIT_COLUMNS, AUDIT_PARAMETERS, AUDIT_VALUES, type SystemAction, systemAudit } from '../audit.ts';
import type { Tx } from '../client.ts';
import { statement } from '../statement.ts';
import type { WipeProofs } from '../types.gen.ts';

export type NewWipeProof = Readonly<
  Pick<WipeProofs, 'node_id' | 'task_id' | 'method' | 'is_verified' | 'correlation_id'> & {
    /** Null when the proof is about the node as a whole. */
    slot_id: WipeProofs['slot_id'];
    /** Null when no allocation held the wiped disk: a disk being approved, a slot under repair. */
    allocation_id: WipeProofs['allocation_id'];
    disk_serial?: string;
    evidence: Readonly<Record<string, unknown>>;
    /** The organization whose audit log records it (default the platform's). */
    organization_id?: string;
    project_id?: string;
  }
>;

const INSERT_PROOF = statement(
  {
    id: 'text',
    node_id: 'text',
    slot_id: 'text | null',
    allocation_id: 'text | null',
    task_id: 'text',
    method: 'text',
    is_verified: 'boolean',
    evidence: 'jsonb',
    disk_serial: 'text | null',
    ...AUDIT_PARAMETERS,
  },
  `with proof as (
     insert into wipe_proofs (id, node_id, slot_id, allocation_id, task_id, method, is_verified, evidence, correlation_id, disk_serial)
     values (:id, :node_id, :slot_id, :allocation_id, :task_id, :method, :is_verified, :evidence, :correlation_id, :disk_serial)
     returning id, is_verified, proof_hash)
   insert into audit_logs (${AUDIT_COLUMNS})
   select ${AUDIT_VALUES}, jsonb_build_object('is_verified', proof.is_verified,
     'wipe_proofs', jsonb_build_object(proof.id, encode(proof.proof_hash, 'hex')))
   from proof`,
);

/** Its id. */
export const insertWipeProof = async (tx: Tx, proof: NewWipeProof): Promise<string> => {
  const id = mintId('wpf');
  const audit = systemAudit({
    organization_id: proof.organization_id ?? null,
    project_id: proof.project_id ?? null,
    action: 'wipe_proof.record',
    target_kind: 'wipe_proof',
    target_id: id,
    policy: 'workflow',
    correlation_id: proof.correlation_id,
    metadata: {},
  });
  await INSERT_PROOF.query(tx, {
    ...proof,
    ...audit,
    id,
    audit_id: mintId('aud'),
    disk_serial: proof.disk_serial ?? null,
  });
  return id;
};

const INSERT_PROOF_AUDIT = statement(
  { allocation_id: 'text', task_id: 'text', metadata: 'jsonb', ...AUDIT_PARAMETERS },
  `insert into audit_logs (${AUDIT_COLUMNS})
   select ${AUDIT_VALUES}, :metadata || jsonb_build_object('wipe_proofs', coalesce(jsonb_object_agg(p.id, encode(p.proof_hash, 'hex')), '{}'))
   from wipe_proofs p where p.allocation_id = :allocation_id and p.task_id = :task_id`,
);

/** The audit row of an allocation's proofs, which must have been sent before: their hashes are read from the table. */
export const insertProofAudit = async (
  tx: Tx,
  audit: SystemAction,
  of: Readonly<{ allocation_id: string; task_id: string }>,
): Promise<void> => {
  await INSERT_PROOF_AUDIT.query(tx, { ...systemAudit(audit), ...of, audit_id: mintId('aud') });
};
