-- The host that a node is bound to. One row per binding: a node that is bound to another host keeps its earlier rows.
create table node_hosts (
  node_id text not null references nodes,
  created_at timestamptz not null default clock_timestamp(),
  -- Normalized, so that equal hosts have equal values; null where the host reports none that identifies it.
  product_serial text check (product_serial = upper(btrim(product_serial)) and length(product_serial) between 3 and 128),
  product_uuid text check (product_uuid ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'),
  machine_id text check (machine_id ~ '^[0-9a-f]{32}$'),
  -- The fields that an operator named: a host that differs in one of them is refused.
  named text[] not null default '{}' check (named <@ array['product_serial', 'product_uuid', 'machine_id']),
  -- When the host first proved to hold the token or the certificate; null while only an operator named it.
  bound_at timestamptz,
  ended_at timestamptz,
  ended_reason text,
  primary key (node_id, created_at),
  constraint host_has_identity check (coalesce(product_serial, product_uuid, machine_id) is not null),
  constraint named_fields_are_known check (not ('product_serial' = any (named) and product_serial is null
    or 'product_uuid' = any (named) and product_uuid is null or 'machine_id' = any (named) and machine_id is null)),
  constraint named_or_bound check (bound_at is not null or cardinality(named) > 0),
  check ((ended_at is null) = (ended_reason is null))
);
-- One host per node, and one live node per host.
create unique index node_hosts_one_per_node on node_hosts (node_id) where ended_at is null;
create unique index node_hosts_serial on node_hosts (product_serial) where ended_at is null;
create unique index node_hosts_uuid on node_hosts (product_uuid) where ended_at is null;
create unique index node_hosts_machine_id on node_hosts (machine_id) where ended_at is null;

alter table node_hosts enable row level security;
create policy platform_only on node_hosts using (gpuaas_tenant() = '*');
grant select, insert, update on node_hosts to gpuaas_app;

-- Wrong hosts that presented the token. It ends with the last one it allows.
alter table node_enrollments add column refused_hosts integer not null default 0 check (refused_hosts between 0 and 5);
