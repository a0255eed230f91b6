-- What there is to place on: pools, nodes, their slots and the GPU sets their fabric allows.
-- Inventory belongs to the platform, so it has no row-level security; tenants read it only as counts.

create table pools (
  id text primary key check (id like 'pol\_%'),
  name text not null unique check (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  -- Dedicated to one tenant, or shared by all.
  organization_id text references organizations,
  created_at timestamptz not null default now()
);

create table nodes (
  id text primary key check (id like 'nod\_%'),
  name text not null unique check (name ~ '^[A-Za-z0-9-]{1,64}$'),
  region_name text not null references regions,
  pool_id text not null references pools,
  gpu_model text not null,
  gpu_count integer not null check (gpu_count between 1 and 64),
  host_role text not null check (host_role in ('platform_control', 'app_control', 'worker_compute')),
  state text not null check (state in ('bootstrap_issued', 'enrolling', 'active', 'offline', 'quarantined', 'draining', 'retired', 'removing', 'deleted')),
  state_reason text,
  state_since timestamptz not null default now(),
  state_deadline_at timestamptz,
  capacity_mode text not null check (capacity_mode in ('slice', 'baremetal', 'flexible')),
  -- Who holds the node: see claim_mode, which claims pin. Null when free, so that taking a free node looks nothing up.
  occupancy text not null default 'free' check (occupancy in ('free', 'sliced', 'exclusive', 'cleaning', 'cleanup_blocked')),
  claim_mode text generated always as (case occupancy when 'free' then null when 'sliced' then 'sliced' else 'exclusive' end) stored,
  -- An operator keeps the node for bare metal.
  is_held boolean not null default false,
  held_reason text,
  health text not null default 'unknown' check (health in ('ok', 'unhealthy', 'unknown')),
  health_detail jsonb not null default '{}',
  booted_at timestamptz,
  -- The prerequisite check of slices; it counts while it is newer than the boot.
  runtime_checked_at timestamptz,
  is_runtime_passed boolean not null default false,
  -- Data disks that bare-metal cleanup wipes; none declared means no way to erase.
  data_disks jsonb not null default '[]',
  version integer not null default 1,
  created_at timestamptz not null default now(),
  unique (id, claim_mode),
  -- What slots pin: their node's site and role cannot change under them.
  unique (id, region_name, host_role),
  -- Slices never stand on bare-metal nodes, nor bare metal on slice nodes.
  constraint occupancy_fits_mode check (case capacity_mode when 'slice' then occupancy in ('free', 'sliced') when 'baremetal' then occupancy <> 'sliced' else true end),
  check (is_held = (held_reason is not null)),
  -- Only compute hosts are ever claimed.
  check (host_role = 'worker_compute' or occupancy = 'free')
);
create index nodes_by_region on nodes (region_name, id);

-- Fabric Manager's predefined sets, by module id. A node without rows here has no NVSwitch and any set is legal.
create table node_fabric_partitions (
  node_id text not null references nodes,
  partition_id integer not null,
  module_ids integer[] not null check (cardinality(module_ids) > 0),
  primary key (node_id, partition_id)
);

-- Proof that a slot or node was erased and read back. Appended by cleanup, never changed.
create table wipe_proofs (
  id text primary key check (id like 'wpf\_%'),
  node_id text not null references nodes,
  slot_id text,
  -- What was erased: the slot, or the whole node.
  target_id text generated always as (coalesce(slot_id, node_id)) stored,
  allocation_id text not null,
  task_id text not null,
  method text not null check (method <> ''),
  is_verified boolean not null,
  evidence jsonb not null,
  correlation_id text not null,
  created_at timestamptz not null default clock_timestamp(),
  unique (id, slot_id, is_verified),
  unique (id, target_id, allocation_id, is_verified)
);
create index wipe_proofs_by_slot on wipe_proofs (slot_id, created_at) where slot_id is not null;
create index wipe_proofs_by_allocation on wipe_proofs (allocation_id);
create index wipe_proofs_by_age on wipe_proofs using brin (created_at) with (pages_per_range = 32, autosummarize = on);
create trigger append_only before update or delete or truncate on wipe_proofs for each statement execute function refuse_change();

create table node_resource_slots (
  id text primary key check (id like 'slt\_%'),
  node_id text not null,
  -- Site of the node: NVMe serials and MACs are unique there.
  region_name text not null,
  -- Slots stand on compute hosts only.
  host_role text not null generated always as ('worker_compute') stored,
  slot_index integer not null check (slot_index between 0 and 63),
  -- A fraction of another slot; nothing makes one yet.
  parent_slot_id text references node_resource_slots,
  approval text not null check (approval in ('approved', 'disabled', 'needs_reapproval')),
  status text not null check (status in ('available', 'reserved', 'in_use', 'cleaning', 'cleanup_blocked', 'quarantined')),
  -- What live slot claims pin, in the word they pin their node by: a slot with one cannot come back for sale.
  claim_mode text generated always as (case when status <> 'available' then 'sliced' end) stored,
  status_reason text,
  status_since timestamptz not null default now(),
  health text not null default 'unknown' check (health in ('ok', 'unhealthy', 'unknown')),
  health_detail jsonb not null default '{}',
  -- Rises with every claim: a task that carries an older one is refused.
  generation integer not null default 0 check (generation >= 0),
  gpu_pci_address text check (gpu_pci_address ~ '^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$'),
  gpu_uuid text,
  module_id integer,
  numa_node integer,
  nvme_serial text check (nvme_serial <> ''),
  nvme_device text check (nvme_device ~ '^/dev/disk/by-id/[A-Za-z0-9._:-]+$'),
  mac_address macaddr,
  private_ip inet,
  -- Addresses are private to the node behind NAT, so the network is the node's unless one is named.
  network_id text not null,
  fabric_claim_mode text check (fabric_claim_mode in ('per_slot_vf')),
  fabric_vf_pci_address text check (fabric_vf_pci_address ~ '^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$'),
  destructive_wipe_policy text check (destructive_wipe_policy in ('nvme_sanitize', 'nvme_format', 'blkdiscard')),
  last_claimed_at timestamptz,
  wipe_proof_id text,
  -- Always true when set: the key below lets only verified proofs count.
  is_wipe_verified boolean generated always as (case when wipe_proof_id is not null then true end) stored,
  -- The time of the proof; a trigger takes it from there.
  wiped_at timestamptz,
  approved_by text references users,
  approved_at timestamptz,
  discovery_task_id text,
  version integer not null default 1,
  created_at timestamptz not null default now(),
  unique (node_id, slot_index),
  unique (id, node_id),
  unique (id, node_id, claim_mode),
  constraint slot_on_compute_host foreign key (node_id, region_name, host_role) references nodes (id, region_name, host_role),
  constraint wiped_with_proof foreign key (wipe_proof_id, id, is_wipe_verified) references wipe_proofs (id, slot_id, is_verified),
  check ((approval = 'disabled' and approved_at is null) or (approved_by is not null and approved_at is not null and discovery_task_id is not null)),
  -- Nothing incomplete is ever for sale.
  constraint available_is_complete check (status <> 'available' or (
    gpu_pci_address is not null and nvme_serial is not null and nvme_device is not null and mac_address is not null
    and private_ip is not null and fabric_claim_mode = 'per_slot_vf' and fabric_vf_pci_address is not null and fabric_claim_mode is not null)),
  -- Nothing unwiped is ever for sale: the proof is newer than the last claim.
  constraint available_is_wiped check (status <> 'available' or last_claimed_at is null
    or (wipe_proof_id is not null and wiped_at is not null and wiped_at >= last_claimed_at)),
  check ((wipe_proof_id is null) = (wiped_at is null))
);
create unique index slots_gpu on node_resource_slots (node_id, gpu_pci_address) where approval = 'approved';
create unique index slots_vf on node_resource_slots (node_id, fabric_vf_pci_address) where approval = 'approved';
create unique index slots_nvme on node_resource_slots (region_name, nvme_serial) where approval = 'approved';
create unique index slots_mac on node_resource_slots (region_name, mac_address) where approval = 'approved';
create unique index slots_ip on node_resource_slots (network_id, private_ip) where approval = 'approved';
create index slots_by_status on node_resource_slots (status, node_id) where status not in ('available', 'in_use');

alter table wipe_proofs add constraint proof_is_of_node foreign key (slot_id, node_id) references node_resource_slots (id, node_id);

create function take_wiped_at() returns trigger language plpgsql as $$
begin
  new.wiped_at := (select created_at from wipe_proofs where id = new.wipe_proof_id);
  return new;
end $$;
create trigger wiped_at before insert or update of wipe_proof_id, wiped_at on node_resource_slots
  for each row when (new.wipe_proof_id is not null) execute function take_wiped_at();

-- Fails the transaction from inside a statement whose outcome nobody waits for: it was sent together with the commit.
create function require(is_met boolean, what text) returns void language plpgsql as $$
begin
  if is_met is not true then
    raise exception '%', what using errcode = 'GP409';
  end if;
end $$;

-- One row per node that placement may look at: the first rows of its indexes are the best nodes, whatever the fleet.
-- Kept in the transaction of the claim. A null key means: does not fit this count.
create table node_placement_summary (
  node_id text primary key references nodes,
  region_name text not null,
  gpu_model text not null,
  -- '' for shared pools.
  pool_organization_id text not null,
  capacity_mode text not null,
  occupancy text not null,
  is_schedulable boolean not null,
  free_mask bigint not null,
  free_count integer not null,
  largest_set integer not null,
  key_1 bigint,
  key_2 bigint,
  key_4 bigint,
  key_8 bigint,
  key_node bigint,
  updated_at timestamptz not null default now()
);
create index placement_1 on node_placement_summary (region_name, gpu_model, pool_organization_id, key_1, node_id) where key_1 is not null;
create index placement_2 on node_placement_summary (region_name, gpu_model, pool_organization_id, key_2, node_id) where key_2 is not null;
create index placement_4 on node_placement_summary (region_name, gpu_model, pool_organization_id, key_4, node_id) where key_4 is not null;
create index placement_8 on node_placement_summary (region_name, gpu_model, pool_organization_id, key_8, node_id) where key_8 is not null;
create index placement_node on node_placement_summary (region_name, gpu_model, pool_organization_id, key_node, node_id) where key_node is not null;

grant select, insert, update on pools, nodes, node_resource_slots, node_placement_summary to gpuaas_app;
grant select, insert, delete on node_fabric_partitions to gpuaas_app;
grant select on wipe_proofs to gpuaas_app;
-- Not created_at: the time of a proof is the database's own.
grant insert (id, node_id, slot_id, allocation_id, task_id, method, is_verified, evidence, correlation_id) on wipe_proofs to gpuaas_app;
