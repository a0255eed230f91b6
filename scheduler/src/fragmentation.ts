/**
 * The operators' fragmentation line: how much is free, how much of it one slice could get, and which node would be
 * empty with the fewest GPUs moved. The caller chooses the nodes, such as those of one region and SKU.
 */

import { freeMask, largestLegalSet, legalTable, popcount } from './legal-sets.ts';
import type { SchedulerNode } from './model.ts';
import { slotReason } from './unavailable.ts';

export type Fragmentation = Readonly<{
  free_gpus: number;
  largest_set: number;
  /** Nodes with every slot free. */
  whole_nodes: number;
  drain: Readonly<{ node_id: string; gpus_to_move: number }> | null;
}>;

const isOpen = (node: SchedulerNode): boolean =>
  node.state === 'active' && node.health === 'ok' && (node.occupancy === 'free' || node.occupancy === 'sliced');

/** GPUs that must move to empty the node, or null when moving would not do so. */
const gpusToMove = (node: SchedulerNode): number | null => {
  let claimed = 0;
  for (const slot of node.slots) {
    const hold = slotReason(slot, true);
    if (hold === 'claimed') claimed += 1;
    else if (hold !== null && hold !== 'cleaning') return null;
  }
  return claimed > 0 ? claimed : null;
};

export const fragmentation = (nodes: readonly SchedulerNode[]): Fragmentation => {
  let free_gpus = 0;
  let largest_set = 0;
  let whole_nodes = 0;
  let drain: Fragmentation['drain'] = null;
  for (const node of nodes) {
    if (!isOpen(node) || node.slots.length === 0) continue;
    const free = freeMask(node.slots);
    free_gpus += popcount(free);
    largest_set = Math.max(largest_set, largestLegalSet(free, legalTable(node)));
    if (popcount(free) === node.slots.length) whole_nodes += 1;
    const moves = gpusToMove(node);
    if (moves === null) continue;
    if (!drain || moves < drain.gpus_to_move || (moves === drain.gpus_to_move && node.id < drain.node_id)) {
      drain = { node_id: node.id, gpus_to_move: moves };
    }
  }
  return { free_gpus, largest_set, whole_nodes, drain };
};

export const fragmentationLine = ({ free_gpus, largest_set, drain }: Fragmentation): string =>
  `free ${free_gpus}, largest set ${largest_set}${drain ? `; draining ${drain.node_id} would free a whole node (${drain.gpus_to_move === 1 ? '1 GPU' : `${drain.gpus_to_move} GPUs`} to move)` : ''}`;
