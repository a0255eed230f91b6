/** Wipe proofs as they are read and verified. They are written with their audit rows, by `statements/`. */
import type { ChainedProof } from '../domain/wipe-chain.ts';
import type { Reader } from './client.ts';
import { queryByIndex } from './plan.ts';
import type { WipeProofs } from './types.gen.ts';

/** The actions whose audit rows record proofs. Rows of other actions do not confirm a proof. */
const PROOF_ACTIONS = `'{allocation.prove_cleanup,wipe_proof.record}'`;

export type WipeProofRow = Readonly<
  Pick<
    WipeProofs,
    | 'id'
    | 'node_id'
    | 'slot_id'
    | 'allocation_id'
    | 'disk_serial'
    | 'task_id'
    | 'method'
    | 'outcome'
    | 'correlation_id'
    | 'sequence'
    | 'created_at'
  > & {
    evidence: Readonly<Record<string, unknown>>;
    previous_hash: string;
    proof_hash: string;
  }
>;

const PROOF = `p.id, p.node_id, p.slot_id, p.allocation_id, p.disk_serial, p.task_id, p.method, p.outcome, p.evidence, p.correlation_id,
  p.sequence, encode(p.previous_hash, 'hex') as previous_hash, encode(p.proof_hash, 'hex') as proof_hash, p.created_at`;

/** Of a slot, newest first. */
export const listSlotProofs = async (
  reader: Reader,
  slotId: string,
  page: Readonly<{ before: number | null; limit: number }>,
): Promise<WipeProofRow[]> =>
  (
    await reader.query<WipeProofRow>(
      `select ${PROOF} from wipe_proofs p where p.target_id = $1 and ($2::bigint is null or p.sequence < $2)
       order by p.sequence desc limit $3`,
      [slotId, page.before, page.limit],
    )
  ).rows;

type AcceptedOutcome = Exclude<WipeProofs['outcome'], 'failed'>;
export type AllocationProofRow = WipeProofRow &
  Readonly<{
    outcome: AcceptedOutcome;
    /** Of the last accepted wipe of the slot before. */
    outcome_before: AcceptedOutcome | null;
  }>;

/** Those that ended the claims of an allocation: by slot, then those of the node's own disks. */
export const listAllocationProofs = async (reader: Reader, allocationId: string): Promise<AllocationProofRow[]> =>
  (
    await reader.query<AllocationProofRow>(
      `select ${PROOF}, (select b.outcome from wipe_proofs b where b.target_id = p.slot_id and b.sequence < p.sequence
           and b.outcome <> 'failed' order by b.sequence desc limit 1) as outcome_before
       from wipe_proofs p left join node_resource_slots s on s.id = p.slot_id
       where p.allocation_id = $1 and p.outcome <> 'failed' order by s.slot_index nulls last, p.sequence`,
      [allocationId],
    )
  ).rows;

/** By target and sequence, after the given one. */
export const listChainedProofs = async (
  reader: Reader,
  after: Readonly<{ target_id: string; sequence: number }>,
  limit: number,
): Promise<ChainedProof[]> =>
  (
    await queryByIndex<ChainedProof>(
      reader,
      `select p.id, p.target_id, p.sequence, encode(p.previous_hash, 'hex') as previous_hash, encode(p.proof_hash, 'hex') as proof_hash,
         p.node_id, p.slot_id, p.allocation_id, p.task_id, p.method, p.is_verified::text as is_verified, p.evidence::text as evidence_text,
         p.disk_serial, p.correlation_id, to_char(p.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created_at_us,
         k.sequence as cut_sequence, encode(k.proof_hash, 'hex') as cut_hash,
         p.created_at <= coalesce((select max(e.last_row_at) from audit_segments e where e.removed_at is not null), '-infinity') as is_audit_archived,
         array(select distinct l.metadata -> 'wipe_proofs' ->> p.id from audit_logs l where l.correlation_id = p.correlation_id
            and l.action = any (${PROOF_ACTIONS}) and l.metadata -> 'wipe_proofs' ? p.id) as audited_hashes
       from (select * from wipe_proofs where (target_id, sequence) > ($1, $2) order by target_id, sequence limit $3) p
       left join lateral (select c.sequence, c.proof_hash from wipe_chain_cuts c where c.target_id = p.target_id
         order by c.sequence desc limit 1) k on true
       order by p.target_id, p.sequence`,
      [after.target_id, after.sequence, limit],
    )
  ).rows;

export type AuditedProof = Readonly<{
  audit_log_id: string;
  wipe_proof_id: string;
  /** Such a proof exists, but with another cause: the row was not written with it. */
  is_there: boolean;
}>;

/**
 * Reads the next audit rows that record proofs; `last` is null when these were all. Those of a time from which proofs were
 * cut are left out; a cut is never younger than a year.
 */
export const listMissingProofs = async (
  reader: Reader,
  afterId: string,
  limit: number,
): Promise<Readonly<{ last: string | null; missing: readonly AuditedProof[] }>> => {
  const { rows } = await queryByIndex<{ last: string | null; missing: readonly AuditedProof[] }>(
    reader,
    `with page as (select l.id, l.correlation_id, l.metadata -> 'wipe_proofs' as listed from audit_logs l
         where l.action = any (${PROOF_ACTIONS}) and l.id > $1
           and l.created_at > coalesce((select least(c.at, now() - interval '1 year') + interval '1 hour'
             from (select max(last_proof_at) as at from wipe_chain_cuts) c where c.at is not null), '-infinity')
         order by l.id limit $2)
     select (select case when count(*) = $2 then max(id) end from page) as last,
       coalesce((select jsonb_agg(jsonb_build_object('audit_log_id', page.id, 'wipe_proof_id', t.id, 'is_there', p.id is not null) order by page.id, t.id)
         from page cross join lateral jsonb_object_keys(page.listed) as t (id)
           left join wipe_proofs p on p.id = t.id
         where p.id is null or p.correlation_id <> page.correlation_id), '[]') as missing`,
    [afterId, limit],
  );
  return rows[0] ?? { last: null, missing: [] };
};
