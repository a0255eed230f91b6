-- Who holds what: allocations, claims (the truth of placement), the placement as it was sold, host tasks, quota, usage.

-- Ranges and text in one exclusion constraint; a trusted extension, so the owner may create it.
create extension if not exists btree_gist;

create table allocations (
  id text primary key check (id like 'alc\_%'),
  organization_id text not null,
  project_id text not null,
  name text not null check (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  capacity_shape text not null default 'baremetal' check (capacity_shape in ('baremetal', 'gpu_slice')),
  sku_name text not null references sku_catalog,
  region_name text not null references regions,
  -- Pinned at launch: another version registered since then changes nothing for it.
  image_name text,
  image_digest text,
  gpu_count integer not null check (gpu_count > 0),
  -- Read model; claims are the source.
  node_id text references nodes,
  state text not null check (state in ('requested', 'provisioning', 'active', 'releasing', 'released', 'failed', 'release_failed')),
  -- What live claims pin: the kind they must be of, and that the allocation is not released yet.
  claimable_as text generated always as (case when state <> 'released' then case capacity_shape when 'gpu_slice' then 'slot' else 'node_exclusive' end end) stored,
  state_reason text,
  state_since timestamptz not null default clock_timestamp(),
  state_deadline_at timestamptz,
  requested_by text not null,
  ssh_key_ids text[] not null default '{}',
  tags jsonb not null default '{}',
  is_protected boolean not null default false,
  max_duration_s integer check (max_duration_s > 0),
  -- When max duration releases it by itself; set when it becomes active.
  release_at timestamptz,
  activated_at timestamptz,
  release_requested_at timestamptz,
  released_at timestamptz,
  failure_reason text,
  correlation_id text not null,
  version integer not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  unique (id, organization_id, project_id),
  unique (id, node_id, claimable_as),
  foreign key (project_id, organization_id) references projects (id, organization_id),
  foreign key (image_name, image_digest) references os_image_versions,
  check ((image_name is null) = (image_digest is null)),
  check ((state = 'released') = (released_at is not null)),
  check (state <> 'active' or activated_at is not null),
  check (state not in ('releasing', 'release_failed', 'released') or release_requested_at is not null)
);
create unique index allocations_name on allocations (project_id, name) where state not in ('released', 'failed');
create index allocations_by_project on allocations (project_id, id);
create index allocations_by_organization on allocations (organization_id, id);
create index allocations_live on allocations (state, state_since) where state not in ('released');
create index allocations_released on allocations (released_at) where released_at is not null;
create index allocations_due on allocations (release_at) where release_at is not null and release_requested_at is null;
create index allocations_by_node on allocations (node_id) where node_id is not null;

-- A node or slot is taken if and only if an unreleased claim says so.
create table allocation_resource_claims (
  id text primary key check (id like 'clm\_%'),
  allocation_id text not null,
  organization_id text not null,
  project_id text not null,
  claim_kind text not null check (claim_kind in ('slot', 'node_exclusive')),
  node_id text not null,
  slot_id text,
  target_id text not null generated always as (coalesce(slot_id, node_id)) stored,
  gpu_count integer not null check (gpu_count > 0),
  slot_generation integer,
  created_at timestamptz not null default clock_timestamp(),
  released_at timestamptz,
  wipe_proof_id text,
  -- Always true when set: the key below lets only verified proofs release a claim.
  is_proof_verified boolean generated always as (case when wipe_proof_id is not null then true end) stored,
  -- Null once released. While a claim lives these pin what it stands on: the node in the mode the claim needs, the slot
  -- off sale, and the allocation on that node, of that kind, unreleased.
  node_mode text generated always as (case when released_at is null then case claim_kind when 'slot' then 'sliced' else 'exclusive' end end) stored,
  live_kind text generated always as (case when released_at is null then claim_kind end) stored,
  foreign key (allocation_id, organization_id, project_id) references allocations (id, organization_id, project_id),
  constraint claim_fits_allocation foreign key (allocation_id, node_id, live_kind) references allocations (id, node_id, claimable_as),
  constraint slot_is_taken foreign key (slot_id, node_id, node_mode) references node_resource_slots (id, node_id, claim_mode),
  constraint node_is_in_mode foreign key (node_id, node_mode) references nodes (id, claim_mode),
  constraint released_with_proof foreign key (wipe_proof_id, target_id, allocation_id, is_proof_verified)
    references wipe_proofs (id, target_id, allocation_id, is_verified),
  check ((claim_kind = 'slot') = (slot_id is not null)),
  check ((claim_kind = 'slot') = (slot_generation is not null)),
  check (claim_kind <> 'slot' or gpu_count = 1),
  check ((released_at is null) = (wipe_proof_id is null))
);
create unique index claims_one_per_slot on allocation_resource_claims (slot_id) where released_at is null and slot_id is not null;
create unique index claims_one_per_node on allocation_resource_claims (node_id) where released_at is null and claim_kind = 'node_exclusive';
create index claims_by_allocation on allocation_resource_claims (allocation_id);
create index claims_live_by_node on allocation_resource_claims (node_id) where released_at is null;
-- For the keys' own look-ups when a node or a slot is given back: without it they read every claim ever made.
create index claims_pinned on allocation_resource_claims (node_id, node_mode) where node_mode is not null;

-- A claim is born live, changes once, by its release, and is never removed.
create function refuse_claim_change() returns trigger language plpgsql as $$
begin
  raise exception 'claim % only ever changes by its release', old.id using errcode = 'insufficient_privilege';
end $$;
create function refuse_released_claim() returns trigger language plpgsql as $$
begin
  raise exception 'claim % begins released', new.id using errcode = 'check_violation';
end $$;
-- Released means: erased after the claim began, and the allocation has ended.
create function check_claim_release() returns trigger language plpgsql as $$
begin
  if not exists (select from wipe_proofs where id = new.wipe_proof_id and created_at >= new.created_at) then
    raise exception 'claim % is newer than its proof', new.id using errcode = 'check_violation';
  end if;
  if not exists (select from allocations where id = new.allocation_id and state in ('releasing', 'release_failed', 'released', 'failed')) then
    raise exception 'the allocation of claim % has not ended', new.id using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger born_live before insert on allocation_resource_claims
  for each row when (new.released_at is not null) execute function refuse_released_claim();
create trigger change_once before update on allocation_resource_claims for each row
  when (old.released_at is not null or (old.id, old.allocation_id, old.organization_id, old.project_id, old.claim_kind, old.node_id, old.slot_id, old.gpu_count, old.slot_generation, old.created_at)
    is distinct from (new.id, new.allocation_id, new.organization_id, new.project_id, new.claim_kind, new.node_id, new.slot_id, new.gpu_count, new.slot_generation, new.created_at))
  execute function refuse_claim_change();
create trigger release before update on allocation_resource_claims
  for each row when (new.released_at is not null) execute function check_claim_release();
create trigger never_removed before delete on allocation_resource_claims for each row execute function refuse_claim_change();

-- An allocation becomes active only with everything it was sold; one node and one kind are pinned by the claims.
create function check_custody() returns trigger language plpgsql as $$
begin
  if (select sum(gpu_count) from allocation_resource_claims where allocation_id = new.id and released_at is null) is distinct from new.gpu_count then
    raise exception 'allocation % does not hold % GPUs', new.id, new.gpu_count using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger custody before update of state on allocations
  for each row when (new.state = 'active' and old.state <> 'active') execute function check_custody();

-- What was sold, as it was sold: never changed by a later price or profile.
create table allocation_placements (
  allocation_id text primary key,
  organization_id text not null,
  project_id text not null,
  node_id text not null references nodes,
  slot_ids text[] not null,
  partition_id integer,
  vm_profile_name text,
  vcpu_count integer,
  memory_mib integer,
  gpu_count integer not null,
  gpu_hourly_price_minor bigint not null,
  currency text not null,
  scores jsonb not null,
  created_at timestamptz not null default clock_timestamp(),
  foreign key (allocation_id, organization_id, project_id) references allocations (id, organization_id, project_id)
);
create trigger append_only before update or delete on allocation_placements for each statement execute function refuse_change();

-- Work for a host. Agents will fetch it; until then the lab's executor does.
create table node_tasks (
  id text primary key check (id like 'tsk\_%'),
  node_id text not null references nodes,
  allocation_id text,
  slot_id text,
  kind text not null,
  params jsonb not null,
  attempt integer not null default 1 check (attempt > 0),
  slot_generation integer,
  state text not null default 'queued' check (state in ('queued', 'dispatched', 'running', 'completed', 'failed', 'expired', 'cancelled')),
  state_reason text,
  output jsonb,
  correlation_id text not null,
  created_at timestamptz not null default clock_timestamp(),
  dispatched_at timestamptz,
  finished_at timestamptz,
  expires_at timestamptz not null
);
create unique index node_tasks_once on node_tasks (allocation_id, kind, attempt) where allocation_id is not null;
create index node_tasks_queue on node_tasks (node_id, id) where state = 'queued';
create index node_tasks_finished on node_tasks (finished_at) where finished_at is not null;
create index node_tasks_open on node_tasks (state, expires_at) where state in ('queued', 'dispatched', 'running');

-- GPUs a tenant or project may hold at once; no row means no limit at that level. Used is counted in the claim's transaction.
create table quotas (
  organization_id text not null references organizations,
  -- '' for the tenant's own.
  project_id text not null default '',
  project_key text generated always as (nullif(project_id, '')) stored,
  gpu_limit integer check (gpu_limit >= 0),
  gpu_used integer not null default 0,
  version integer not null default 1,
  primary key (organization_id, project_id),
  foreign key (project_key, organization_id) references projects (id, organization_id),
  constraint quota_not_exceeded check (gpu_used >= 0)
);

-- Time that is charged: opened when the allocation becomes active, closed when its release is accepted.
create table usage_records (
  id text primary key check (id like 'usg\_%'),
  allocation_id text not null,
  organization_id text not null,
  project_id text not null,
  sku_name text not null,
  gpu_count integer not null check (gpu_count > 0),
  gpu_hourly_price_minor bigint not null check (gpu_hourly_price_minor >= 0),
  currency text not null,
  started_at timestamptz not null,
  ended_at timestamptz,
  cost_minor bigint check (cost_minor >= 0),
  correlation_id text not null,
  created_at timestamptz not null default clock_timestamp(),
  unique (allocation_id, started_at),
  foreign key (allocation_id, organization_id, project_id) references allocations (id, organization_id, project_id),
  check (ended_at is null or ended_at >= started_at),
  check ((ended_at is null) = (cost_minor is null)),
  -- Two intervals of one allocation never overlap.
  constraint usage_never_overlaps exclude using gist (allocation_id with =, tstzrange(started_at, ended_at) with &&)
);
-- A closed record is final: what was wrong with it is corrected by an entry of its own.
create function refuse_usage_change() returns trigger language plpgsql as $$
begin
  raise exception 'usage record % is closed', old.id using errcode = 'insufficient_privilege';
end $$;
create trigger closed_is_final before update on usage_records
  for each row when (old.ended_at is not null) execute function refuse_usage_change();
create unique index usage_one_open on usage_records (allocation_id) where ended_at is null;
create index usage_by_project on usage_records (project_id, id);

-- Capacity by region and GPU model, at most a second old, for refusals and reads: never touched by a claim.
create table capacity_counters (
  region_name text not null,
  gpu_model text not null,
  pool_organization_id text not null,
  counts jsonb not null,
  counted_at timestamptz not null default now(),
  primary key (region_name, gpu_model, pool_organization_id)
);

alter table allocations enable row level security;
alter table allocation_resource_claims enable row level security;
alter table allocation_placements enable row level security;
alter table quotas enable row level security;
alter table usage_records enable row level security;
create policy scope on allocations using (gpuaas_tenant() in (organization_id, '*'));
create policy scope on allocation_resource_claims using (gpuaas_tenant() in (organization_id, '*'));
create policy scope on allocation_placements using (gpuaas_tenant() in (organization_id, '*'));
create policy scope on quotas using (gpuaas_tenant() in (organization_id, '*'));
create policy scope on usage_records using (gpuaas_tenant() in (organization_id, '*'));

grant select, insert, update on allocations, allocation_resource_claims, node_tasks, quotas, usage_records to gpuaas_app;
grant select, insert on allocation_placements to gpuaas_app;
grant select, insert, update, delete on capacity_counters to gpuaas_app;
