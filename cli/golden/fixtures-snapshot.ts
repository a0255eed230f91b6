/** A small fleet for the offline scheduler. */
import { type SchedulerNode, SNAPSHOT_VERSION, type Snapshot } from '@gpuaas/scheduler';

const id = (prefix: string, last: string): string => `${prefix}_01k9zv3m8q4t6w2x5y7r0s1n${last.padStart(2, '0')}`;

const schedulerNode = (last: string, used: readonly number[]): SchedulerNode => ({
  id: id('nod', last),
  region: 'eu-north-1',
  sku_names: ['h200-sxm-slice', 'h200-sxm-baremetal-8g'],
  state: 'active',
  host_role: 'worker_compute',
  pool: { id: id('pol', '1a'), tenant_id: null },
  capacity_mode: 'slice',
  occupancy: used.length === 0 ? 'free' : 'sliced',
  held_for: null,
  oldest_claim_at_s: used.length === 0 ? null : 1_794_736_000,
  health: 'ok',
  runtime_validated: true,
  slots: Array.from({ length: 8 }, (_, index) => ({
    id: id('slt', `${last.slice(0, 1)}${index}`),
    slot_index: index,
    module_id: index + 1,
    numa_node: index < 4 ? 0 : 1,
    parent_slot_id: null,
    approval: 'approved',
    status: used.includes(index) ? 'in_use' : 'available',
    health: 'ok',
    has_gpu: true,
    has_nvme: true,
    has_mac: true,
    has_private_ip: true,
    has_fabric_vf: true,
    fabric_claim_mode: 'per_slot_vf',
  })),
  partitions: null,
});
export const snapshot: Snapshot = {
  snapshot_version: SNAPSHOT_VERSION,
  nodes: [
    schedulerNode('1a', [0, 1, 2, 3, 4, 5]),
    schedulerNode('2b', [0, 1, 2, 3]),
    { ...schedulerNode('3c', []), state: 'draining' },
  ],
  regions: [{ name: 'eu-north-1', enabled: true }],
  skus: [
    {
      name: 'h200-sxm-slice',
      shape: 'gpu_slice',
      enabled: true,
      allowed_gpu_counts: [1, 2, 4, 8],
      gpus_per_node: 8,
    },
  ],
};
