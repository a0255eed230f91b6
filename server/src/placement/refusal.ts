/**
 * Why nothing fits, and what would. Only a refusal comes here, so it may look further than a placement: the heads of
 * the index for every count and region, and a sample of the region's nodes. In a fleet larger than the sample the
 * amounts come from the counters, which are seconds old; the verdict never does.
 */
import {
  DEFAULT_POLICY,
  explainToUser,
  fitsNow,
  type PlacementRequest,
  place,
  type SchedulerNode,
  SNAPSHOT_VERSION,
  type Snapshot,
  type Unplaceable,
} from '@gpuaas/scheduler';
import { listPoolCounts } from '../db/capacity.ts';
import type { Reader } from '../db/client.ts';
import { listSchedulerNodes } from '../db/placement.ts';
import { listBestNodes } from '../db/placement-index.ts';
import { findCatalogFacts } from '../db/statements/launch.ts';
import { AppError } from '../errors.ts';
import { type WideDecision, withFleetAmounts } from './amounts.ts';
import type { CheckedLaunch } from './request.ts';

const HEADS_DEPTH = 4;
const SAMPLE_NODES = 256;

/** What a tenant's request is judged by when it does not simply fit. */
export const wideSnapshot = async (reader: Reader, request: PlacementRequest, gpuModel: string): Promise<Snapshot> => {
  const [catalog, heads, sample] = await Promise.all([
    findCatalogFacts(reader, gpuModel),
    listBestNodes(reader, {
      region_name: null,
      gpu_model: gpuModel,
      organization_id: request.tenant_id,
      depth: HEADS_DEPTH,
    }),
    listSchedulerNodes(reader, {
      region_name: request.region,
      gpu_model: gpuModel,
      organization_id: request.tenant_id,
      limit: SAMPLE_NODES,
    }),
  ]);
  const nodes = new Map<string, SchedulerNode>([...heads, ...sample].map((node) => [node.id, node]));
  return { snapshot_version: SNAPSHOT_VERSION, nodes: [...nodes.values()], ...catalog };
};

const HTTP_CODES = {
  insufficient_capacity: 'insufficient_capacity',
  quota_exceeded: 'quota_exceeded',
  sku_disabled: 'sku_disabled',
  region_disabled: 'region_disabled',
  gpu_count_not_allowed: 'invalid_request',
} as const satisfies Record<Unplaceable['code'], string>;

/** Reasons as the API shows them: codes, amounts and sentences; no node, host or device is named. */
export const reasonsOf = (decision: Unplaceable) => [
  ...decision.reasons.map((reason) => ({ ...reason })),
  {
    code: 'filters',
    nodes_total: decision.nodes_total,
    survivors: Object.fromEntries(decision.filters.map(({ name, survivors }) => [name, survivors])),
    held_by: Object.fromEntries(Object.entries(decision.held_by).filter(([, gpus]) => gpus > 0)),
    free_gpus: decision.free_gpus,
    largest_set: decision.largest_set,
  },
];

/** In the words of the launch itself: what is here can be laid over the refused body and sent again. */
export const alternativesOf = (decision: Unplaceable) =>
  decision.alternatives.map(({ shape, sku, region, gpu_count }) => ({
    capacity_shape: shape,
    sku_name: sku,
    region_name: region,
    gpu_count,
  }));

/** What the operator wrote about a closed SKU or region, which the scheduler does not know. */
const closedReason = (code: Unplaceable['code'], { sku, region }: CheckedLaunch): string | null => {
  if (code === 'region_disabled') return region.disabled_reason;
  return code === 'sku_disabled' ? sku.disabled_reason : null;
};

export const refusalOf = (decision: Unplaceable, launch: CheckedLaunch): AppError => {
  const because = closedReason(decision.code, launch);
  const sentence = explainToUser(decision, launch.request);
  return new AppError(HTTP_CODES[decision.code], because === null ? sentence : `${sentence} ${because}`, {
    reasons: reasonsOf(decision),
    alternatives: alternativesOf(decision),
    retry_after_s: 30,
  });
};

/** The decision over all that can be seen, for estimates and refusals. */
export const decideWide = async (
  reader: Reader,
  request: PlacementRequest,
  gpuModel: string,
): Promise<WideDecision> => {
  const [snapshot, pools] = await Promise.all([
    wideSnapshot(reader, request, gpuModel),
    listPoolCounts(reader, { region_name: request.region, gpu_model: gpuModel, organization_id: request.tenant_id }),
  ]);
  const wide = { decision: place(request, snapshot, DEFAULT_POLICY), fit: fitsNow(request, snapshot) };
  return withFleetAmounts(wide, request, pools, SAMPLE_NODES);
};
