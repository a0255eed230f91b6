-- What is on each host as its agent last told it, and where that is not what claims say. One row per node, replaced.
create table node_inventories (
  node_id text primary key references nodes,
  observed_at timestamptz not null,
  received_at timestamptz not null default clock_timestamp(),
  boot_id text not null,
  -- As reported: machines, leases, drift, leftovers, what was put right, images.
  content jsonb not null,
  -- What it means against claims, with since when each stands.
  findings jsonb not null default '[]' check (jsonb_typeof(findings) = 'array'),
  changed_at timestamptz not null default clock_timestamp()
);
create index node_inventories_found on node_inventories (node_id) where findings <> '[]';

-- A claim that was released a moment ago explains a machine that was seen the moment before.
create index claims_released_by_node on allocation_resource_claims (node_id, released_at) where released_at is not null;

alter table node_inventories enable row level security;
create policy platform_only on node_inventories using (gpuaas_tenant() = '*');
grant select, insert, update on node_inventories to gpuaas_app;
