/** The scheduler's view of the mock. The scheduler itself decides what fits, where, and why not, as on the server. */
import { HGX_PARTITIONS } from '@gpuaas/contract';
import {
  candidateOf,
  capacityFacts,
  type Fit,
  fitsNow,
  type PlacementRequest,
  place,
  placementIndexRow,
  rejectedBy,
  type SchedulerNode,
  type SchedulerSlot,
  SNAPSHOT_VERSION,
  type Snapshot,
} from '@gpuaas/scheduler';
import type { Node, Sku, Slot } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { isOpen } from '../views/catalog.ts';
import { unapprovedDisks } from './disks.ts';
import { gpusOf } from './gpu-model.ts';
import { occupancyOf } from './slots.ts';

export const PARTITIONS = HGX_PARTITIONS.map((module_ids, partition_id) => ({
  partition_id,
  module_ids: [...module_ids],
}));
const SCHEDULER_PARTITIONS = PARTITIONS.map(({ partition_id, module_ids }) => ({
  id: String(partition_id),
  module_ids,
}));

const isLive = (row: Readonly<{ retired_at: string | null }>): boolean => row.retired_at === null;

export const slotsOf = (world: World, nodeId: string): readonly Slot[] => world.slotsOf.get(nodeId) ?? [];

const schedulerSlot = (slot: Slot): SchedulerSlot => ({
  id: slot.id,
  slot_index: slot.slot_index,
  module_id: slot.module_id,
  numa_node: slot.numa_node,
  parent_slot_id: null,
  approval: slot.approval,
  status: slot.status,
  health: slot.health,
  has_gpu: slot.gpu_pci_address !== null,
  has_nvme: slot.nvme_serial !== null,
  has_mac: slot.mac_address !== null,
  has_private_ip: slot.private_ip !== null,
  has_fabric_vf: slot.fabric_vf_pci_address !== null,
  fabric_claim_mode: 'per_slot_vf',
});

export const schedulerNode = (world: World, node: Node): SchedulerNode => {
  const slots = slotsOf(world, node.id);
  const claimed = slots.flatMap((slot) => (slot.allocation_id === null ? [] : (slot.last_claimed_at ?? [])));
  return {
    id: node.id,
    region: node.region_name,
    sku_names: world.skus.filter((sku) => sku.gpu_model === node.gpu_model).map((sku) => sku.name),
    state: node.state,
    host_role: node.host_role,
    pool: { id: node.pool_name, tenant_id: node.pool_organization_id },
    capacity_mode: node.capacity_mode,
    occupancy: occupancyOf(world, node),
    oldest_claim_at_s: claimed.length === 0 ? null : Math.floor(Date.parse(claimed.toSorted()[0] ?? '') / 1000),
    held_for: node.is_held ? 'baremetal' : null,
    health: node.health,
    launch_failures: node.launch_failures,
    has_other_gpus: gpusOf(world, node).gpu_model_conflict !== null,
    unapproved_disks: unapprovedDisks(world, node).length,
    runtime_validated: node.is_runtime_validated,
    boot_kinds: ['uefi', 'kernel'],
    slots: slots.map(schedulerSlot),
    partitions: SCHEDULER_PARTITIONS,
  };
};

export const snapshotOf = (world: World, isWanted: (node: Node) => boolean = () => true): Snapshot => ({
  snapshot_version: SNAPSHOT_VERSION,
  nodes: [...world.nodes.values()].filter(isWanted).map((node) => schedulerNode(world, node)),
  regions: world.regions.filter(isLive).map(({ name, enabled }) => ({ name, enabled })),
  skus: world.skus.filter(isLive).map((sku) => ({
    name: sku.name,
    shape: sku.capacity_shape,
    enabled: isOpen(world, sku),
    allowed_gpu_counts: sku.allowed_gpu_counts,
    gpus_per_node: sku.gpus_per_node,
  })),
});

/** A request that only the fleet itself can refuse. */
const requestFor = (sku: Sku, region: string, gpu_count: number, tenant_id = ''): PlacementRequest => ({
  shape: sku.capacity_shape,
  sku: sku.name,
  region,
  gpu_count,
  allowed_gpu_counts: sku.allowed_gpu_counts,
  gpus_per_node: sku.gpus_per_node,
  tenant_id,
  quota_gpus_remaining: null,
});

const smallest = (sku: Sku): number => Math.min(...sku.allowed_gpu_counts);

/** Launchable capacity of a SKU on these nodes; none if it is disabled. */
export const launchable = (
  snapshot: Snapshot,
  sku: Sku,
  region: string,
  tenantId?: string,
): Readonly<{ free_gpus: number; largest_set: number }> => {
  const isOffered =
    snapshot.skus.some((one) => one.name === sku.name && one.enabled) &&
    snapshot.regions.some((one) => one.name === region && one.enabled);
  const request = requestFor(sku, region, smallest(sku), tenantId);
  const fit: Fit = isOffered ? fitsNow(request, snapshot) : { nodes: 0, largest_count: 0 };
  if (fit.largest_count === 0) return { free_gpus: 0, largest_set: 0 };
  const judged = snapshot.nodes.map((node) => ({ node, refusal: rejectedBy(candidateOf(node), request) }));
  return { free_gpus: capacityFacts(judged, request).free_gpus, largest_set: fit.largest_count };
};

const skuOf = (world: World, node: Node, shape: Sku['capacity_shape']): Sku | undefined =>
  world.skus.find((one) => one.capacity_shape === shape && one.gpu_model === node.gpu_model);

/** Whether the node could take this many GPUs of the shape now. */
const takes = (world: World, node: Node, shape: Sku['capacity_shape'], gpuCount: number): boolean => {
  const sku = skuOf(world, node, shape);
  if (sku === undefined) return false;
  const request = requestFor(sku, node.region_name, gpuCount, node.pool_organization_id ?? '');
  return rejectedBy(candidateOf(schedulerNode(world, node)), request) === null;
};

export const takesBareMetal = (world: World, node: Node): boolean => takes(world, node, 'baremetal', node.gpu_count);

/** The free capacity of the node for a launch: as a whole or in slices. An unschedulable node has none. */
export const freeOf = (world: World, node: Node): Readonly<{ free_gpus: number; largest_set: number }> => {
  if (takesBareMetal(world, node)) return { free_gpus: node.gpu_count, largest_set: node.gpu_count };
  if (!takes(world, node, 'gpu_slice', 1)) return { free_gpus: 0, largest_set: 0 };
  const { free_gpus, largest_legal_set } = placementIndexRow(schedulerNode(world, node));
  return { free_gpus, largest_set: largest_legal_set };
};

/** The slots that a slice would get on this node, whatever its state; none if they are not free. */
export const slotsFor = (world: World, node: Node, gpuCount: number): readonly Slot[] => {
  const sku = skuOf(world, node, 'gpu_slice');
  if (sku === undefined) return [];
  const nodes: SchedulerNode[] = [
    { ...schedulerNode(world, node), state: 'active', capacity_mode: 'slice', held_for: null, runtime_validated: true },
  ];
  const decision = place(requestFor(sku, node.region_name, gpuCount), { ...snapshotOf(world, () => false), nodes });
  return decision.kind === 'placed' ? decision.slot_ids.flatMap((id) => world.slots.get(id) ?? []) : [];
};
