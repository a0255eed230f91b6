/**
 * The data of placement: plain data, the same in memory, on the wire and in an operator's snapshot file, so that a
 * decision can be replayed offline. It contains no host name, PCI address or serial; a slot only states whether it has
 * what a slice needs. Nothing here is a reference: two equal snapshots give equal decisions.
 */

export const SNAPSHOT_VERSION = 1;

export type CapacityShape = 'baremetal' | 'gpu_slice';
export type SlotApproval = 'approved' | 'disabled' | 'needs_reapproval';
export type SlotStatus = 'available' | 'reserved' | 'in_use' | 'cleaning' | 'cleanup_blocked' | 'quarantined';
export type Health = 'ok' | 'unhealthy' | 'unknown';
export type NodeState = 'bootstrap_issued' | 'enrolling' | 'active' | 'offline' | 'draining' | 'retired' | 'deleted';
export type CapacityMode = 'slice' | 'baremetal' | 'flexible';
export type Occupancy = 'free' | 'sliced' | 'exclusive' | 'cleaning' | 'cleanup_blocked';

/** One whole GPU with its bundle. */
export type SchedulerSlot = Readonly<{
  id: string;
  /** Its bit in the node's masks: 0 to 30. */
  slot_index: number;
  /** NVIDIA's module ID, by which fabric partitions are named; null where the board has none. */
  module_id: number | null;
  numa_node: number | null;
  /** Fractional children come later; only whole GPUs are placed, so this is null. */
  parent_slot_id: null;
  approval: SlotApproval;
  status: SlotStatus;
  health: Health;
  has_gpu: boolean;
  has_nvme: boolean;
  has_mac: boolean;
  has_private_ip: boolean;
  has_fabric_vf: boolean;
  fabric_claim_mode: string | null;
}>;

/** A set of GPUs that Fabric Manager can assign to one guest. */
export type FabricPartition = Readonly<{ id: string; module_ids: readonly number[] }>;

/** What the newest discovery found that VMs can get of a host. */
export type HostSize = Readonly<{
  gpu_count: number;
  vcpu_count: number;
  memory_mib: number;
  /** 0: the host has none, and VMs use its memory. */
  hugepages_mib: number;
  numa_nodes: number;
  /** By page size and in all; absent before a discovery of this release, and in older snapshots: not checked. */
  pages_mib?: Readonly<{ '2M': number; '1G': number; reserved: number }> | null;
}>;

/** The VM of a slice. */
export type VmSize = Readonly<{
  vcpu_count: number;
  memory_mib: number;
  /** Absent: auto. */
  hugepages?: 'auto' | 'none' | '2M' | '1G';
  /** Absent: strict. */
  numa_policy?: 'strict' | 'preferred' | 'none';
}>;

/** How a VM starts its image: in firmware, or with a kernel of the host. */
export type BootKind = 'uefi' | 'kernel';

export type SchedulerNode = Readonly<{
  id: string;
  region: string;
  /** The SKUs whose hardware this node has, whatever its capacity mode. */
  sku_names: readonly string[];
  state: NodeState;
  host_role: string;
  /** A pool with a tenant is that tenant's alone. */
  pool: Readonly<{ id: string; tenant_id: string | null }>;
  capacity_mode: CapacityMode;
  occupancy: Occupancy;
  /** When the oldest live claim on it was made, in Unix seconds; null without claims. */
  oldest_claim_at_s: number | null;
  held_for: 'baremetal' | null;
  health: Health;
  /** Launches that failed on it since one last succeeded; absent in snapshots of older versions. */
  launch_failures?: number;
  /** Data disks that a release wipes and proves; absent in snapshots of older versions. */
  data_disks?: number;
  /** Disks that discovery found, no operator excluded and no release of the whole node would wipe; absent in snapshots of older versions. */
  unapproved_disks?: number;
  /** null before a discovery, and absent in snapshots of older versions: not checked. */
  host?: HostSize | null;
  /** Discovery found GPUs that are not of the node's model; absent in snapshots of older versions. */
  has_other_gpus?: boolean;
  /** A prerequisite check newer than the node's boot has passed. */
  runtime_validated: boolean;
  /** How its VMs can start; null before the agent reported it, and absent in snapshots of older versions: `uefi`. */
  boot_kinds?: readonly BootKind[] | null;
  slots: readonly SchedulerSlot[];
  /** null: no NVSwitch on the board, so any set of GPUs is legal. */
  partitions: readonly FabricPartition[] | null;
}>;

export type PlacementRequest = Readonly<{
  shape: CapacityShape;
  sku: string;
  region: string;
  gpu_count: number;
  allowed_gpu_counts: readonly number[];
  gpus_per_node: number;
  tenant_id: string;
  /** The VM of a slice; null or absent: its size is not checked. */
  vm?: VmSize | null;
  /** Of the image of a slice; null or absent: not checked. */
  boot_kind?: BootKind | null;
  /** null: no quota. */
  quota_gpus_remaining: number | null;
}>;

export type RegionFact = Readonly<{ name: string; enabled: boolean }>;

export type SkuFact = Readonly<{
  name: string;
  shape: CapacityShape;
  enabled: boolean;
  allowed_gpu_counts: readonly number[];
  gpus_per_node: number;
}>;

export type Snapshot = Readonly<{
  snapshot_version: typeof SNAPSHOT_VERSION;
  nodes: readonly SchedulerNode[];
  /** The catalog, for `sku_disabled`, `region_disabled` and alternatives. What it does not name is taken as enabled. */
  regions: readonly RegionFact[];
  skus: readonly SkuFact[];
}>;

/** The rules that rank nodes, most important first; see scorers.ts. */
export type ScorerName = 'cooling' | 'clean_node' | 'fragmentation' | 'flexible' | 'numa_span' | 'age';

export type Policy = Readonly<{
  scorers: readonly ScorerName[];
  /** How many alternatives a refusal lists; 0 looks for none. */
  alternatives_max: number;
}>;

/** Why a GPU is unavailable for this request. `fragmented` is free, but on a node with too few free GPUs. */
export type UnavailableReason =
  | 'claimed'
  | 'cleaning'
  | 'cleanup_blocked'
  | 'quarantined'
  | 'unapproved'
  | 'hardware_changed'
  | 'unhealthy'
  | 'incomplete'
  | 'not_ready'
  | 'held'
  | 'fabric'
  | 'fragmented'
  | 'boot_kind'
  | 'quota';

export type UnavailableGpus = Readonly<Record<UnavailableReason, number>>;

export type FilterName =
  | 'region'
  | 'node_state'
  | 'gpu_model'
  | 'host_role'
  | 'pool'
  | 'sku'
  | 'capacity_mode'
  | 'occupancy'
  | 'held'
  | 'node_health'
  | 'runtime_validated'
  | 'boot_kind'
  | 'host_size'
  | 'slot_completeness'
  | 'count_on_one_node'
  | 'fabric'
  | 'quota';

/** How many nodes were left after the filter. */
export type FilterCount = Readonly<{ name: FilterName; survivors: number }>;

/** Why one node was refused; `detail` is for operators and names no device. */
export type Rejection = Readonly<{ node_id: string; filter: FilterName; detail: string }>;

export type UnplaceableCode =
  | 'insufficient_capacity'
  | 'quota_exceeded'
  | 'sku_disabled'
  | 'region_disabled'
  | 'gpu_count_not_allowed';

export type Reason = Readonly<{
  code: UnplaceableCode | 'no_nodes' | 'no_capacity' | 'one_node' | UnavailableReason;
  gpus: number;
  /** A sentence for the user. */
  detail: string;
}>;

/** What the tenant could ask for instead; `placementRequestOf` turns it into a request. */
export type Alternative = Readonly<{
  kind: 'gpu_count' | 'region' | 'shape' | 'sku';
  shape: CapacityShape;
  sku: string;
  region: string;
  gpu_count: number;
}>;

export type Placed = Readonly<{
  kind: 'placed';
  node_id: string;
  /** Sorted by slot index. Bare metal lists every slot of the node. */
  slot_ids: readonly string[];
  /** The fabric partition to activate; null without NVSwitch and for bare metal. */
  partition_id: string | null;
  /** The winner's value under each scorer of the policy; smaller is better. */
  scores: Readonly<Partial<Record<ScorerName, number>>>;
}>;

export type Unplaceable = Readonly<{
  kind: 'unplaceable';
  code: UnplaceableCode;
  /** In filter order; the nodes before the first filter are `nodes_total`. */
  filters: readonly FilterCount[];
  nodes_total: number;
  rejections: readonly Rejection[];
  /** GPUs of the requested region and SKU that this tenant may see, by unavailable reason. */
  unavailable_gpus: UnavailableGpus;
  /** GPUs of that region and SKU in all. */
  gpus_total: number;
  free_gpus: number;
  /** The largest legal set free on one node now. */
  largest_set: number;
  reasons: readonly Reason[];
  alternatives: readonly Alternative[];
  /** Empty `slice` nodes that an operator could convert for this bare-metal request. Never shown to tenants. */
  convertible_node_ids: readonly string[];
}>;

export type Decision = Placed | Unplaceable;
