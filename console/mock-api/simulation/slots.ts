/** Slot state changes, and the proof without which no slot becomes free. */
import { REASONS } from '../../../server/src/domain/reasons.ts';
import { digestOf } from '../core/random.ts';
import type { Node, Slot, WipeProof } from '../core/rows.ts';
import type { World } from '../core/world.ts';

export const moveSlot = (world: World, slot: Slot, status: Slot['status'], reason: string | null = null): void => {
  slot.status = status;
  slot.status_reason = reason;
  slot.status_since = world.ago();
  slot.version += 1;
};

const GENESIS = '0'.repeat(64);

const SAMPLES = [0, 1_920_377_991_168, 3_840_755_961_856];

export const evidenceOf = (slot: Slot, atMs: number) => ({
  serial: slot.nvme_serial,
  size_bytes: 3_840_755_982_336,
  erase: 'block',
  command_status: 0,
  rule: 'blank',
  bytes_read_back: 64 * 1024 * 1024,
  bytes_not_erased: 0,
  samples: SAMPLES.map((offset) => ({ offset, length: 20_480, sha256: digestOf(`blank ${offset}`) })),
  started_at: new Date(atMs - 6_000).toISOString(),
  finished_at: new Date(atMs - 500).toISOString(),
  gpu_reset: { method: 'flr', functions: 1, is_ok: true },
});

export type NewProof = Readonly<{
  slot: Slot;
  allocation_id: string | null;
  task_id: string;
  method: string;
  correlation_id: string;
  evidence?: Readonly<Record<string, unknown>>;
  outcome?: WipeProof['outcome'];
  /** The time, if it is in the past. */
  atMs?: number;
}>;

export const addProof = (world: World, made: NewProof): WipeProof => {
  const { slot, atMs = world.now() } = made;
  const chain = world.proofs.filter((one) => one.slot_id === slot.id);
  const previous_hash = chain.at(-1)?.proof_hash ?? GENESIS;
  const id = world.mint('wipe_proof');
  const proof: WipeProof = {
    id,
    node_id: slot.node_id,
    slot_id: slot.id,
    allocation_id: made.allocation_id,
    disk_serial: slot.nvme_serial,
    task_id: made.task_id,
    method: made.method,
    outcome: made.outcome ?? 'verified',
    evidence: { ...(made.evidence ?? evidenceOf(slot, atMs)) },
    correlation_id: made.correlation_id,
    sequence: chain.length + 1,
    previous_hash,
    proof_hash: digestOf(`${previous_hash} ${id} ${made.method}`),
    created_at: new Date(atMs).toISOString(),
  };
  world.proofs.push(proof);
  if (proof.outcome !== 'failed') {
    slot.wiped_at = proof.created_at;
    slot.wipe_outcome = proof.outcome;
    slot.wipe_proof_id = proof.id;
    slot.generation += 1;
  }
  return proof;
};

/** Slots that only an override made available become unavailable with the policy that allowed it. */
export const endOverrides = (world: World, regionName: string): void => {
  for (const node of world.nodes.values())
    if (node.region_name === regionName)
      for (const slot of world.slotsOf.get(node.id) ?? [])
        if (slot.status === 'available' && slot.wipe_outcome === 'overridden')
          moveSlot(world, slot, 'quarantined', REASONS.override_not_allowed);
};

/** The use of the whole node, by its claims and slots. */
export const occupancyOf = (
  world: World,
  node: Node,
): 'free' | 'sliced' | 'exclusive' | 'cleaning' | 'cleanup_blocked' => {
  const slots = world.slotsOf.get(node.id) ?? [];
  if (world.exclusive.has(node.id)) {
    if (slots.some((slot) => slot.status === 'cleanup_blocked')) return 'cleanup_blocked';
    return slots.some((slot) => slot.status === 'cleaning') ? 'cleaning' : 'exclusive';
  }
  return slots.some((slot) => slot.allocation_id !== null) ? 'sliced' : 'free';
};
