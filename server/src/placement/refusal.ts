/**
 * Why nothing fits, and what would. Only refusals come here, so it may examine more than a placement: the best nodes of
 * the index for every count and region, and a sample of the region's nodes. In a fleet larger than the sample the
 * amounts come from the counters, which are seconds old; the decision never does.
 */
import {
  DEFAULT_POLICY,
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
import { type Expected, nextExpected } from '../domain/expected-capacity.ts';
import { type CheckedLaunch, placementRefusal } from '../domain/launch.ts';
import { AppError } from '../errors.ts';
import { type WideDecision, withFleetAmounts } from './amounts.ts';

const HEADS_DEPTH = 4;
const SAMPLE_NODES = 256;

/** The inputs of a decision when a request does not simply fit. */
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

/** The refusal as the server throws it. */
export const refusalOf = (decision: Unplaceable, launch: CheckedLaunch, expected: Expected | null = null): AppError => {
  const { code, message, expected: _, ...details } = placementRefusal(decision, launch, expected);
  return new AppError(code, message, { ...details, retry_after_s: 30 });
};

/** The decision over everything visible, for estimates and refusals. */
export const decideWide = async (
  reader: Reader,
  request: PlacementRequest,
  gpuModel: string,
): Promise<WideDecision & Readonly<{ expected: Expected | null }>> => {
  const [snapshot, { pools, read_at }] = await Promise.all([
    wideSnapshot(reader, request, gpuModel),
    listPoolCounts(reader, { region_name: request.region, gpu_model: gpuModel, organization_id: request.tenant_id }),
  ]);
  const wide = { decision: place(request, snapshot, DEFAULT_POLICY), fit: fitsNow(request, snapshot) };
  const expected =
    read_at === null
      ? null
      : nextExpected(
          pools.map((pool) => pool[request.shape].expected ?? []),
          request.gpu_count,
          read_at,
        );
  return { ...withFleetAmounts(wide, request, pools, SAMPLE_NODES), expected };
};
