-- Agents of hosts: how they come in, what they are trusted with, what they found and how their hosts feel.
-- All of it belongs to the platform; tenants see none of it.

alter table nodes
  add column private_network cidr not null default '10.100.0.0/24',
  add column reboot_required boolean not null default false,
  -- Facts of the newest discovery differ from what was approved.
  add column has_drift boolean not null default false,
  -- When alerts last took it, or a slot of it, out of sale: many at once are more likely one wrong signal.
  add column fell_ill_at timestamptz;
create index nodes_by_illness on nodes (fell_ill_at) where fell_ill_at is not null;

-- Keys the platform signs with. Private halves are sealed.
create table trust_keys (
  id text primary key check (id like 'tky\_%'),
  purpose text not null check (purpose in ('node_ca', 'task_signer')),
  state text not null check (state in ('staged', 'active', 'grace', 'retired', 'revoked')),
  state_since timestamptz not null default clock_timestamp(),
  -- A certificate for a CA, a public key for a signer; both PEM.
  public_pem text not null,
  fingerprint_sha256 text not null unique check (fingerprint_sha256 ~ '^[0-9a-f]{64}$'),
  sealed_private_key bytea not null,
  -- Until when it is trusted after another became active.
  retires_at timestamptz,
  version integer not null default 1,
  created_at timestamptz not null default clock_timestamp()
);
create unique index trust_keys_one_active on trust_keys (purpose) where state = 'active';

create table node_enrollments (
  id text primary key check (id like 'enr\_%'),
  node_id text not null references nodes,
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  created_by text not null,
  correlation_id text not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  used_at timestamptz,
  revoked_at timestamptz
);
-- One open door per node.
create unique index node_enrollments_one_open on node_enrollments (node_id) where used_at is null and revoked_at is null;

create table node_certificates (
  serial_number text primary key check (serial_number ~ '^[0-9a-f]{2,40}$'),
  node_id text not null references nodes,
  ca_key_id text not null references trust_keys,
  enrollment_id text not null references node_enrollments,
  fingerprint_sha256 text not null unique check (fingerprint_sha256 ~ '^[0-9a-f]{64}$'),
  not_before timestamptz not null,
  not_after timestamptz not null,
  revoked_at timestamptz,
  revoked_reason text,
  created_at timestamptz not null default clock_timestamp(),
  check ((revoked_at is null) = (revoked_reason is null))
);
create index node_certificates_by_node on node_certificates (node_id, not_after desc);
create index node_certificates_revoked on node_certificates (revoked_at) where revoked_at is not null;

-- What is known of a node's agent. Apart from `nodes`, whose rows placement locks: it is written every few seconds.
create table node_agents (
  node_id text primary key references nodes,
  last_seen_at timestamptz not null,
  agent_version text not null,
  boot_id text not null,
  booted_at timestamptz not null,
  kinds text[] not null,
  -- The host's clock minus ours, when it last asked.
  clock_skew_ms bigint not null default 0
);
create index node_agents_by_seen on node_agents (last_seen_at);

alter table node_tasks
  add column started_at timestamptz,
  add column error_code text,
  add column percent integer check (percent between 0 and 100),
  add column bytes_per_s bigint,
  add column progress_note text,
  add column progressed_at timestamptz,
  -- The workflow run that waits for it; null for tasks nobody waits for.
  add column workflow_run_id text;
create index node_tasks_under_way on node_tasks (node_id, id) where state in ('dispatched', 'running');
create index node_tasks_by_node on node_tasks (node_id, kind, id desc);
create index node_tasks_by_run on node_tasks (workflow_run_id, kind) where workflow_run_id is not null;

-- What discoveries found. The newest of a node is the one that counts.
create table topology_discoveries (
  task_id text primary key references node_tasks,
  node_id text not null references nodes,
  map_hash text not null check (map_hash ~ '^[0-9a-f]{64}$'),
  facts jsonb not null,
  map jsonb not null,
  reboot_required boolean not null,
  created_at timestamptz not null default clock_timestamp()
);
create index topology_discoveries_newest on topology_discoveries (node_id, task_id desc);

create table topology_candidates (
  id text primary key check (id like 'cnd\_%'),
  task_id text not null references topology_discoveries,
  node_id text not null references nodes,
  slot_index integer not null check (slot_index between 0 and 63),
  content_hash text not null check (content_hash ~ '^[0-9a-f]{64}$'),
  content jsonb not null,
  blockers jsonb not null,
  unique (task_id, slot_index)
);
create index topology_candidates_by_node on topology_candidates (node_id, task_id desc);

alter table node_resource_slots
  -- The candidate that was approved; discovery compares with it.
  add column content_hash text check (content_hash ~ '^[0-9a-f]{64}$'),
  add column content jsonb,
  -- Field by field what differs now: {field: {approved, found}}.
  add column drift jsonb,
  add constraint drift_needs_reapproval check (drift is null or approval <> 'approved');

-- An operator lets the platform erase a disk, by serial. Nothing is erased while it is mounted or held.
create table disk_ownerships (
  id text primary key check (id like 'dsk\_%'),
  node_id text not null references nodes,
  region_name text not null,
  serial text not null check (serial <> ''),
  device text not null check (device ~ '^/dev/disk/by-id/[A-Za-z0-9._:-]+$'),
  state text not null check (state in ('approved', 'wiping', 'blocked', 'owned', 'revoked')),
  state_reason text,
  state_since timestamptz not null default clock_timestamp(),
  approved_by text not null,
  reason text not null,
  wipe_proof_id text references wipe_proofs,
  version integer not null default 1,
  correlation_id text not null,
  created_at timestamptz not null default clock_timestamp(),
  check (state <> 'owned' or wipe_proof_id is not null)
);
create unique index disk_ownerships_once on disk_ownerships (region_name, serial) where state <> 'revoked';
create index disk_ownerships_by_node on disk_ownerships (node_id, id);

-- What one person asked for and a second one must confirm.
create table slot_overrides (
  id text primary key check (id like 'ovr\_%'),
  slot_id text not null references node_resource_slots,
  kind text not null check (kind in ('mark_wiped')),
  generation integer not null,
  reason text not null,
  requested_by text not null,
  requested_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  confirmed_by text,
  confirmed_at timestamptz,
  constraint override_needs_second_person check (confirmed_by is null or confirmed_by <> requested_by),
  check ((confirmed_by is null) = (confirmed_at is null))
);
create index slot_overrides_open on slot_overrides (slot_id, id) where confirmed_at is null;

-- The newest report of each source.
create table node_health_reports (
  node_id text not null references nodes,
  source text not null,
  observed_at timestamptz not null,
  received_at timestamptz not null default clock_timestamp(),
  successes jsonb not null,
  alerts jsonb not null,
  primary key (node_id, source)
);
-- An operator's word on a source: merged into its alerts, or in their place.
create table node_health_overrides (
  node_id text not null references nodes,
  source text not null,
  mode text not null check (mode in ('merge', 'replace')),
  alerts jsonb not null,
  -- Alerts of the source to leave out when merging.
  muted_alert_ids text[] not null default '{}',
  reason text not null,
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  primary key (node_id, source)
);
-- One row: stops quarantining the whole fleet because of one wrong signal.
create table health_breaker (
  id integer primary key default 1 check (id = 1),
  is_tripped boolean not null default false,
  tripped_at timestamptz,
  reason text,
  reset_by text,
  reset_at timestamptz,
  version integer not null default 1
);
insert into health_breaker default values;

-- Log lines of every process and agent, found by correlation id. A day is a partition; old days are dropped.
create table log_lines (
  logged_at timestamptz not null,
  service text not null,
  host_role text not null check (host_role in ('platform_control', 'app_control', 'worker_compute')),
  host_name text not null,
  node_id text,
  level text not null,
  message text not null,
  correlation_id text,
  error_code text,
  fields jsonb not null,
  -- Who numbered the line, and its number: a batch sent twice is kept once.
  origin text not null,
  number bigint not null,
  primary key (logged_at, origin, number)
) partition by range (logged_at);
create index log_lines_by_correlation on log_lines (correlation_id, logged_at) where correlation_id is not null;
create index log_lines_by_node on log_lines (node_id, logged_at) where node_id is not null;
-- What no day holds: lines whose clock is far off.
create table log_lines_default partition of log_lines default;

-- Makes the partitions of the days around now and drops those past their time. Runs as the owner, for the application.
create function keep_log_partitions(days_kept integer) returns integer language plpgsql security definer set search_path = public, pg_temp as $$
declare
  day date;
  part record;
  changed integer := 0;
begin
  for day in select generate_series(current_date - 1, current_date + 2, interval '1 day')::date loop
    if to_regclass(format('log_lines_%s', to_char(day, 'YYYYMMDD'))) is null then
      begin
        execute format('create table %I partition of log_lines for values from (%L) to (%L)', 'log_lines_' || to_char(day, 'YYYYMMDD'), day, day + 1);
        changed := changed + 1;
      exception when check_violation then null; -- the default partition holds lines of that day already
      end;
    end if;
  end loop;
  for part in select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'log_lines'::regclass and c.relname ~ '^log_lines_[0-9]{8}$'
        and to_date(right(c.relname, 8), 'YYYYMMDD') < current_date - days_kept loop
    execute format('drop table %I', part.name);
    changed := changed + 1;
  end loop;
  delete from log_lines_default where logged_at < now() - make_interval(days => days_kept);
  return changed;
end $$;

-- A wipe may be of a disk that no allocation held: one taken over, or a slot under repair.
alter table wipe_proofs
  alter column allocation_id drop not null,
  add column disk_serial text,
  add constraint proof_is_of_something check (allocation_id is not null or disk_serial is not null);

alter table trust_keys enable row level security;
alter table node_enrollments enable row level security;
alter table log_lines enable row level security;
create policy platform_only on trust_keys using (gpuaas_tenant() = '*');
create policy platform_only on node_enrollments using (gpuaas_tenant() = '*');
create policy platform_only on log_lines using (gpuaas_tenant() = '*');

grant select, insert, update on trust_keys, node_enrollments, node_certificates, node_agents, disk_ownerships, slot_overrides,
  node_health_reports, node_health_overrides, health_breaker to gpuaas_app;
grant delete on node_health_overrides to gpuaas_app;
grant select, insert on topology_discoveries, topology_candidates, log_lines to gpuaas_app;
grant insert (disk_serial) on wipe_proofs to gpuaas_app;
