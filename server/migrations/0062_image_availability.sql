-- Where a version of an image can be fetched: a host of the region reported it in its image cache, pulled it or verified it.
-- Only such a version is the default of a launch. Kept by the results of hosts, so that a launch reads one row however many
-- hosts there are.
create table os_image_availability (
  image_name text not null,
  digest text not null,
  region_name text not null references regions,
  -- The host that showed it, or the last one that failed to; null where the row was entered without a host.
  node_id text references nodes,
  -- Null while no host of the region has shown it.
  available_since timestamptz,
  -- The newest attempt, where it failed.
  failed_at timestamptz,
  failure text check (failure <> ''),
  primary key (image_name, digest, region_name),
  foreign key (image_name, digest) references os_image_versions (image_name, digest),
  constraint availability_failure_has_time check ((failed_at is null) = (failure is null)),
  constraint availability_says_something check (num_nonnulls(available_since, failed_at) > 0)
);
-- Like the catalog, the same for every tenant: no row-level security.
grant select, insert, update on os_image_availability to gpuaas_app;

-- What hosts hold now counts at once, so that an upgrade takes no default away.
insert into os_image_availability (image_name, digest, region_name, node_id, available_since)
  select distinct on (v.image_name, v.digest, n.region_name) v.image_name, v.digest, n.region_name, n.id, clock_timestamp()
  from os_image_versions v
    join node_inventories i on i.content @> jsonb_build_object('images', jsonb_build_object('value',
      jsonb_build_array(jsonb_build_object('digest', v.digest))))
    join nodes n on n.id = i.node_id and n.state not in ('retired', 'deleted')
  where v.retired_at is null order by v.image_name, v.digest, n.region_name, n.id;

-- No code installs a driver at the first boot: an image has one, or it has none.
alter table os_image_versions drop constraint os_image_versions_driver_strategy_check;
update os_image_versions set driver_strategy = 'none' where driver_strategy = 'cloud_init';
alter table os_image_versions add constraint os_image_versions_driver_strategy_check
  check (driver_strategy in ('preinstalled', 'none'));
