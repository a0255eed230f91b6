/**
 * The chain of wipe proofs. The proofs of one target, a slot or a whole node, are chained in order; the database
 * assigns sequence and hash at insertion. This code recomputes both from the rows: a proof that was edited, removed or
 * moved no longer matches its hash or its predecessor.
 *
 * A chain that was rewritten or truncated is consistent in itself. The audit row written with each proof repeats its
 * hash, and audit rows have their own chain with signed ends outside the database.
 *
 * Old proofs are cut from the front of a chain. The cut holds the hash of the last of them, from which the chain continues;
 * a proof that something still stands on stays, and is compared with its own hash only.
 */
import { createHash } from 'node:crypto';

/** A proof as its chain sees it: every column as text, exactly as PostgreSQL prints it. */
export type ChainedProof = Readonly<{
  id: string;
  target_id: string;
  sequence: number;
  previous_hash: string;
  proof_hash: string;
  node_id: string;
  slot_id: string | null;
  allocation_id: string | null;
  task_id: string;
  method: string;
  is_verified: string;
  evidence_text: string;
  disk_serial: string | null;
  correlation_id: string;
  created_at_us: string;
  /** The last cut of its chain; null before the first. */
  cut_sequence: number | null;
  cut_hash: string | null;
  /** Audit rows of that time may have left the database for the archive. */
  is_audit_archived: boolean;
  /** The hash according to audit rows: one value, none if no audit row mentions the proof, several if they disagree. */
  audited_hashes: readonly string[];
}>;

export type ProofFindingKind = 'edited' | 'deleted' | 'reordered' | 'unaudited';
export type ProofFinding = Readonly<{
  kind: ProofFindingKind;
  target_id: string | null;
  sequence: number | null;
  wipe_proof_id: string | null;
  detail: string;
}>;

export const PROOF_FINDINGS_MAX = 100;

/** A length before each value separates them unambiguously. */
export const netstring = (value: string | null): string =>
  value === null ? '-,' : `${Buffer.byteLength(value)}:${value},`;

export const chainGenesis = (target: string): string =>
  createHash('sha256').update(`gpuaas wipe proof chain ${target}`).digest('hex');

type Hashed = Omit<
  ChainedProof,
  'proof_hash' | 'audited_hashes' | 'target_id' | 'cut_sequence' | 'cut_hash' | 'is_audit_archived'
>;

export const proofHash = (proof: Hashed): string =>
  createHash('sha256')
    .update(
      [
        proof.previous_hash,
        String(proof.sequence),
        proof.id,
        proof.node_id,
        proof.slot_id,
        proof.allocation_id,
        proof.task_id,
        proof.method,
        proof.is_verified,
        proof.evidence_text,
        proof.disk_serial,
        proof.correlation_id,
        proof.created_at_us,
      ]
        .map(netstring)
        .join(''),
    )
    .digest('hex');

export type ProofCheck = Readonly<{
  /** Takes the next proofs, by target and sequence. */
  take(proofs: readonly ChainedProof[]): void;
  finish(): Readonly<{ proofs: number; chains: number; findings: readonly ProofFinding[] }>;
}>;

type End = Readonly<{ target_id: string; sequence: number; hash: string }>;

const isBeforeCut = ({ sequence, cut_sequence }: ChainedProof): boolean =>
  cut_sequence !== null && sequence <= cut_sequence;

/** Where a chain starts: at its cut, or at its own genesis. */
const startOf = ({ target_id, cut_sequence, cut_hash }: ChainedProof): End => ({
  target_id,
  sequence: cut_sequence ?? 0,
  hash: cut_hash ?? chainGenesis(target_id),
});

const faultOf = (proof: ChainedProof, before: End): readonly [ProofFindingKind, string] | null => {
  const missing = proof.sequence - before.sequence - 1;
  if (missing > 0)
    return ['deleted', `${missing === 1 ? 'One earlier proof is' : `${missing} earlier proofs are`} missing.`];
  if (proofHash(proof) !== proof.proof_hash) return ['edited', 'The proof does not match its hash.'];
  if (!isBeforeCut(proof) && proof.previous_hash !== before.hash)
    return ['reordered', 'The proof does not follow the previous one.'];
  if (proof.audited_hashes.length === 0)
    return proof.is_audit_archived
      ? null
      : ['unaudited', 'No audit row names the proof: it was inserted outside the control plane.'];
  return proof.audited_hashes.every((hash) => hash === proof.proof_hash)
    ? null
    : ['edited', 'An audit row names another hash: the proof was rewritten together with its hash.'];
};

/** A fault does not stop the check: it continues from the stored hash, so that one bad proof is one finding. */
export const checkProofs = (): ProofCheck => {
  const findings: ProofFinding[] = [];
  let proofs = 0;
  let chains = 0;
  let end: End | undefined;

  const judge = (proof: ChainedProof, before: End): void => {
    const fault = faultOf(proof, before);
    if (fault === null || findings.length === PROOF_FINDINGS_MAX) return;
    const { target_id, sequence, id: wipe_proof_id } = proof;
    findings.push({ kind: fault[0], target_id, sequence, wipe_proof_id, detail: fault[1] });
  };

  return {
    take: (page) => {
      for (const proof of page) {
        const { target_id, sequence, proof_hash: hash } = proof;
        if (end?.target_id !== target_id) {
          chains += 1;
          end = startOf(proof);
        }
        judge(proof, end);
        proofs += 1;
        if (!isBeforeCut(proof)) end = { target_id, sequence, hash };
      }
    },
    finish: () => ({ proofs, chains, findings }),
  };
};

/** A proof that an audit row mentions but the table lacks, or has under another target. */
export const missingProof = (
  wipe_proof_id: string,
  { audit_log_id, is_there }: Readonly<{ audit_log_id: string; is_there: boolean }>,
): ProofFinding => ({
  kind: is_there ? 'edited' : 'deleted',
  target_id: null,
  sequence: null,
  wipe_proof_id,
  detail: is_there
    ? `Audit row ${audit_log_id} names the proof, but the proof does not belong to it.`
    : `Audit row ${audit_log_id} names the proof, but the proof is missing.`,
});
