-- What a reinstallation makes of an allocation, from when it is asked for until its image is on the boot disk. The allocation
-- itself says what runs: a reinstallation that is refused or fails on the way must leave no trace in what is started next.
create table allocation_installs (
  allocation_id text primary key,
  organization_id text not null,
  project_id text not null,
  -- The run that makes it. What another run wrote is not this.
  run_id text not null,
  install_number integer not null check (install_number > 0),
  image_name text,
  image_digest text,
  ssh_key_ids text[] not null,
  user_data text check (octet_length(user_data) between 1 and 65536),
  created_at timestamptz not null default clock_timestamp(),
  foreign key (allocation_id, organization_id, project_id) references allocations (id, organization_id, project_id),
  foreign key (image_name, image_digest) references os_image_versions (image_name, digest)
);
alter table allocation_installs enable row level security;
create policy scope on allocation_installs using (gpuaas_tenant() in (organization_id, '*'));
grant select, insert, update, delete on allocation_installs to gpuaas_app;

-- Whatever ends an allocation ends what was wanted of it, and the secrets in that. No statement can forget it.
create function install_ends_with_power() returns trigger language plpgsql as $$
begin
  delete from allocation_installs where allocation_id = new.id;
  return null;
end $$;
create trigger install after update of state on allocations for each row
  when (old.state = 'active' and new.state <> 'active') execute function install_ends_with_power();

-- A clone carries user data for its host to judge. However the task ends, nobody has a use for it then.
create function clone_forgets_user_data() returns trigger language plpgsql as $$
begin
  new.params := new.params - 'user_data';
  return new;
end $$;
create trigger clone_ends before update of state on node_tasks for each row
  when (new.kind = 'slice.image_clone' and new.state in ('completed', 'failed', 'expired', 'cancelled'))
  execute function clone_forgets_user_data();
