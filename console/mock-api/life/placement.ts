/**
 * Where something fits, honestly: by the slots as they are, in sets that the fabric joins, on one node. What does not fit is
 * told with the server's codes, amounts and sentences, and with what would.
 */
import type { Node, Sku, Slot } from '../core/rows.ts';
import type { World } from '../core/world.ts';

const SETS: readonly (readonly number[])[] = [
  [1, 2, 3, 4, 5, 6, 7, 8],
  [1, 2, 3, 4],
  [5, 6, 7, 8],
  [1, 3],
  [2, 4],
  [5, 7],
  [6, 8],
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((module) => [module]),
];
/** Fabric Manager's partitions of an eight-GPU board, by module id. */
export const PARTITIONS = SETS.map((module_ids, partition_id) => ({ partition_id, module_ids: [...module_ids] }));

export type Hold =
  | 'claimed'
  | 'cleaning'
  | 'cleanup_blocked'
  | 'quarantined'
  | 'unapproved'
  | 'drift'
  | 'unhealthy'
  | 'not_ready'
  | 'held';

export type Shape = Sku['capacity_shape'];

const STATUS_HOLD: Readonly<Partial<Record<Slot['status'], Hold>>> = {
  reserved: 'claimed',
  in_use: 'claimed',
  cleaning: 'cleaning',
  cleanup_blocked: 'cleanup_blocked',
  quarantined: 'quarantined',
};

export const slotsOf = (world: World, nodeId: string): readonly Slot[] => world.slotsOf.get(nodeId) ?? [];

/** What keeps one GPU from being claimed, whatever its node. */
export const slotHold = (slot: Slot): Hold | null => {
  const held = STATUS_HOLD[slot.status];
  if (held !== undefined) return held;
  if (slot.approval === 'needs_reapproval' || slot.drift !== null) return 'drift';
  if (slot.approval !== 'approved') return 'unapproved';
  return slot.health === 'ok' ? null : 'unhealthy';
};

export const liveNodeClaim = (world: World, nodeId: string): boolean => world.exclusive.has(nodeId);

export const isOpen = (node: Node): boolean =>
  node.state === 'active' && node.health === 'ok' && node.is_runtime_validated && !node.reboot_required;

/** The slots that the shape could have on the node now; none of a node that is not for it. */
export const freeSlots = (world: World, node: Node, shape: Shape): readonly Slot[] => {
  if (!isOpen(node) || liveNodeClaim(world, node.id)) return [];
  if (shape === 'gpu_slice' && (node.capacity_mode === 'baremetal' || node.is_held)) return [];
  if (shape === 'baremetal' && node.capacity_mode === 'slice') return [];
  const free = slotsOf(world, node.id).filter((slot) => slotHold(slot) === null);
  return shape === 'baremetal' && free.length < node.gpu_count ? [] : free;
};

/** A set of free slots that the fabric joins; the fullest half first, so that whole nodes stay whole. */
export const legalSet = (free: readonly Slot[], count: number): readonly Slot[] | null => {
  const byModule = new Map(free.map((slot) => [slot.module_id, slot]));
  const sets = SETS.filter((set) => set.length === count).flatMap((set) => {
    const slots = set.flatMap((module) => byModule.get(module) ?? []);
    return slots.length === count ? [slots] : [];
  });
  return sets[0] ?? null;
};

const COUNTS = [8, 4, 2, 1];

export const largestSet = (free: readonly Slot[]): number =>
  COUNTS.find((count) => legalSet(free, count) !== null) ?? 0;

export type Spot = Readonly<{ node: Node; slots: readonly Slot[] }>;

/** The nodes that could take it, best first: the one that would be left with the least free. */
export const spotsFor = (world: World, sku: Sku, regionName: string, count: number): readonly Spot[] =>
  [...world.nodes.values()]
    .filter((node) => node.region_name === regionName && node.gpu_model === sku.gpu_model)
    .flatMap((node) => {
      const free = freeSlots(world, node, sku.capacity_shape);
      const slots = legalSet(free, count);
      return slots === null ? [] : [{ node, slots, left: free.length - count }];
    })
    .sort((a, b) => a.left - b.left || (a.node.name < b.node.name ? -1 : 1));

export const regionLargest = (world: World, sku: Sku, regionName: string): number =>
  Math.max(0, ...sku.allowed_gpu_counts.filter((count) => spotsFor(world, sku, regionName, count).length > 0));
