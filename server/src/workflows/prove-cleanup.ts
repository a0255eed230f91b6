/**
 * The transaction in which a verified wipe frees everything at once: claims, slots, node, quota and, if released, the
 * allocation. It takes two round trips. The first locks and reads the allocation and the node's row of the placement
 * index; the second writes everything together with the commit, so the node is locked against placement only briefly.
 */
import { invariant, mintId } from '@gpuaas/kit';
import type { SchedulerNode } from '@gpuaas/scheduler';
import type { AllocationRow } from '../db/allocation.ts';
import type { Tx } from '../db/client.ts';
import type { Stay } from '../db/lifecycle.ts';
import { loadSchedulerNode, lockSummary } from '../db/placement.ts';
import { findHolding, type Holding, type ProvenRelease, releaseClaimSet } from '../db/statements/release.ts';
import { isInCustody } from '../domain/allocation.ts';
import { summaryRow } from '../placement/summary.ts';
import type { JudgedWipe } from './allocation-steps.ts';
import { allocationChanged, auditProven } from './allocation-transitions.ts';
import { isFit, nodeAfterWipe } from './node-after-wipe.ts';
import { type Cause, lockStay } from './stay.ts';

type Written = Pick<ProvenRelease, 'proofs' | 'claims'>;

/**
 * One proof per disk. A slot claim refers to the proof of its disk, a claim on the whole node to a proof for all disks, which
 * also lists the disks that its tenant reached and this cleanup did not wipe; null stands for one without a serial number.
 */
const proofsOf = ({ verdict }: JudgedWipe, { claims, disks }: Holding): Written => {
  const perDisk = verdict.disks.map((disk) => ({
    id: mintId('wpf'),
    slot_id: disk.target.slot_id,
    method: disk.method,
    evidence: { ...disk.evidence, reason: disk.reason },
  }));
  const isWhole = claims.some((claim) => claim.slot_id === null);
  const wiped = new Set(verdict.disks.map(({ target }) => target.serial));
  const unwiped_disks = disks.flatMap(({ serial }) => (serial !== null && wiped.has(serial) ? [] : [serial]));
  const evidence = { reason: verdict.reason, unwiped_disks };
  const whole = { id: mintId('wpf'), slot_id: null, method: 'every disk', evidence };
  return {
    proofs: isWhole ? [...perDisk, whole] : perDisk,
    claims: claims.map((claim) => {
      const proof = claim.slot_id === null ? whole : perDisk.find((disk) => disk.slot_id === claim.slot_id);
      invariant(proof !== undefined, `claim ${claim.id} has a proof`);
      return { id: claim.id, proof_id: proof.id, gpu_count: claim.gpu_count };
    }),
  };
};

/** Every wiped slot, with the generation of the evidence. */
const wipedSlotsOf = (
  { verdict }: JudgedWipe,
  node: SchedulerNode,
  { suspect_slot_ids }: Holding,
): ProvenRelease['slots'] =>
  verdict.disks.flatMap(({ target: { slot_id, generation }, is_gpu_reset: is_reset }) => {
    if (slot_id === null) return [];
    invariant(generation !== null, `the wipe of slot ${slot_id} is about one of its generations`);
    const is_fit =
      is_reset && !suspect_slot_ids.includes(slot_id) && node.slots.some((slot) => slot.id === slot_id && isFit(slot));
    return [{ id: slot_id, generation, is_reset, is_fit }];
  });

/** `failed` stays `failed`: the proof ends custody, not the state. */
const endOf = (row: AllocationRow): Pick<ProvenRelease['allocation'], 'from' | 'to' | 'reason'> => ({
  from: row.state,
  to: row.state === 'releasing' ? 'released' : row.state,
  reason: row.state === 'releasing' ? null : row.failure_reason,
});

/** May run twice: without claims it does nothing. A host that the launch left is freed without the allocation and its quota. */
export const proveCleanup = async (tx: Tx, stay: Stay, judged: JudgedWipe, cause?: Cause): Promise<void> => {
  const { allocation_id: id, move_id } = stay;
  const { node_id } = judged;
  invariant(judged.verdict.is_verified, 'only a verified wipe frees anything');
  const [row, , holding, found] = await Promise.all([
    lockStay(tx, stay, cause),
    lockSummary(tx, node_id),
    findHolding(tx, id, node_id),
    loadSchedulerNode(tx, node_id),
  ]);
  if (row === undefined || !isInCustody(row.state) || holding.claims.length === 0) return;
  invariant(found !== undefined && row.node_id === node_id, `allocation ${id} is on node ${node_id}`);
  const { node, gpu_model } = found;
  const slots = wipedSlotsOf(judged, node, holding);
  const end = endOf(row);
  tx.defer(
    releaseClaimSet(tx, {
      allocation: { id, organization_id: row.organization_id, project_id: row.project_id, ...end },
      node_id,
      task_id: judged.task_id,
      correlation_id: row.correlation_id,
      ...proofsOf(judged, holding),
      slots,
      summary: summaryRow(
        nodeAfterWipe(node, new Map(slots.map((slot) => [slot.id, slot.is_fit])), holding),
        gpu_model,
      ),
      is_left: move_id !== null,
      events: move_id === null ? [allocationChanged(row, end.to, end.reason)] : [],
    }),
  );
  auditProven(tx, row, end.reason, judged.task_id);
};
