-- Power of a slice: whether its machine runs, changed by one workflow run at a time. The allocation stays active and its
-- claims stay its own, so nothing here touches placement or charging.
alter table allocations
  -- `unknown`: a change was not seen to its end; what the machine does now is found out by the next change.
  add column power_state text check (power_state in ('on', 'stopping', 'off', 'starting', 'rebooting', 'reinstalling', 'unknown')),
  add column power_since timestamptz,
  -- Why the last change did not end as it was asked for; for everybody who may see the allocation.
  add column power_reason text,
  -- The run that is changing it.
  add column power_run_id text,
  -- How long the guest may take to go down for this change; 0 switches it off.
  add column power_grace_s integer check (power_grace_s between 0 and 3600),
  -- How often it was reinstalled. A guest sets itself up once for each number.
  add column install_number integer not null default 0 check (install_number >= 0);

-- A slice has power exactly while it is active: whatever makes it active finds it on, whatever ends that ends a change of
-- power too. No statement can forget it.
create function power_follows_state() returns trigger language plpgsql as $$
begin
  if new.state = 'active' and new.capacity_shape = 'gpu_slice' then
    new.power_state := coalesce(new.power_state, 'on');
    new.power_since := coalesce(new.power_since, clock_timestamp());
  else
    new.power_state := null;
    new.power_since := null;
    new.power_reason := null;
    new.power_run_id := null;
    new.power_grace_s := null;
  end if;
  return new;
end $$;
create trigger power before insert or update of state, capacity_shape on allocations for each row execute function power_follows_state();

update allocations set state = state where state = 'active' and capacity_shape = 'gpu_slice';

alter table allocations
  add constraint power_while_active check ((power_state is not null) = (state = 'active' and capacity_shape = 'gpu_slice')),
  add constraint power_changes_by_a_run check ((power_run_id is not null) = coalesce(power_state not in ('on', 'off', 'unknown'), false)),
  add constraint power_is_dated check ((power_since is null) = (power_state is null)),
  add constraint power_unknown_says_why check (power_state <> 'unknown' or power_reason is not null),
  add constraint power_grace_is_of_a_change check (power_grace_s is null or power_run_id is not null);
create index allocations_changing_power on allocations (id) where power_run_id is not null;

-- What the tenant has its guests run at their first start. Of one row, not of the allocation's: it is long and seldom read.
create table allocation_user_data (
  allocation_id text primary key,
  organization_id text not null,
  project_id text not null,
  user_data text not null check (octet_length(user_data) between 1 and 65536),
  updated_at timestamptz not null default clock_timestamp(),
  foreign key (allocation_id, organization_id, project_id) references allocations (id, organization_id, project_id)
);
alter table allocation_user_data enable row level security;
create policy scope on allocation_user_data using (gpuaas_tenant() in (organization_id, '*'));
grant select, insert, update, delete on allocation_user_data to gpuaas_app;
