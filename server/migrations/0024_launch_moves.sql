-- A launch whose host fails moves to another host. The claims of the host it left stay until a wipe is proven, as any
-- claim does, but no longer belong to where the allocation is: `move_id` says which move left them.
create table allocation_moves (
  id text primary key check (id like 'mov\_%'),
  allocation_id text not null,
  organization_id text not null,
  project_id text not null,
  number integer not null check (number > 0),
  from_node_id text not null references nodes,
  to_node_id text not null references nodes,
  slot_ids text[] not null,
  partition_id integer,
  scores jsonb not null,
  -- The host task that failed, and the sentence that tenants read.
  task_id text not null,
  reason text not null,
  created_at timestamptz not null default clock_timestamp(),
  foreign key (allocation_id, organization_id, project_id) references allocations (id, organization_id, project_id),
  check (from_node_id <> to_node_id),
  unique (allocation_id, number),
  -- A launch never returns to a host that it left.
  unique (allocation_id, from_node_id),
  unique (allocation_id, to_node_id),
  unique (id, allocation_id, from_node_id)
);
create trigger append_only before update or delete on allocation_moves for each statement execute function refuse_change();
alter table allocation_moves enable row level security;
create policy scope on allocation_moves using (gpuaas_tenant() in (organization_id, '*'));
grant select, insert on allocation_moves to gpuaas_app;

-- A left claim holds its slot or node as before; only the key to the allocation's present node lets go of it.
alter table allocation_resource_claims drop constraint claim_fits_allocation;
alter table allocation_resource_claims drop column live_kind;
alter table allocation_resource_claims
  add column move_id text,
  add constraint claim_left_by_move foreign key (move_id, allocation_id, node_id) references allocation_moves (id, allocation_id, from_node_id);
alter table allocation_resource_claims
  add column live_kind text generated always as (case when released_at is null and move_id is null then claim_kind end) stored,
  add constraint claim_fits_allocation foreign key (allocation_id, node_id, live_kind) references allocations (id, node_id, claimable_as);
create index claims_left on allocation_resource_claims (move_id) where move_id is not null and released_at is null;

drop trigger born_live on allocation_resource_claims;
create trigger born_live before insert on allocation_resource_claims
  for each row when (new.released_at is not null or new.move_id is not null) execute function refuse_released_claim();
-- It changes by its release, and before that at most once by the move that leaves it.
drop trigger change_once on allocation_resource_claims;
create trigger change_once before update on allocation_resource_claims for each row
  when (old.released_at is not null or (old.move_id is not null and new.move_id is distinct from old.move_id)
    or (old.id, old.allocation_id, old.organization_id, old.project_id, old.claim_kind, old.node_id, old.slot_id, old.gpu_count, old.slot_generation, old.created_at)
    is distinct from (new.id, new.allocation_id, new.organization_id, new.project_id, new.claim_kind, new.node_id, new.slot_id, new.gpu_count, new.slot_generation, new.created_at))
  execute function refuse_claim_change();

-- Released means: wiped after the claim began, and the allocation has ended or has left the host.
create or replace function check_claim_release() returns trigger language plpgsql as $$
begin
  if not exists (select from wipe_proofs where id = new.wipe_proof_id and created_at >= new.created_at) then
    raise exception 'claim % is newer than its proof', new.id using errcode = 'check_violation';
  end if;
  if new.move_id is null and not exists (select from allocations where id = new.allocation_id and state in ('releasing', 'release_failed', 'released', 'failed')) then
    raise exception 'the allocation of claim % has not ended', new.id using errcode = 'check_violation';
  end if;
  return new;
end $$;

-- An allocation becomes active only with everything it was sold, where it is.
create or replace function check_custody() returns trigger language plpgsql as $$
begin
  if (select sum(gpu_count) from allocation_resource_claims where allocation_id = new.id and released_at is null and move_id is null) is distinct from new.gpu_count then
    raise exception 'allocation % does not hold % GPUs', new.id, new.gpu_count using errcode = 'check_violation';
  end if;
  return new;
end $$;

-- A step that failed without stopping its run: the launch moves on, or ends with the reason.
alter table workflow_steps drop constraint workflow_steps_outcome_check,
  add constraint workflow_steps_outcome_check
    check (outcome in ('next', 'wait', 'done', 'failed', 'stuck', 'error', 'timeout', 'cancelled', 'retried'));

-- Launches that failed on the node since one last succeeded: they cool it down in the order of placement.
alter table nodes
  add column launch_failures integer not null default 0 check (launch_failures >= 0),
  add column launch_failed_at timestamptz,
  add check (launch_failures = 0 or launch_failed_at is not null);
create index nodes_cooling on nodes (launch_failed_at) where launch_failures > 0;
