/**
 * The scheduler and its references. All of them may only use legal fabric sets; the references differ in how they
 * choose a node, and take its lowest legal set.
 */
import { HGX_PARTITIONS } from '@gpuaas/contract';
import {
  afterClaim,
  afterRelease,
  DEFAULT_POLICY,
  type FabricPartition,
  type PlacementIndexRow,
  type PlacementRequest,
  place,
  placementIndexRow,
  type SchedulerNode,
} from '@gpuaas/scheduler';
import type { PackingPolicy, Spot } from './simulate.ts';
import { chance, GPUS_PER_NODE, NODES } from './workload.ts';

/** NVIDIA's table for boards of eight, and module ids that are not in slot order. */
const TABLE: readonly FabricPartition[] = HGX_PARTITIONS.map((module_ids, index) => ({ id: `p${index}`, module_ids }));
const MODULES = [2, 4, 3, 1, 5, 7, 6, 8];

const newNode = (index: number): SchedulerNode => ({
  id: `nod_${String(index).padStart(4, '0')}`,
  region: 'bench',
  sku_names: ['slice'],
  state: 'active',
  host_role: 'worker_compute',
  pool: { id: 'shared', tenant_id: null },
  capacity_mode: 'flexible',
  occupancy: 'free',
  oldest_claim_at_s: null,
  held_for: null,
  health: 'ok',
  runtime_validated: true,
  partitions: TABLE,
  slots: MODULES.map((module_id, slot_index) => ({
    id: `${slot_index}`,
    slot_index,
    module_id,
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
  })),
});

const request = (gpu_count: number): PlacementRequest => ({
  shape: 'gpu_slice',
  sku: 'slice',
  region: 'bench',
  gpu_count,
  allowed_gpu_counts: [1, 2, 4, 8],
  gpus_per_node: GPUS_PER_NODE,
  tenant_id: 'bench',
  quota_gpus_remaining: null,
});

const POLICY = { ...DEFAULT_POLICY, alternatives_max: 0 };
/** How many rows of the index a decision sees; the winner is the first. */
const ROWS = 2;
/** One mean duration in seconds: claim times are whole seconds. */
const MEAN_DURATION_S = 24 * 3600;

type Entry = { node: SchedulerNode; row: PlacementIndexRow; claims: Map<number, number> };

const slotIds = (mask: number): readonly string[] =>
  MODULES.flatMap((_, index) => ((mask >>> index) & 1 ? [`${index}`] : []));

const firstRows = (entries: readonly Entry[], gpus: number): readonly Entry[] => {
  const key = (entry: Entry): number => entry.row.score_keys[gpus] ?? Number.POSITIVE_INFINITY;
  const rows: Entry[] = [];
  for (const entry of entries) {
    if (key(entry) === Number.POSITIVE_INFINITY) continue;
    const before = rows.findIndex((row) => key(entry) < key(row));
    if (before !== -1) rows.splice(before, 0, entry);
    else if (rows.length < ROWS) rows.push(entry);
    rows.length = Math.min(rows.length, ROWS);
  }
  return rows;
};

export const scheduler = (): PackingPolicy => {
  const entries = Array.from({ length: NODES }, (_, index): Entry => {
    const node = newNode(index);
    return { node, row: placementIndexRow(node), claims: new Map() };
  });
  const update = (entry: Entry, node: SchedulerNode): void => {
    entry.node = node;
    entry.row = placementIndexRow(node);
  };
  return {
    take(gpus, at) {
      const nodes = firstRows(entries, gpus).map((entry) => entry.node);
      const decision = place(request(gpus), { snapshot_version: 1, nodes, regions: [], skus: [] }, POLICY);
      if (decision.kind === 'unplaceable') return null;
      const index = entries.findIndex((entry) => entry.node.id === decision.node_id);
      const entry = entries[index];
      if (entry === undefined) throw new Error('placed on a node that does not exist');
      const claimed_at_s = Math.floor(at * MEAN_DURATION_S);
      const mask = decision.slot_ids.reduce((sum, id) => sum | (1 << Number(id)), 0);
      entry.claims.set(mask, claimed_at_s);
      update(entry, afterClaim(entry.node, { slot_ids: decision.slot_ids, shape: 'gpu_slice', claimed_at_s }));
      return { node: index, mask };
    },
    give({ node, mask }) {
      const entry = entries[node];
      if (entry === undefined) throw new Error('released on a node that does not exist');
      entry.claims.delete(mask);
      const oldest_claim_at_s = entry.claims.size === 0 ? null : Math.min(...entry.claims.values());
      update(entry, afterRelease(entry.node, { slot_ids: slotIds(mask), oldest_claim_at_s }));
    },
  };
};

/** Legal sets as masks, by size, lowest first: the table above in slot order. */
const SETS: Readonly<Record<number, readonly number[]>> = {
  1: [1, 2, 4, 8, 16, 32, 64, 128],
  2: [3, 12, 48, 192],
  4: [15, 240],
  8: [255],
};

const bitCount = (mask: number): number => mask.toString(2).replaceAll('0', '').length;
const FREE_GPUS = Array.from({ length: 256 }, (_, mask) => bitCount(mask));

/** The fitting node with the lowest value, the first among equals. */
const byNode = (value: (freeGpus: number) => number) => (): PackingPolicy => {
  const free = new Uint8Array(NODES).fill(255);
  return {
    take(gpus) {
      let best: Spot | null = null;
      let least = Number.POSITIVE_INFINITY;
      for (let node = 0; node < NODES; node += 1) {
        const mask = free[node] ?? 0;
        const set = SETS[gpus]?.find((each) => (each & mask) === each);
        const worth = set === undefined ? least : value(FREE_GPUS[mask] ?? 0);
        if (set === undefined || worth >= least) continue;
        least = worth;
        best = { node, mask: set };
      }
      if (best !== null) free[best.node] = (free[best.node] ?? 0) & ~best.mask;
      return best;
    },
    give: ({ node, mask }) => {
      free[node] = (free[node] ?? 0) | mask;
    },
  };
};

export const firstFit = byNode(() => 0);

export const POLICIES: Readonly<Record<string, () => PackingPolicy>> = {
  'best-fit': byNode((freeGpus) => freeGpus),
  random: () => {
    const next = chance(7);
    return byNode(() => next())();
  },
  spread: byNode((freeGpus) => -freeGpus),
};
