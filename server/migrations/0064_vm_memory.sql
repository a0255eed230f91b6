-- From which pages and NUMA nodes a VM gets its memory, as its profile says. The defaults are what agents did before.
alter table sku_vm_profiles
  add column hugepages text not null default 'auto',
  add column numa_policy text not null default 'strict';
alter table sku_vm_profiles
  add constraint hugepages_is_known check (hugepages in ('auto', 'none', '2M', '1G')) not valid,
  add constraint numa_policy_is_known check (numa_policy in ('strict', 'preferred', 'none')) not valid;

-- As it was launched; null for bare metal and for launches before, which got the defaults.
alter table allocation_placements
  add column hugepages text,
  add column numa_policy text;
alter table allocation_placements
  add constraint placed_hugepages_are_known check (hugepages in ('auto', 'none', '2M', '1G')) not valid,
  add constraint placed_numa_policy_is_known check (numa_policy in ('strict', 'preferred', 'none')) not valid;

alter table nodes
  -- Of the newest discovery, in MiB: {"2M", "1G", "reserved"}. A size counts only where every NUMA node has such pages.
  add column host_pages jsonb;
