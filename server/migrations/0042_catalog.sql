-- Everything of the catalog can be created and retired. A retired row stays, because allocations, usage and proofs name it.
-- What still uses a row keeps it from being retired, in both orders of a race: a user pins `is_live` by a foreign key, and
-- retiring changes that key, so each waits for the other's commit.

alter table regions
  add column retired_at timestamptz,
  add column is_live boolean not null generated always as (retired_at is null) stored,
  add constraint region_life unique (name, is_live);
alter table sku_catalog
  add column retired_at timestamptz,
  add column is_live boolean not null generated always as (retired_at is null) stored,
  add constraint sku_life unique (name, is_live);
alter table pools
  add column purpose text check (purpose <> ''),
  add column version integer not null default 1,
  add column retired_at timestamptz,
  add column is_live boolean not null generated always as (retired_at is null) stored,
  add constraint pool_life unique (id, is_live);

alter table nodes
  add column needs_live boolean generated always as (case when state <> 'deleted' then true end) stored,
  add constraint node_in_live_region foreign key (region_name, needs_live) references regions (name, is_live),
  add constraint node_in_live_pool foreign key (pool_id, needs_live) references pools (id, is_live),
  -- Of the newest discovery: CPUs, memory and huge pages that VMs can get. Null before the first one.
  add column host_vcpu_count integer check (host_vcpu_count >= 0),
  add column host_memory_mib bigint check (host_memory_mib >= 0),
  add column host_hugepages_mib bigint check (host_hugepages_mib >= 0),
  add column host_numa_nodes integer check (host_numa_nodes > 0),
  add constraint host_size_is_whole check (num_nulls(host_vcpu_count, host_memory_mib, host_hugepages_mib, host_numa_nodes) in (0, 4));
create index nodes_by_pool on nodes (pool_id) where state <> 'deleted';

-- The region of an allocation is kept by its node. A failed allocation needs its SKU no more.
alter table allocations
  add column needs_live boolean generated always as (case when state not in ('released', 'failed') then true end) stored,
  add constraint allocation_of_live_sku foreign key (sku_name, needs_live) references sku_catalog (name, is_live);

alter table sku_vm_profiles
  add column version integer not null default 1,
  add column retired_at timestamptz;
drop index sku_vm_profiles_default;
create unique index sku_vm_profiles_default on sku_vm_profiles (sku_name, gpu_count) where is_default and retired_at is null;

-- The price of a SKU at a time is the newest that had begun and was not cancelled. Rows are never changed but for being
-- cancelled before they begin; an allocation keeps the price it was sold at.
create table sku_prices (
  id text primary key check (id like 'prc\_%'),
  sku_name text not null references sku_catalog,
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  gpu_hourly_price_minor bigint not null check (gpu_hourly_price_minor >= 0),
  valid_from timestamptz not null,
  -- Null for the price that a SKU had before prices had a time, and for one that no person set.
  created_by text references users,
  correlation_id text not null,
  created_at timestamptz not null default now(),
  cancelled_at timestamptz,
  constraint price_not_in_past check (valid_from >= created_at),
  constraint price_cancelled_in_time check (cancelled_at < valid_from)
);
create unique index sku_prices_live on sku_prices (sku_name, valid_from desc) where cancelled_at is null;
insert into sku_prices (id, sku_name, currency, gpu_hourly_price_minor, valid_from, correlation_id)
  select 'prc_' || left(md5(name), 26), name, currency, gpu_hourly_price_minor, now(), 'migration' from sku_catalog;
alter table sku_catalog drop column gpu_hourly_price_minor, drop column currency;

-- The default of a launch is a verified image of the channel `stable`; what was registered before stays eligible.
alter table os_images
  add column channel text not null default 'stable' check (channel in ('stable', 'candidate')),
  add column trust text not null default 'verified' check (trust in ('unverified', 'verified')),
  add column version integer not null default 1,
  add column retired_at timestamptz;
alter table os_images alter column trust set default 'unverified';

grant select, insert on sku_prices to gpuaas_app;
grant update (cancelled_at) on sku_prices to gpuaas_app;
grant update on sku_vm_profiles to gpuaas_app;
