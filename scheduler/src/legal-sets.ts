/**
 * Which GPUs of one node may be allocated together. On NVSwitch boards only Fabric Manager's partitions work, and they
 * are named by module ID, whose order is not that of the PCI bus: a guest with any other pair boots and then fails with
 * CUDA error 802. A table that is absent (null) means a board without NVSwitch, where any set is legal.
 *
 * A set of slots is a bit mask, bit n being slot index n. A node has at most 31 slots, so that a mask stays a small
 * positive integer in JavaScript, JSON and SQL alike.
 */
import type { SchedulerNode, SchedulerSlot } from './model.ts';

export const SLOTS_MAX = 31;

export type LegalSet = Readonly<{ mask: number; size: number; partition_id: string | null }>;

export type LegalTable = Readonly<{
  /** Every slot of the node, schedulable or not. */
  slot_mask: number;
  /** null: any set is legal. */
  sets: readonly LegalSet[] | null;
  /** The slots of each NUMA domain, by rising domain number. */
  domains: readonly number[];
}>;

export const popcount = (mask: number): number => {
  const pairs = mask - ((mask >>> 1) & 0x55555555);
  const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((nibbles + (nibbles >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
};

const isIndex = (index: number): boolean => Number.isInteger(index) && index >= 0 && index < SLOTS_MAX;

/**
 * Whether a slice could run on it: checked again here, so that a row forced past the database's check is still ignored.
 */
export const isComplete = (slot: SchedulerSlot): boolean =>
  slot.has_gpu &&
  slot.has_nvme &&
  slot.has_mac &&
  slot.has_private_ip &&
  slot.has_fabric_vf &&
  slot.fabric_claim_mode === 'per_slot_vf' &&
  slot.parent_slot_id === null &&
  isIndex(slot.slot_index);

/** Approved, available and healthy, regardless of missing bundle parts. */
export const isUsable = (slot: SchedulerSlot): boolean =>
  slot.approval === 'approved' && slot.status === 'available' && slot.health === 'ok';

export const freeMask = (slots: readonly SchedulerSlot[]): number => {
  let mask = 0;
  for (const slot of slots) if (isUsable(slot) && isComplete(slot)) mask |= 1 << slot.slot_index;
  return mask;
};

/** Which slot a module is. Lists instead of maps: nodes are small, and this runs for every node of every decision. */
type Modules = Readonly<{ ids: number[]; bits: number[] }>;

/** A module claimed by two approved slots is neither of them. */
const moduleBits = (slots: readonly SchedulerSlot[]): Modules => {
  const ids: number[] = [];
  const bits: number[] = [];
  for (const slot of slots) {
    if (slot.approval !== 'approved' || slot.module_id === null || !isIndex(slot.slot_index)) continue;
    const known = ids.indexOf(slot.module_id);
    if (known === -1) {
      ids.push(slot.module_id);
      bits.push(1 << slot.slot_index);
    } else bits[known] = 0;
  }
  return { ids, bits };
};

/** 0 when a module is missing: a partition that lacks a GPU cannot be activated. */
const maskOf = (moduleIds: readonly number[], { ids, bits }: Modules): number => {
  let mask = 0;
  for (const id of moduleIds) {
    const bit = bits[ids.indexOf(id)] ?? 0;
    if (bit === 0) return 0;
    mask |= bit;
  }
  return mask;
};

const domainMasks = (slots: readonly SchedulerSlot[]): readonly number[] => {
  const domains: { id: number; mask: number }[] = [];
  for (const slot of slots) {
    if (!isIndex(slot.slot_index)) continue;
    const id = slot.numa_node ?? -1;
    let domain = domains.find((known) => known.id === id);
    if (domain === undefined) {
      domain = { id, mask: 0 };
      domains.push(domain);
    }
    domain.mask |= 1 << slot.slot_index;
  }
  if (domains.length > 1) domains.sort((a, b) => a.id - b.id);
  return domains.map(({ mask }) => mask);
};

export const legalTable = (node: Pick<SchedulerNode, 'slots' | 'partitions'>): LegalTable => {
  const domains = domainMasks(node.slots);
  const slot_mask = domains.reduce((all, mask) => all | mask, 0);
  if (node.partitions === null) return { slot_mask, sets: null, domains };
  const bits = moduleBits(node.slots);
  const sets: LegalSet[] = [];
  for (const partition of node.partitions) {
    const mask = maskOf(partition.module_ids, bits);
    if (mask !== 0) sets.push({ mask, size: popcount(mask), partition_id: partition.id });
  }
  return { slot_mask, sets, domains };
};

/** The legal sets of one size, free or not; null where any set is legal. */
export const legalSets = (table: LegalTable, count: number): readonly LegalSet[] | null =>
  table.sets?.filter((set) => set.size === count) ?? null;

/** The most GPUs that one slice could get now. */
export const largestLegalSet = (free: number, table: LegalTable): number => {
  if (table.sets === null) return popcount(free);
  let largest = 0;
  for (const set of table.sets) if (set.size > largest && (set.mask & free) === set.mask) largest = set.size;
  return largest;
};

const lowestBits = (mask: number, count: number): number => {
  let chosen = 0;
  let rest = mask;
  for (let taken = 0; taken < count; taken += 1) {
    const bit = rest & -rest;
    chosen |= bit;
    rest ^= bit;
  }
  return chosen;
};

/**
 * The chosen set where any is legal: within the tightest NUMA domain that holds it, otherwise across as few domains as
 * possible. The caller has checked that enough slots are free.
 */
const anySet = (free: number, domains: readonly number[], count: number): number => {
  const room = domains.map((mask) => ({ mask: mask & free, size: popcount(mask & free) }));
  let tightest: (typeof room)[number] | null = null;
  for (const domain of room) {
    if (domain.size >= count && (tightest === null || domain.size < tightest.size)) tightest = domain;
  }
  if (tightest !== null) return lowestBits(tightest.mask, count);
  let chosen = 0;
  let missing = count;
  for (const domain of room.sort((a, b) => b.size - a.size)) {
    const taken = Math.min(missing, domain.size);
    chosen |= lowestBits(domain.mask, taken);
    missing -= taken;
  }
  return chosen;
};

/** The candidate sets of a request on this node now; empty when nothing of that size is both free and legal. */
export const freeLegalSets = (free: number, table: LegalTable, count: number): readonly LegalSet[] => {
  if (table.sets !== null) return table.sets.filter((set) => set.size === count && (set.mask & free) === set.mask);
  if (count < 1 || popcount(free) < count) return [];
  return [{ mask: anySet(free, table.domains, count), size: count, partition_id: null }];
};
