/**
 * The amounts of a refusal in a fleet larger than the sample. They come from the counters, which are seconds old and
 * cover every node the tenant may see; the decision and the alternatives do not change.
 */
import { type Decision, type Fit, NONE_UNAVAILABLE, type PlacementRequest, reasonsFor } from '@gpuaas/scheduler';
import type { CapacityCounts } from '../db/capacity.ts';

export type WideDecision = Readonly<{ decision: Decision; fit: Fit }>;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);

/** `pools` are the counters of the pools that serve the tenant; `looked_at` is the number of nodes in the decision. */
export const withFleetAmounts = (
  wide: WideDecision,
  request: PlacementRequest,
  pools: readonly CapacityCounts[],
  looked_at: number,
): WideDecision => {
  const nodes_total = sum(pools.map((pool) => pool.nodes));
  if (nodes_total <= looked_at) return wide;
  const shapes = pools.map((pool) => pool[request.shape]);
  const fit = { ...wide.fit, nodes: sum(shapes.map((shape) => shape.nodes_that_fit[String(request.gpu_count)] ?? 0)) };
  const { decision } = wide;
  if (decision.kind === 'placed') return { decision, fit };
  const unavailable_gpus = { ...NONE_UNAVAILABLE };
  // Counts of an earlier build have none until the next count.
  for (const shape of shapes)
    for (const [kind, gpus] of Object.entries(shape.unavailable_gpus ?? {}))
      unavailable_gpus[kind as keyof typeof unavailable_gpus] += gpus;
  const facts = {
    code: decision.code,
    unavailable_gpus,
    gpus_total: sum(shapes.map((shape) => shape.gpus_total)),
    free_gpus: sum(shapes.map((shape) => shape.free_gpus)),
    largest_set: Math.max(...shapes.map((shape) => shape.largest_set)),
  };
  return { decision: { ...decision, ...facts, nodes_total, reasons: reasonsFor(facts, request) }, fit };
};
