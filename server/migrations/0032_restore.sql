-- The database was restored from a backup. Hosts were not: until an operator has compared a host with the claims, it gets
-- no task that destroys data.
create table restores (
  id text primary key check (id like 'rst\_%'),
  began_at timestamptz not null default clock_timestamp(),
  began_by text not null,
  reason text not null,
  older_than timestamptz not null,
  ended jsonb not null,
  lost_changes jsonb not null,
  correlation_id text not null,
  check (older_than <= began_at)
);
alter table restores enable row level security;
create policy platform_only on restores using (gpuaas_tenant() = '*');
grant select, insert on restores to gpuaas_app;

alter table nodes add column restore_hold_id text references restores (id);
create index nodes_restore_held on nodes (id) where restore_hold_id is not null;

-- The data disks of a whole node have the time of its claim as their generation, or the time at which an operator adopted
-- what the host has.
alter table allocation_resource_claims
  drop constraint allocation_resource_claims_adopted_generation_check,
  drop constraint allocation_resource_claims_check4,
  add constraint adopted_generation_is_newer check (adopted_generation is null or claim_kind = 'node_exclusive'
    or coalesce(slot_generation < adopted_generation and adopted_generation <= 1000000001, false));
