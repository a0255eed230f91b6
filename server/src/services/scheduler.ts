/** The scheduler's input as a file for replay: the same data gives the same decision offline. */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import { SNAPSHOT_VERSION, type Snapshot } from '@gpuaas/scheduler';
import type { ReadCtx } from '../context.ts';
import { listSchedulerNodes } from '../db/placement.ts';
import { listRegions } from '../db/region.ts';
import { listSkus } from '../db/sku.ts';
import { skuAvailability } from '../domain/catalog.ts';

const NODES_DEFAULT = 1_000;
const CATALOG_MAX = 10_000;

export const snapshot = (ctx: ReadCtx, { query }: RequestOf<PublicApi['adminSchedulerSnapshot']>) =>
  ctx.read(async (reader) => {
    const limit = query.limit ?? NODES_DEFAULT;
    const all = { after: null, limit: CATALOG_MAX };
    const [nodes, regions, skus] = await Promise.all([
      listSchedulerNodes(reader, {
        region_name: query.region_name ?? null,
        gpu_model: null,
        organization_id: null,
        limit: limit + 1,
      }),
      listRegions(reader, all),
      listSkus(reader, all),
    ]);
    const seen: Snapshot = {
      snapshot_version: SNAPSHOT_VERSION,
      nodes: nodes.slice(0, limit),
      regions: regions.map(({ name, enabled }) => ({ name, enabled })),
      skus: skus.map((sku) => ({
        name: sku.name,
        shape: sku.capacity_shape,
        enabled: skuAvailability(sku).enabled,
        allowed_gpu_counts: sku.allowed_gpu_counts,
        gpus_per_node: sku.gpus_per_node,
      })),
    };
    // A decision over part of the fleet may differ from the fleet's, and the file must state it.
    return { ...seen, taken_at: ctx.deps.clock.now().toISOString(), is_whole_fleet: nodes.length <= limit };
  });
