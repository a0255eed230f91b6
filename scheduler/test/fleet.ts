/** Nodes and requests for tests: everything is valid unless the test changes it. */
import { HGX_PARTITIONS } from '@gpuaas/contract';
import type {
  FabricPartition,
  PlacementRequest,
  RegionFact,
  SchedulerNode,
  SchedulerSlot,
  SkuFact,
  Snapshot,
} from '../src/index.ts';

export const HGX_TABLE: readonly FabricPartition[] = HGX_PARTITIONS.map((module_ids, id) => ({
  id: `${id}`,
  module_ids,
}));

/** Module ids by slot index on a real H200 host: not in bus order. */
export const HGX_MODULES: readonly number[] = [2, 4, 3, 1, 5, 7, 6, 8];

export const aSlot = (slot_index: number, changes: Partial<SchedulerSlot> = {}): SchedulerSlot => ({
  id: `slt_${slot_index}`,
  slot_index,
  module_id: HGX_MODULES[slot_index] ?? null,
  numa_node: slot_index < 4 ? 0 : 1,
  parent_slot_id: null,
  approval: 'approved',
  status: 'available',
  health: 'ok',
  has_gpu: true,
  has_nvme: true,
  has_mac: true,
  has_private_ip: true,
  has_fabric_vf: true,
  fabric_claim_mode: 'per_slot_vf',
  ...changes,
});

/** Eight slots, with `changes` by slot index. */
export const slots = (changes: Readonly<Record<number, Partial<SchedulerSlot>>> = {}): readonly SchedulerSlot[] =>
  HGX_MODULES.map((_, index) => aSlot(index, changes[index]));

/** Eight slots of which only these are free. */
export const onlyFree = (...free: readonly number[]): readonly SchedulerSlot[] =>
  HGX_MODULES.map((_, index) => aSlot(index, { status: free.includes(index) ? 'available' : 'in_use' }));

export const aNode = (changes: Partial<SchedulerNode> = {}): SchedulerNode => ({
  id: 'nod_a',
  region: 'north',
  sku_names: ['h200-slice', 'h200-whole'],
  state: 'active',
  host_role: 'worker_compute',
  pool: { id: 'shared', tenant_id: null },
  capacity_mode: 'slice',
  occupancy: 'free',
  oldest_claim_at_s: null,
  held_for: null,
  health: 'ok',
  runtime_validated: true,
  slots: slots(),
  partitions: HGX_TABLE,
  ...changes,
});

export const aSlice = (gpu_count: number, changes: Partial<PlacementRequest> = {}): PlacementRequest => ({
  shape: 'gpu_slice',
  sku: 'h200-slice',
  region: 'north',
  gpu_count,
  allowed_gpu_counts: [1, 2, 4, 8],
  gpus_per_node: 8,
  tenant_id: 'org_a',
  quota_gpus_remaining: null,
  ...changes,
});

export const bareMetal = (changes: Partial<PlacementRequest> = {}): PlacementRequest =>
  aSlice(8, { shape: 'baremetal', sku: 'h200-whole', allowed_gpu_counts: [8], ...changes });

export const SKUS: readonly SkuFact[] = [
  { name: 'h200-slice', shape: 'gpu_slice', enabled: true, allowed_gpu_counts: [1, 2, 4, 8], gpus_per_node: 8 },
  { name: 'h200-whole', shape: 'baremetal', enabled: true, allowed_gpu_counts: [8], gpus_per_node: 8 },
];

export const REGIONS: readonly RegionFact[] = [
  { name: 'north', enabled: true },
  { name: 'south', enabled: true },
];

export const aSnapshot = (nodes: readonly SchedulerNode[], changes: Partial<Snapshot> = {}): Snapshot => ({
  snapshot_version: 1,
  nodes,
  regions: REGIONS,
  skus: SKUS,
  ...changes,
});
