/**
 * The placement index: one row per node with a rank per GPU count, or null if the count does not fit. It is derived
 * from the node and its slots by the scheduler's rules and written in the transaction that changes them, so the first
 * rows of the index always contain the best node.
 */

import { invariant } from '@gpuaas/kit';
import {
  bareMetalScoreKey,
  candidateOf,
  DEFAULT_POLICY,
  type PlacementRequest,
  placementIndexRow,
  rejectedBy,
  type SchedulerNode,
} from '@gpuaas/scheduler';
import type { Tx } from '../db/client.ts';
import { loadSchedulerNode, lockSummary, putSummary, type SummaryRow } from '../db/placement.ts';

/** A request for this node alone: only the node's own state can refuse it. */
const probe = (node: SchedulerNode, shape: PlacementRequest['shape'], gpuCount: number): PlacementRequest => ({
  shape,
  sku: node.sku_names[0] ?? '',
  region: node.region,
  gpu_count: gpuCount,
  allowed_gpu_counts: [gpuCount],
  gpus_per_node: node.slots.length,
  tenant_id: node.pool.tenant_id ?? '',
  quota_gpus_remaining: null,
});

export const summaryRow = (node: SchedulerNode, gpuModel: string): SummaryRow => {
  const index = placementIndexRow(node, DEFAULT_POLICY);
  const candidate = candidateOf(node);
  const fits = (shape: PlacementRequest['shape'], count: number): boolean =>
    rejectedBy(candidate, probe(node, shape, count)) === null;
  const key = (count: 1 | 2 | 4 | 8): number | null => {
    const score = index.score_keys[count] ?? null;
    return score !== null && fits('gpu_slice', count) ? score : null;
  };
  const keys = { key_1: key(1), key_2: key(2), key_4: key(4), key_8: key(8) };
  const key_node = fits('baremetal', node.slots.length) ? bareMetalScoreKey(node) : null;
  return {
    node_id: node.id,
    region_name: node.region,
    gpu_model: gpuModel,
    pool_organization_id: node.pool.tenant_id ?? '',
    capacity_mode: node.capacity_mode,
    occupancy: node.occupancy,
    is_schedulable: keys.key_1 !== null || key_node !== null,
    free_mask: index.free_mask,
    free_count: index.free_gpus,
    largest_set: index.largest_legal_set,
    ...keys,
    key_node,
  };
};

/** Recomputes a node's row within the transaction. Call it after every change of placement input. */
export const refreshSummary = async (tx: Tx, nodeId: string): Promise<void> => {
  await lockSummary(tx, nodeId);
  const found = await loadSchedulerNode(tx, nodeId);
  invariant(found !== undefined, `node ${nodeId} exists`);
  await putSummary(tx, summaryRow(found.node, found.gpu_model));
};
