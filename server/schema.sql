-- Written by `make gen` from a freshly migrated database; do not edit. Change the schema with a new migration.

set check_function_bodies = off;

create extension btree_gist;

CREATE OR REPLACE FUNCTION chain_wipe_proof()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  target text := coalesce(new.slot_id, new.node_id);
  last_sequence integer;
  last_hash bytea;
begin
  perform pg_advisory_xact_lock(hashtextextended('wipe_proofs ' || target, 0));
  -- A proof that something still stands on may be left from before the cut.
  select e.sequence, e.hash into last_sequence, last_hash from (
      (select w.sequence, w.proof_hash as hash from wipe_proofs w where w.target_id = target order by w.sequence desc limit 1)
      union all
      (select c.sequence, c.proof_hash from wipe_chain_cuts c where c.target_id = target order by c.sequence desc limit 1)) e
    order by e.sequence desc limit 1;
  new.sequence := coalesce(last_sequence, 0) + 1;
  new.previous_hash := coalesce(last_hash, wipe_chain_genesis(target));
  new.proof_hash := wipe_proof_hash(new);
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_audit_segment()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  before audit_segments;
begin
  select * into before from audit_segments s where s.chain = new.chain and s.first_sequence <> new.first_sequence
    order by s.first_sequence desc limit 1;
  if new.removed_at is not null or new.first_sequence <> coalesce(before.last_sequence, 0) + 1
    or new.previous_hash <> coalesce(before.last_hash, sha256(convert_to('gpuaas audit chain ' || new.chain, 'UTF8')))
    or not exists (select from audit_seals s where s.chain = new.chain and s.sequence = new.last_sequence and s.hash = new.last_hash) then
    raise exception 'segment % does not follow its chain', new.file_name using errcode = 'check_violation';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION check_claim_release()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if not exists (select from wipe_proofs where id = new.wipe_proof_id and created_at >= new.created_at) then
    raise exception 'claim % is newer than its proof', new.id using errcode = 'check_violation';
  end if;
  if new.move_id is null and not exists (select from allocations where id = new.allocation_id and state in ('releasing', 'release_failed', 'released', 'failed')) then
    raise exception 'the allocation of claim % has not ended', new.id using errcode = 'check_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION check_custody()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if (select sum(gpu_count) from allocation_resource_claims where allocation_id = new.id and released_at is null and move_id is null) is distinct from new.gpu_count then
    raise exception 'allocation % does not hold % GPUs', new.id, new.gpu_count using errcode = 'check_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION clone_forgets_user_data()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.sealed_user_data := null;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION cut_wipe_chains(proofs_max integer, years integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  before timestamptz := now() - make_interval(years => years);
  proofs text[];
  removed integer;
begin
  if years < 1 then
    raise exception 'wipe proofs are kept for a year at least' using errcode = 'check_violation';
  end if;
  select array_agg(old.id) into proofs from (
    select w.id from wipe_proofs w where w.created_at < before
      and not exists (select from node_resource_slots s where s.id = w.slot_id and s.wipe_proof_id = w.id)
      and not exists (select from disk_ownerships d where d.wipe_proof_id = w.id)
      and not exists (select from allocation_resource_claims c where c.allocation_id = w.allocation_id
        and (c.released_at is null or c.released_at >= before))
    order by w.created_at limit proofs_max) old;
  if proofs is null then
    return 0;
  end if;
  insert into wipe_chain_cuts (target_id, sequence, proof_hash, last_proof_at)
    select distinct on (w.target_id) w.target_id, w.sequence, w.proof_hash, w.created_at
    from wipe_proofs w where w.id = any (proofs) order by w.target_id, w.sequence desc
    on conflict do nothing;
  delete from allocation_resource_claims c using wipe_proofs w
    where w.id = any (proofs) and c.allocation_id = w.allocation_id and c.wipe_proof_id = w.id;
  -- Their tasks may go as well.
  update node_tasks t set kept_until = now() from wipe_proofs w where w.id = any (proofs) and t.id = w.task_id and t.kept_until is not null;
  delete from wipe_proofs w where w.id = any (proofs);
  get diagnostics removed = row_count;
  return removed;
end $function$;

CREATE OR REPLACE FUNCTION gpuaas_event_place()
 RETURNS xid8
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog'
AS $function$
begin
  return greatest(pg_current_xact_id(), (pg_snapshot_xmax(pg_current_snapshot())::text::numeric - 1)::text::xid8);
end $function$;

CREATE OR REPLACE FUNCTION gpuaas_principal()
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN COALESCE(current_setting('gpuaas.principal_id'::text, true), ''::text);

CREATE OR REPLACE FUNCTION gpuaas_settled_xid()
 RETURNS xid8
 LANGUAGE plpgsql
 STABLE PARALLEL RESTRICTED
 SET search_path TO 'pg_catalog'
AS $function$
declare
  running xid8;
begin
  for running in select xip from pg_snapshot_xip(pg_current_snapshot()) as xip order by xip loop
    if not exists (
        select from pg_locks l join pg_stat_activity a on a.pid = l.pid
        where l.locktype = 'transactionid' and l.granted and l.mode = 'ExclusiveLock' and l.transactionid = running::xid
          and a.datid <> (select d.oid from pg_database d where d.datname = current_database()))
      and not exists (
        select from pg_prepared_xacts p where p.transaction = running::xid and p.database <> current_database()) then
      return running;
    end if;
  end loop;
  return pg_snapshot_xmax(pg_current_snapshot());
end $function$;

CREATE OR REPLACE FUNCTION gpuaas_tenant()
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN COALESCE(current_setting('gpuaas.tenant_id'::text, true), ''::text);

CREATE OR REPLACE FUNCTION grants_end_with_allocation()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  update allocation_access_grants set state = 'revoked', state_reason = null, revoked_at = coalesce(revoked_at, clock_timestamp())
  where allocation_id = new.id and state <> 'revoked';
  return null;
end $function$;

CREATE OR REPLACE FUNCTION install_ends_with_power()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  delete from allocation_installs where allocation_id = new.id;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION keep_log_partitions(days_kept integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION only_archived_rows_are_removed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if exists (select from gone g left join audit_seals s on s.audit_log_id = g.id
      where not exists (select from audit_segments e where e.chain = s.chain and s.sequence between e.first_sequence and e.last_sequence)) then
    raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION only_archived_seals_are_removed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if exists (select from gone g
      where not exists (select from audit_segments e where e.chain = g.chain and g.sequence between e.first_sequence and e.last_sequence)) then
    raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION only_cut_claims_are_removed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if old.released_at is null or not exists (select from wipe_proofs p join wipe_chain_cuts c on c.target_id = p.target_id
      where p.id = old.wipe_proof_id and c.sequence >= p.sequence) then
    raise exception 'claim % only ever changes by its release', old.id using errcode = 'insufficient_privilege';
  end if;
  return old;
end $function$;

CREATE OR REPLACE FUNCTION only_cut_proofs_are_removed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if exists (select from gone g where not exists (
      select from wipe_chain_cuts c where c.target_id = g.target_id and c.sequence >= g.sequence)) then
    raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION only_ended_tasks_are_removed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if old.kind = 'stream.open' then
    return old;
  end if;
  if old.finished_at is null then
    raise exception 'task % is kept: it has not ended', old.id;
  end if;
  if exists (select from wipe_proofs p where p.task_id = old.id) then
    raise exception 'task % is kept: a wipe proof cites it', old.id;
  end if;
  if exists (select from node_resource_slots s where s.node_id = old.node_id and s.discovery_task_id = old.id) then
    raise exception 'task % is kept: a slot was approved by it', old.id;
  end if;
  if exists (select from allocations a where a.id = old.allocation_id and a.state not in ('released', 'failed'))
    or exists (select from allocation_resource_claims c where c.allocation_id = old.allocation_id and c.released_at is null) then
    raise exception 'task % is kept: its allocation has not ended', old.id;
  end if;
  return old;
end $function$;

CREATE OR REPLACE FUNCTION organization_needs_gpu_limit()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if not exists (select from quotas where organization_id = new.id and project_id = '') then
    raise exception 'organization % has no GPU limit', new.id using errcode = '23514', constraint = 'organization_has_gpu_limit';
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION power_follows_state()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
end $function$;

CREATE OR REPLACE FUNCTION refuse_claim_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'claim % only ever changes by its release', old.id using errcode = 'insufficient_privilege';
end $function$;

CREATE OR REPLACE FUNCTION refuse_released_claim()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'claim % begins released', new.id using errcode = 'check_violation';
end $function$;

CREATE OR REPLACE FUNCTION refuse_segment_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'segment % only ever changes by the removal of its rows', old.file_name using errcode = 'insufficient_privilege';
end $function$;

CREATE OR REPLACE FUNCTION refuse_usage_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.ended_at <= old.ended_at and to_jsonb(new) - '{ended_at,cost_minor}'::text[] = to_jsonb(old) - '{ended_at,cost_minor}'::text[]
    and exists (select from allocations a join nodes n on n.id = a.node_id where a.id = old.allocation_id
      and a.charge_until = new.ended_at and n.restore_hold_id is not null) then
    return new;
  end if;
  raise exception 'usage record % is closed', old.id using errcode = 'insufficient_privilege';
end $function$;

CREATE OR REPLACE FUNCTION refuse_verified_override()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception 'an override is not a verified wipe' using errcode = 'check_violation', constraint = 'override_is_not_verified';
end $function$;

CREATE OR REPLACE FUNCTION remove_archived_audit(of_chain text, from_sequence bigint, online_days integer)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  segment audit_segments;
  removed bigint;
begin
  if online_days < 30 then
    raise exception 'audit rows stay online for 30 days at least' using errcode = 'check_violation';
  end if;
  select * into segment from audit_segments s where s.chain = of_chain and s.first_sequence = from_sequence for update;
  if segment is null or segment.removed_at is not null then
    raise exception 'chain % has no segment at % whose rows are online', of_chain, from_sequence using errcode = 'check_violation';
  end if;
  if segment.created_at > now() - interval '1 day' or segment.last_row_at > now() - make_interval(days => online_days) then
    raise exception 'segment % is too young', segment.file_name using errcode = 'check_violation';
  end if;
  if exists (select from audit_segments s where s.chain = of_chain and s.first_sequence < from_sequence and s.removed_at is null) then
    raise exception 'segment % has an earlier one whose rows are online', segment.file_name using errcode = 'check_violation';
  end if;
  if not exists (select from audit_seals s where s.chain = of_chain and s.sequence = segment.last_sequence and s.hash = segment.last_hash) then
    raise exception 'segment % does not match its seals', segment.file_name using errcode = 'check_violation';
  end if;
  delete from audit_logs l using audit_seals s
    where s.chain = of_chain and s.sequence between segment.first_sequence and segment.last_sequence and l.id = s.audit_log_id;
  get diagnostics removed = row_count;
  if removed <> segment.last_sequence - segment.first_sequence + 1 then
    raise exception 'segment % does not match its rows', segment.file_name using errcode = 'check_violation';
  end if;
  delete from audit_seals s where s.chain = of_chain and s.sequence between segment.first_sequence and segment.last_sequence;
  update audit_segments s set removed_at = clock_timestamp() where s.chain = of_chain and s.first_sequence = from_sequence;
  return removed;
end $function$;

CREATE OR REPLACE FUNCTION require(is_met boolean, what text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if is_met is not true then
    raise exception '%', what using errcode = 'GP409';
  end if;
end $function$;

CREATE OR REPLACE FUNCTION sealed_version(sealed bytea)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN CASE WHEN (octet_length(sealed) >= 2) THEN ((get_byte(sealed, 0) * 256) + get_byte(sealed, 1)) ELSE '-1'::integer END;

CREATE OR REPLACE FUNCTION signal_runs_of_task()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  with woken as materialized (
    select r.id, r.organization_id from workflow_runs r
    where r.state in ('pending', 'running', 'waiting') and r.id in (
      select new.workflow_run_id
      union select o.id from workflow_runs o where o.subject_id = new.allocation_id
      union select o.id from allocation_moves m join workflow_runs o on o.subject_id = m.id where m.allocation_id = new.allocation_id)
    order by r.id for update),
  signaled as (
    update workflow_runs r set signals_pending = r.signals_pending + 1,
      due_at = case when r.state = 'waiting' and r.waiting_for = 'task_finished' then clock_timestamp() else r.due_at end
    from woken where r.id = woken.id)
  insert into workflow_signals (run_id, organization_id, name) select id, organization_id, 'task_finished' from woken;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION stamp_audit_segment()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  new.created_at := clock_timestamp();
  new.removed_at := null;
  select min(l.created_at), max(l.created_at) into new.first_row_at, new.last_row_at
    from audit_seals s join audit_logs l on l.id = s.audit_log_id
    where s.chain = new.chain and s.sequence between new.first_sequence and new.last_sequence
    having count(*) = new.last_sequence - new.first_sequence + 1;
  if new.last_row_at is null then
    raise exception 'segment % does not follow its chain', new.file_name using errcode = 'check_violation';
  end if;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION take_wiped_at()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  select created_at, outcome into new.wiped_at, new.wipe_outcome from wipe_proofs where id = new.wipe_proof_id;
  return new;
end $function$;

CREATE OR REPLACE FUNCTION wipe_chain_genesis(target text)
 RETURNS bytea
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN sha256(convert_to(('gpuaas wipe proof chain '::text || target), 'UTF8'::name));

create table users (
  id text not null,
  issuer text not null,
  subject text not null,
  name text not null,
  email text,
  email_verified boolean default false not null,
  platform_role text,
  state text default 'active'::text not null,
  version integer default 1 not null,
  last_seen_at timestamp with time zone,
  created_at timestamp with time zone default now() not null,
  groups text[],
  groups_at timestamp with time zone,
  constraint users_pkey PRIMARY KEY (id),
  constraint users_issuer_subject_key UNIQUE (issuer, subject),
  constraint users_id_check CHECK (id ~~ 'usr\_%'::text),
  constraint users_name_check CHECK (name <> ''::text),
  constraint users_platform_role_check CHECK (platform_role = ANY (ARRAY['superadmin'::text, 'ops'::text])),
  constraint users_state_check CHECK (state = ANY (ARRAY['active'::text, 'disabled'::text, 'pending'::text]))
);
CREATE INDEX users_by_email ON users USING btree (lower(email));
grant insert, select, update on users to gpuaas_app;

create table organizations (
  id text not null,
  name text not null,
  display_name text not null,
  kind text not null,
  version integer default 1 not null,
  created_at timestamp with time zone default now() not null,
  created_by text,
  constraint organizations_pkey PRIMARY KEY (id),
  constraint organizations_name_key UNIQUE (name),
  constraint organizations_display_name_check CHECK (display_name <> ''::text),
  constraint organizations_id_check CHECK (id ~~ 'org\_%'::text),
  constraint organizations_kind_check CHECK (kind = ANY (ARRAY['personal'::text, 'enterprise'::text])),
  constraint organizations_name_check CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text),
  constraint organizations_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id)
);
CREATE INDEX organizations_by_creator ON organizations USING btree (created_by) WHERE (created_by IS NOT NULL);
CREATE CONSTRAINT TRIGGER organization_has_gpu_limit AFTER INSERT ON organizations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION organization_needs_gpu_limit();
grant insert, select, update on organizations to gpuaas_app;

create table access_policies (
  organization_id text not null,
  session_idle_s integer default 1800 not null,
  session_max_s integer default 14400 not null,
  ends_with_sign_in boolean default false not null,
  records_terminals boolean default false not null,
  recording_days integer default 30 not null,
  allows_service_accounts boolean default false not null,
  version integer default 1 not null,
  updated_at timestamp with time zone default clock_timestamp() not null,
  requires_recording boolean default false not null,
  constraint access_policies_pkey PRIMARY KEY (organization_id),
  constraint access_policies_recording_days_check CHECK (recording_days >= 1 AND recording_days <= 365),
  constraint access_policies_session_idle_s_check CHECK (session_idle_s >= 60 AND session_idle_s <= 1800),
  constraint access_policies_session_max_s_check CHECK (session_max_s >= 300 AND session_max_s <= 86400),
  constraint access_policies_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id)
);
grant insert, select, update on access_policies to gpuaas_app;

create table pools (
  id text not null,
  name text not null,
  organization_id text,
  created_at timestamp with time zone default now() not null,
  purpose text,
  version integer default 1 not null,
  retired_at timestamp with time zone,
  is_live boolean generated always as ((retired_at IS NULL)) stored not null,
  constraint pools_pkey PRIMARY KEY (id),
  constraint pool_life UNIQUE (id, is_live),
  constraint pools_name_key UNIQUE (name),
  constraint pools_id_check CHECK (id ~~ 'pol\_%'::text),
  constraint pools_name_check CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text),
  constraint pools_purpose_check CHECK (purpose <> ''::text),
  constraint pools_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id)
);
grant insert, select, update on pools to gpuaas_app;

create table regions (
  name text not null,
  display_name text not null,
  enabled boolean default false not null,
  disabled_reason text,
  version integer default 1 not null,
  wipe_minimum text default 'clear'::text not null,
  allows_wipe_override boolean default false not null,
  retired_at timestamp with time zone,
  is_live boolean generated always as ((retired_at IS NULL)) stored not null,
  fabric_isolation text default 'none'::text not null,
  constraint regions_pkey PRIMARY KEY (name),
  constraint region_life UNIQUE (name, is_live),
  constraint region_policy UNIQUE (name, allows_wipe_override),
  constraint regions_check CHECK (enabled = (disabled_reason IS NULL)),
  constraint regions_fabric_isolation_check CHECK (fabric_isolation = 'none'::text),
  constraint regions_name_check CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text),
  constraint regions_wipe_minimum_check CHECK (wipe_minimum = ANY (ARRAY['clear'::text, 'purge'::text]))
);
grant insert, select, update on regions to gpuaas_app;

create table restores (
  id text not null,
  began_at timestamp with time zone default clock_timestamp() not null,
  began_by text not null,
  reason text not null,
  older_than timestamp with time zone not null,
  ended jsonb not null,
  lost_changes jsonb not null,
  correlation_id text not null,
  identity_changes jsonb default '[]'::jsonb not null,
  constraint restores_pkey PRIMARY KEY (id),
  constraint restores_check CHECK (older_than <= began_at),
  constraint restores_id_check CHECK (id ~~ 'rst\_%'::text)
);
grant insert, select on restores to gpuaas_app;

create table nodes (
  id text not null,
  name text not null,
  region_name text not null,
  pool_id text not null,
  gpu_model text not null,
  gpu_count integer not null,
  host_role text not null,
  state text not null,
  state_reason text,
  state_since timestamp with time zone default now() not null,
  state_deadline_at timestamp with time zone,
  capacity_mode text not null,
  occupancy text default 'free'::text not null,
  claim_mode text generated always as (
CASE occupancy
    WHEN 'free'::text THEN NULL::text
    WHEN 'sliced'::text THEN 'sliced'::text
    ELSE 'exclusive'::text
END) stored,
  is_held boolean default false not null,
  held_reason text,
  health text default 'unknown'::text not null,
  health_detail jsonb default '{}'::jsonb not null,
  booted_at timestamp with time zone,
  runtime_checked_at timestamp with time zone,
  is_runtime_passed boolean default false not null,
  data_disks jsonb default '[]'::jsonb not null,
  version integer default 1 not null,
  created_at timestamp with time zone default now() not null,
  private_network cidr default '10.100.0.0/24'::cidr not null,
  reboot_required boolean default false not null,
  has_hardware_change boolean default false not null,
  fell_ill_at timestamp with time zone,
  reboot_wanted_at timestamp with time zone,
  reboot_reason text,
  launch_failures integer default 0 not null,
  launch_failed_at timestamp with time zone,
  restore_hold_id text,
  needs_live boolean generated always as (
CASE
    WHEN (state <> 'deleted'::text) THEN true
    ELSE NULL::boolean
END) stored,
  host_vcpu_count integer,
  host_memory_mib bigint,
  host_hugepages_mib bigint,
  host_numa_nodes integer,
  gpus_found jsonb default '[]'::jsonb not null,
  gpu_model_conflict text,
  host_pages jsonb,
  disks_found jsonb default '[]'::jsonb not null,
  host_boot_kinds text[],
  constraint nodes_pkey PRIMARY KEY (id),
  constraint nodes_id_claim_mode_key UNIQUE (id, claim_mode),
  constraint nodes_id_region_name_host_role_key UNIQUE (id, region_name, host_role),
  constraint host_boot_kinds_are_known CHECK (host_boot_kinds <@ ARRAY['uefi'::text, 'kernel'::text]),
  constraint host_size_is_whole CHECK (num_nulls(host_vcpu_count, host_memory_mib, host_hugepages_mib, host_numa_nodes) = ANY (ARRAY[0, 4])),
  constraint nodes_capacity_mode_check CHECK (capacity_mode = ANY (ARRAY['slice'::text, 'baremetal'::text, 'flexible'::text])),
  constraint nodes_check CHECK (is_held = (held_reason IS NOT NULL)),
  constraint nodes_check1 CHECK (host_role = 'worker_compute'::text OR occupancy = 'free'::text),
  constraint nodes_check2 CHECK ((reboot_wanted_at IS NULL) = (reboot_reason IS NULL)),
  constraint nodes_check3 CHECK (reboot_wanted_at IS NULL OR reboot_required),
  constraint nodes_check4 CHECK (launch_failures = 0 OR launch_failed_at IS NOT NULL),
  constraint nodes_gpu_count_check CHECK (gpu_count >= 1 AND gpu_count <= 64),
  constraint nodes_health_check CHECK (health = ANY (ARRAY['ok'::text, 'unhealthy'::text, 'unknown'::text])),
  constraint nodes_host_hugepages_mib_check CHECK (host_hugepages_mib >= 0),
  constraint nodes_host_memory_mib_check CHECK (host_memory_mib >= 0),
  constraint nodes_host_numa_nodes_check CHECK (host_numa_nodes > 0),
  constraint nodes_host_role_check CHECK (host_role = ANY (ARRAY['platform_control'::text, 'app_control'::text, 'worker_compute'::text])),
  constraint nodes_host_vcpu_count_check CHECK (host_vcpu_count >= 0),
  constraint nodes_id_check CHECK (id ~~ 'nod\_%'::text),
  constraint nodes_launch_failures_check CHECK (launch_failures >= 0),
  constraint nodes_name_check CHECK (name ~ '^[A-Za-z0-9-]{1,64}$'::text),
  constraint nodes_occupancy_check CHECK (occupancy = ANY (ARRAY['free'::text, 'sliced'::text, 'exclusive'::text, 'cleaning'::text, 'cleanup_blocked'::text])),
  constraint nodes_state_check CHECK (state = ANY (ARRAY['bootstrap_issued'::text, 'enrolling'::text, 'active'::text, 'offline'::text, 'draining'::text, 'retired'::text, 'deleted'::text])),
  constraint occupancy_fits_mode CHECK (
CASE capacity_mode
    WHEN 'slice'::text THEN occupancy = ANY (ARRAY['free'::text, 'sliced'::text])
    WHEN 'baremetal'::text THEN occupancy <> 'sliced'::text
    ELSE true
END),
  constraint node_in_live_pool FOREIGN KEY (pool_id, needs_live) REFERENCES pools(id, is_live),
  constraint node_in_live_region FOREIGN KEY (region_name, needs_live) REFERENCES regions(name, is_live),
  constraint nodes_pool_id_fkey FOREIGN KEY (pool_id) REFERENCES pools(id),
  constraint nodes_region_name_fkey FOREIGN KEY (region_name) REFERENCES regions(name),
  constraint nodes_restore_hold_id_fkey FOREIGN KEY (restore_hold_id) REFERENCES restores(id)
);
CREATE INDEX nodes_by_illness ON nodes USING btree (fell_ill_at) WHERE (fell_ill_at IS NOT NULL);
CREATE INDEX nodes_by_pool ON nodes USING btree (pool_id) WHERE (state <> 'deleted'::text);
CREATE INDEX nodes_by_region ON nodes USING btree (region_name, id);
CREATE INDEX nodes_cooling ON nodes USING btree (launch_failed_at) WHERE (launch_failures > 0);
CREATE UNIQUE INDEX nodes_live_name ON nodes USING btree (name) WHERE (state <> 'deleted'::text);
CREATE INDEX nodes_restore_held ON nodes USING btree (id) WHERE (restore_hold_id IS NOT NULL);
grant insert, select, update on nodes to gpuaas_app;

create table os_images (
  name text not null,
  display_name text not null,
  os_family text not null,
  os_version text not null,
  channel text default 'stable'::text not null,
  trust text default 'unverified'::text not null,
  version integer default 1 not null,
  retired_at timestamp with time zone,
  constraint os_images_pkey PRIMARY KEY (name),
  constraint os_images_channel_check CHECK (channel = ANY (ARRAY['stable'::text, 'candidate'::text])),
  constraint os_images_name_check CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9.-]{0,62}$'::text),
  constraint os_images_trust_check CHECK (trust = ANY (ARRAY['unverified'::text, 'verified'::text]))
);
CREATE UNIQUE INDEX os_images_any_case ON os_images USING btree (lower(name));
grant insert, select, update on os_images to gpuaas_app;

create table os_image_versions (
  image_name text not null,
  digest text not null,
  format text not null,
  size_bytes bigint not null,
  driver_strategy text not null,
  readiness_checks text[] default '{}'::text[] not null,
  source text not null,
  digest_authority text not null,
  registered_at timestamp with time zone default clock_timestamp() not null,
  retired_at timestamp with time zone,
  retired_reason text,
  boot_kind text default 'uefi'::text not null,
  constraint os_image_versions_pkey PRIMARY KEY (image_name, digest),
  constraint boot_kind_is_known CHECK (boot_kind = ANY (ARRAY['uefi'::text, 'kernel'::text])),
  constraint os_image_versions_check CHECK ((retired_at IS NULL) = (retired_reason IS NULL)),
  constraint os_image_versions_digest_authority_check CHECK (digest_authority <> ''::text),
  constraint os_image_versions_digest_check CHECK (digest ~ '^sha256:[0-9a-f]{64}$'::text),
  constraint os_image_versions_driver_strategy_check CHECK (driver_strategy = ANY (ARRAY['preinstalled'::text, 'none'::text])),
  constraint os_image_versions_format_check CHECK (format = ANY (ARRAY['raw'::text, 'qcow2'::text])),
  constraint os_image_versions_size_bytes_check CHECK (size_bytes > 0),
  constraint os_image_versions_source_check CHECK (source <> ''::text),
  constraint os_image_versions_image_name_fkey FOREIGN KEY (image_name) REFERENCES os_images(name)
);
CREATE INDEX os_image_versions_live ON os_image_versions USING btree (image_name, registered_at) WHERE (retired_at IS NULL);
grant insert, select, update (retired_at), update (retired_reason) on os_image_versions to gpuaas_app;

create table projects (
  id text not null,
  organization_id text not null,
  name text not null,
  display_name text not null,
  version integer default 1 not null,
  created_at timestamp with time zone default now() not null,
  deleted_at timestamp with time zone,
  records_terminals boolean default false not null,
  requires_recording boolean default false not null,
  constraint projects_pkey PRIMARY KEY (id),
  constraint projects_id_organization_id_key UNIQUE (id, organization_id),
  constraint projects_display_name_check CHECK (display_name <> ''::text),
  constraint projects_id_check CHECK (id ~~ 'prj\_%'::text),
  constraint projects_name_check CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text),
  constraint projects_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id)
);
CREATE UNIQUE INDEX projects_name ON projects USING btree (organization_id, name) WHERE (deleted_at IS NULL);
grant insert, select, update on projects to gpuaas_app;

create table sku_catalog (
  name text not null,
  display_name text not null,
  vendor text not null,
  gpu_model text not null,
  capacity_shape text not null,
  gpus_per_node integer not null,
  allowed_gpu_counts integer[] not null,
  enabled boolean default true not null,
  disabled_reason text,
  version integer default 1 not null,
  retired_at timestamp with time zone,
  is_live boolean generated always as ((retired_at IS NULL)) stored not null,
  gpu_ids text[] default '{}'::text[] not null,
  constraint sku_catalog_pkey PRIMARY KEY (name),
  constraint sku_catalog_shape UNIQUE (name, capacity_shape),
  constraint sku_life UNIQUE (name, is_live),
  constraint sku_catalog_allowed_gpu_counts_check CHECK (cardinality(allowed_gpu_counts) > 0),
  constraint sku_catalog_capacity_shape_check CHECK (capacity_shape = ANY (ARRAY['baremetal'::text, 'gpu_slice'::text])),
  constraint sku_catalog_check CHECK (enabled = (disabled_reason IS NULL)),
  constraint sku_catalog_check1 CHECK (capacity_shape <> 'baremetal'::text OR allowed_gpu_counts = ARRAY[gpus_per_node]),
  constraint sku_catalog_gpus_per_node_check CHECK (gpus_per_node >= 1 AND gpus_per_node <= 64),
  constraint sku_catalog_name_check CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text)
);
grant insert, select, update on sku_catalog to gpuaas_app;

create table allocations (
  id text not null,
  organization_id text not null,
  project_id text not null,
  name text not null,
  capacity_shape text default 'baremetal'::text not null,
  sku_name text not null,
  region_name text not null,
  image_name text,
  image_digest text,
  gpu_count integer not null,
  node_id text,
  state text not null,
  claimable_as text generated always as (
CASE
    WHEN (state <> 'released'::text) THEN
    CASE capacity_shape
        WHEN 'gpu_slice'::text THEN 'slot'::text
        ELSE 'node_exclusive'::text
    END
    ELSE NULL::text
END) stored,
  state_reason text,
  state_since timestamp with time zone default clock_timestamp() not null,
  state_deadline_at timestamp with time zone,
  requested_by text not null,
  ssh_key_ids text[] default '{}'::text[] not null,
  tags jsonb default '{}'::jsonb not null,
  is_protected boolean default false not null,
  max_duration_s integer,
  release_at timestamp with time zone,
  activated_at timestamp with time zone,
  release_requested_at timestamp with time zone,
  released_at timestamp with time zone,
  failure_reason text,
  correlation_id text not null,
  version integer default 1 not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  power_state text,
  power_since timestamp with time zone,
  power_reason text,
  power_run_id text,
  power_grace_s integer,
  install_number integer default 0 not null,
  needs_live boolean generated always as (
CASE
    WHEN (state <> ALL (ARRAY['released'::text, 'failed'::text])) THEN true
    ELSE NULL::boolean
END) stored,
  storage text default 'raw'::text not null,
  network text,
  charge_until timestamp with time zone,
  constraint allocations_pkey PRIMARY KEY (id),
  constraint allocations_id_node_id_claimable_as_key UNIQUE (id, node_id, claimable_as),
  constraint allocations_id_organization_id_project_id_key UNIQUE (id, organization_id, project_id),
  constraint allocations_capacity_shape_check CHECK (capacity_shape = ANY (ARRAY['baremetal'::text, 'gpu_slice'::text])),
  constraint allocations_check CHECK ((image_name IS NULL) = (image_digest IS NULL)),
  constraint allocations_check1 CHECK ((state = 'released'::text) = (released_at IS NOT NULL)),
  constraint allocations_check2 CHECK (state <> 'active'::text OR activated_at IS NOT NULL),
  constraint allocations_check3 CHECK ((state <> ALL (ARRAY['releasing'::text, 'release_failed'::text, 'released'::text])) OR release_requested_at IS NOT NULL),
  constraint allocations_gpu_count_check CHECK (gpu_count > 0),
  constraint allocations_id_check CHECK (id ~~ 'alc\_%'::text),
  constraint allocations_install_number_check CHECK (install_number >= 0),
  constraint allocations_max_duration_s_check CHECK (max_duration_s > 0),
  constraint allocations_name_check CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text),
  constraint allocations_network_check CHECK (network = 'private_nat'::text),
  constraint allocations_power_grace_s_check CHECK (power_grace_s >= 0 AND power_grace_s <= 3600),
  constraint allocations_power_state_check CHECK (power_state = ANY (ARRAY['on'::text, 'stopping'::text, 'off'::text, 'starting'::text, 'rebooting'::text, 'reinstalling'::text, 'unknown'::text])),
  constraint allocations_state_check CHECK (state = ANY (ARRAY['requested'::text, 'provisioning'::text, 'active'::text, 'releasing'::text, 'released'::text, 'failed'::text, 'release_failed'::text])),
  constraint allocations_storage_check CHECK (storage = ANY (ARRAY['raw'::text, 'formatted'::text])),
  constraint charge_ends_while_active CHECK (charge_until IS NULL OR COALESCE(charge_until >= activated_at AND charge_until <= release_requested_at, false)),
  constraint formatted_has_data_disks CHECK (storage = 'raw'::text OR capacity_shape = 'gpu_slice'::text AND gpu_count > 1),
  constraint network_of_slice CHECK (network IS NULL OR capacity_shape = 'gpu_slice'::text),
  constraint power_changes_by_a_run CHECK ((power_run_id IS NOT NULL) = COALESCE(power_state <> ALL (ARRAY['on'::text, 'off'::text, 'unknown'::text]), false)),
  constraint power_grace_is_of_a_change CHECK (power_grace_s IS NULL OR power_run_id IS NOT NULL),
  constraint power_is_dated CHECK ((power_since IS NULL) = (power_state IS NULL)),
  constraint power_unknown_says_why CHECK (power_state <> 'unknown'::text OR power_reason IS NOT NULL),
  constraint power_while_active CHECK ((power_state IS NOT NULL) = (state = 'active'::text AND capacity_shape = 'gpu_slice'::text)),
  constraint allocation_of_live_sku FOREIGN KEY (sku_name, needs_live) REFERENCES sku_catalog(name, is_live),
  constraint allocations_image_name_image_digest_fkey FOREIGN KEY (image_name, image_digest) REFERENCES os_image_versions(image_name, digest),
  constraint allocations_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id),
  constraint allocations_project_id_organization_id_fkey FOREIGN KEY (project_id, organization_id) REFERENCES projects(id, organization_id),
  constraint allocations_region_name_fkey FOREIGN KEY (region_name) REFERENCES regions(name),
  constraint allocations_sku_name_fkey FOREIGN KEY (sku_name) REFERENCES sku_catalog(name)
);
CREATE INDEX allocations_by_node ON allocations USING btree (node_id) WHERE (node_id IS NOT NULL);
CREATE INDEX allocations_by_organization ON allocations USING btree (organization_id, id);
CREATE INDEX allocations_by_project ON allocations USING btree (project_id, id);
CREATE INDEX allocations_changing_power ON allocations USING btree (id) WHERE (power_run_id IS NOT NULL);
CREATE INDEX allocations_due ON allocations USING btree (release_at) WHERE ((release_at IS NOT NULL) AND (release_requested_at IS NULL));
CREATE INDEX allocations_live ON allocations USING btree (state, state_since) WHERE (state <> 'released'::text);
CREATE UNIQUE INDEX allocations_name ON allocations USING btree (project_id, name) WHERE (state <> ALL (ARRAY['released'::text, 'failed'::text]));
CREATE INDEX allocations_released ON allocations USING btree (released_at) WHERE (released_at IS NOT NULL);
CREATE INDEX allocations_standing ON allocations USING btree (node_id) WHERE (state = ANY (ARRAY['active'::text, 'releasing'::text, 'release_failed'::text]));
CREATE TRIGGER custody BEFORE UPDATE OF state ON allocations FOR EACH ROW WHEN (new.state = 'active'::text AND old.state <> 'active'::text) EXECUTE FUNCTION check_custody();
CREATE TRIGGER grants_end AFTER UPDATE OF state ON allocations FOR EACH ROW WHEN ((old.state = ANY (ARRAY['requested'::text, 'provisioning'::text, 'active'::text])) AND (new.state <> ALL (ARRAY['requested'::text, 'provisioning'::text, 'active'::text]))) EXECUTE FUNCTION grants_end_with_allocation();
CREATE TRIGGER install AFTER UPDATE OF state ON allocations FOR EACH ROW WHEN (old.state = 'active'::text AND new.state <> 'active'::text) EXECUTE FUNCTION install_ends_with_power();
CREATE TRIGGER power BEFORE INSERT OR UPDATE OF state, capacity_shape ON allocations FOR EACH ROW EXECUTE FUNCTION power_follows_state();
grant insert, select, update on allocations to gpuaas_app;

create table allocation_access_grants (
  id text not null,
  organization_id text not null,
  project_id text not null,
  allocation_id text not null,
  user_id text not null,
  user_name text not null,
  ssh_key_id text not null,
  public_key text not null,
  fingerprint text not null,
  state text default 'pending'::text not null,
  state_reason text,
  granted_by text not null,
  correlation_id text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  installed_at timestamp with time zone,
  revoked_at timestamp with time zone,
  kept_until timestamp with time zone,
  constraint allocation_access_grants_pkey PRIMARY KEY (id),
  constraint allocation_access_grants_fingerprint_check CHECK (fingerprint ~~ 'SHA256:%'::text),
  constraint allocation_access_grants_id_check CHECK (id ~~ 'grt\_%'::text),
  constraint allocation_access_grants_state_check CHECK (state = ANY (ARRAY['pending'::text, 'installed'::text, 'failed'::text, 'revoking'::text, 'revoked'::text])),
  constraint failed_says_why CHECK (state <> 'failed'::text OR state_reason IS NOT NULL),
  constraint revoked_is_dated CHECK ((revoked_at IS NOT NULL) = (state = ANY (ARRAY['revoking'::text, 'revoked'::text]))),
  constraint allocation_access_grants_allocation_id_organization_id_pro_fkey FOREIGN KEY (allocation_id, organization_id, project_id) REFERENCES allocations(id, organization_id, project_id),
  constraint allocation_access_grants_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX access_grants_by_allocation ON allocation_access_grants USING btree (allocation_id, id DESC);
CREATE INDEX access_grants_by_user ON allocation_access_grants USING btree (user_id) WHERE (revoked_at IS NULL);
CREATE INDEX access_grants_kept ON allocation_access_grants USING btree (kept_until) WHERE (kept_until IS NOT NULL);
CREATE INDEX access_grants_old ON allocation_access_grants USING btree (created_at) WHERE (kept_until IS NULL);
CREATE UNIQUE INDEX access_grants_once ON allocation_access_grants USING btree (allocation_id, fingerprint) WHERE (revoked_at IS NULL);
CREATE INDEX access_grants_untold ON allocation_access_grants USING btree (allocation_id) WHERE (state = ANY (ARRAY['pending'::text, 'revoking'::text]));
grant delete, insert, select, update on allocation_access_grants to gpuaas_app;

create table allocation_installs (
  allocation_id text not null,
  organization_id text not null,
  project_id text not null,
  run_id text not null,
  install_number integer not null,
  image_name text,
  image_digest text,
  ssh_key_ids text[] not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  sealed_user_data bytea,
  constraint allocation_installs_pkey PRIMARY KEY (allocation_id),
  constraint allocation_installs_install_number_check CHECK (install_number > 0),
  constraint allocation_installs_sealed_user_data_check CHECK (octet_length(sealed_user_data) >= 3 AND octet_length(sealed_user_data) <= (65536 + 30)),
  constraint allocation_installs_allocation_id_organization_id_project__fkey FOREIGN KEY (allocation_id, organization_id, project_id) REFERENCES allocations(id, organization_id, project_id),
  constraint allocation_installs_image_name_image_digest_fkey FOREIGN KEY (image_name, image_digest) REFERENCES os_image_versions(image_name, digest)
);
CREATE INDEX allocation_installs_plain ON allocation_installs USING btree (allocation_id) WHERE (sealed_version(sealed_user_data) = 0);
grant delete, insert, select, update on allocation_installs to gpuaas_app;

create table node_tasks (
  id text not null,
  node_id text not null,
  allocation_id text,
  slot_id text,
  kind text not null,
  params jsonb not null,
  attempt integer default 1 not null,
  slot_generation integer,
  state text default 'queued'::text not null,
  state_reason text,
  output jsonb,
  correlation_id text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  dispatched_at timestamp with time zone,
  finished_at timestamp with time zone,
  expires_at timestamp with time zone not null,
  started_at timestamp with time zone,
  error_code text,
  percent integer,
  bytes_per_s bigint,
  progress_note text,
  progressed_at timestamp with time zone,
  workflow_run_id text,
  sealed_user_data bytea,
  kept_until timestamp with time zone,
  constraint node_tasks_pkey PRIMARY KEY (id),
  constraint node_tasks_attempt_check CHECK (attempt > 0),
  constraint node_tasks_check CHECK (sealed_user_data IS NULL OR allocation_id IS NOT NULL),
  constraint node_tasks_id_check CHECK (id ~~ 'tsk\_%'::text),
  constraint node_tasks_percent_check CHECK (percent >= 0 AND percent <= 100),
  constraint node_tasks_state_check CHECK (state = ANY (ARRAY['queued'::text, 'dispatched'::text, 'running'::text, 'completed'::text, 'failed'::text, 'expired'::text, 'unknown'::text, 'cancelled'::text])),
  constraint node_tasks_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id)
);
CREATE INDEX node_tasks_by_correlation ON node_tasks USING btree (correlation_id, id);
CREATE INDEX node_tasks_by_node ON node_tasks USING btree (node_id, kind, id DESC);
CREATE INDEX node_tasks_by_run ON node_tasks USING btree (workflow_run_id, kind) WHERE (workflow_run_id IS NOT NULL);
CREATE INDEX node_tasks_finished ON node_tasks USING btree (finished_at) WHERE ((finished_at IS NOT NULL) AND (kept_until IS NULL));
CREATE INDEX node_tasks_kept ON node_tasks USING btree (kept_until) WHERE (kept_until IS NOT NULL);
CREATE INDEX node_tasks_of_node ON node_tasks USING btree (node_id, created_at);
CREATE UNIQUE INDEX node_tasks_once ON node_tasks USING btree (allocation_id, kind, attempt) WHERE (allocation_id IS NOT NULL);
CREATE INDEX node_tasks_open ON node_tasks USING btree (state, expires_at) WHERE (state = ANY (ARRAY['queued'::text, 'dispatched'::text, 'running'::text]));
CREATE INDEX node_tasks_plain ON node_tasks USING btree (id) WHERE (sealed_version(sealed_user_data) = 0);
CREATE INDEX node_tasks_queue ON node_tasks USING btree (node_id, id) WHERE (state = 'queued'::text);
CREATE INDEX node_tasks_streams ON node_tasks USING btree (finished_at) WHERE ((kind = 'stream.open'::text) AND (finished_at IS NOT NULL));
CREATE INDEX node_tasks_under_way ON node_tasks USING btree (node_id, id) WHERE (state = ANY (ARRAY['dispatched'::text, 'running'::text]));
CREATE TRIGGER clone_ends BEFORE UPDATE OF state ON node_tasks FOR EACH ROW WHEN (new.kind = 'slice.image_clone'::text AND (new.state = ANY (ARRAY['completed'::text, 'failed'::text, 'expired'::text, 'unknown'::text, 'cancelled'::text]))) EXECUTE FUNCTION clone_forgets_user_data();
CREATE TRIGGER only_ended_tasks_are_removed BEFORE DELETE ON node_tasks FOR EACH ROW EXECUTE FUNCTION only_ended_tasks_are_removed();
CREATE TRIGGER wakes_run AFTER UPDATE OF state ON node_tasks FOR EACH ROW WHEN ((old.state = ANY (ARRAY['queued'::text, 'dispatched'::text, 'running'::text])) AND (new.state <> ALL (ARRAY['queued'::text, 'dispatched'::text, 'running'::text])) AND (new.workflow_run_id IS NOT NULL OR new.allocation_id IS NOT NULL)) EXECUTE FUNCTION signal_runs_of_task();
grant delete, insert, select, update on node_tasks to gpuaas_app;

create table allocation_moves (
  id text not null,
  allocation_id text not null,
  organization_id text not null,
  project_id text not null,
  number integer not null,
  from_node_id text not null,
  to_node_id text not null,
  slot_ids text[] not null,
  partition_id integer,
  scores jsonb not null,
  task_id text not null,
  reason text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  host_task_id text generated always as (NULLIF(task_id, ''::text)) stored,
  constraint allocation_moves_pkey PRIMARY KEY (id),
  constraint allocation_moves_allocation_id_from_node_id_key UNIQUE (allocation_id, from_node_id),
  constraint allocation_moves_allocation_id_number_key UNIQUE (allocation_id, number),
  constraint allocation_moves_allocation_id_to_node_id_key UNIQUE (allocation_id, to_node_id),
  constraint allocation_moves_id_allocation_id_from_node_id_key UNIQUE (id, allocation_id, from_node_id),
  constraint allocation_moves_check CHECK (from_node_id <> to_node_id),
  constraint allocation_moves_id_check CHECK (id ~~ 'mov\_%'::text),
  constraint allocation_moves_number_check CHECK (number > 0),
  constraint allocation_moves_allocation_id_organization_id_project_id_fkey FOREIGN KEY (allocation_id, organization_id, project_id) REFERENCES allocations(id, organization_id, project_id),
  constraint allocation_moves_from_node_id_fkey FOREIGN KEY (from_node_id) REFERENCES nodes(id),
  constraint allocation_moves_to_node_id_fkey FOREIGN KEY (to_node_id) REFERENCES nodes(id),
  constraint move_has_its_task FOREIGN KEY (host_task_id) REFERENCES node_tasks(id)
);
CREATE INDEX moves_by_task ON allocation_moves USING btree (host_task_id) WHERE (host_task_id IS NOT NULL);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON allocation_moves FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
grant insert, select on allocation_moves to gpuaas_app;

create table allocation_placements (
  allocation_id text not null,
  organization_id text not null,
  project_id text not null,
  node_id text not null,
  slot_ids text[] not null,
  partition_id integer,
  vm_profile_name text,
  vcpu_count integer,
  memory_mib integer,
  gpu_count integer not null,
  gpu_hourly_price_minor bigint not null,
  currency text not null,
  scores jsonb not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  hugepages text,
  numa_policy text,
  constraint allocation_placements_pkey PRIMARY KEY (allocation_id),
  constraint placed_hugepages_are_known CHECK (hugepages = ANY (ARRAY['auto'::text, 'none'::text, '2M'::text, '1G'::text])),
  constraint placed_numa_policy_is_known CHECK (numa_policy = ANY (ARRAY['strict'::text, 'preferred'::text, 'none'::text])),
  constraint allocation_placements_allocation_id_organization_id_projec_fkey FOREIGN KEY (allocation_id, organization_id, project_id) REFERENCES allocations(id, organization_id, project_id),
  constraint allocation_placements_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON allocation_placements FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
grant insert, select on allocation_placements to gpuaas_app;

create table wipe_proofs (
  id text not null,
  node_id text not null,
  slot_id text,
  target_id text generated always as (COALESCE(slot_id, node_id)) stored,
  allocation_id text,
  task_id text not null,
  method text not null,
  is_verified boolean not null,
  evidence jsonb not null,
  correlation_id text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  disk_serial text,
  sequence integer not null,
  previous_hash bytea not null,
  proof_hash bytea not null,
  outcome text generated always as (
CASE
    WHEN (method = 'two_person_override'::text) THEN 'overridden'::text
    WHEN is_verified THEN 'verified'::text
    ELSE 'failed'::text
END) stored not null,
  constraint wipe_proofs_pkey PRIMARY KEY (id),
  constraint proof_has_its_place UNIQUE (target_id, sequence),
  constraint proof_has_outcome UNIQUE (id, slot_id, outcome),
  constraint wipe_proofs_id_target_id_allocation_id_is_verified_key UNIQUE (id, target_id, allocation_id, is_verified),
  constraint proof_is_of_something CHECK (allocation_id IS NOT NULL OR disk_serial IS NOT NULL),
  constraint wipe_proofs_check CHECK (sequence > 0 AND octet_length(previous_hash) = 32 AND octet_length(proof_hash) = 32),
  constraint wipe_proofs_id_check CHECK (id ~~ 'wpf\_%'::text),
  constraint wipe_proofs_method_check CHECK (method <> ''::text),
  constraint wipe_proofs_outcome_check CHECK (outcome = ANY (ARRAY['verified'::text, 'overridden'::text, 'failed'::text])),
  constraint wipe_proofs_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id)
);
CREATE INDEX wipe_proofs_by_age ON wipe_proofs USING brin (created_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX wipe_proofs_by_allocation ON wipe_proofs USING btree (allocation_id);
CREATE INDEX wipe_proofs_by_slot ON wipe_proofs USING btree (slot_id, created_at) WHERE (slot_id IS NOT NULL);
CREATE INDEX wipe_proofs_by_task ON wipe_proofs USING btree (task_id);
CREATE TRIGGER append_only BEFORE UPDATE OR TRUNCATE ON wipe_proofs FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER chained BEFORE INSERT ON wipe_proofs FOR EACH ROW EXECUTE FUNCTION chain_wipe_proof();
CREATE TRIGGER only_cut AFTER DELETE ON wipe_proofs REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION only_cut_proofs_are_removed();
CREATE TRIGGER override_is_not_verified BEFORE INSERT ON wipe_proofs FOR EACH ROW WHEN (new.method = 'two_person_override'::text AND new.is_verified) EXECUTE FUNCTION refuse_verified_override();
grant insert (allocation_id), insert (correlation_id), insert (disk_serial), insert (evidence), insert (id), insert (is_verified), insert (method), insert (node_id), insert (slot_id), insert (task_id), select on wipe_proofs to gpuaas_app;

CREATE OR REPLACE FUNCTION wipe_proof_hash(p wipe_proofs)
 RETURNS bytea
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN sha256(convert_to(concat('64:', encode((p).previous_hash, 'hex'::text), ',', octet_length(((p).sequence)::text), ':', (p).sequence, ',', octet_length((p).id), ':', (p).id, ',', octet_length((p).node_id), ':', (p).node_id, ',', COALESCE(((octet_length((p).slot_id) || ':'::text) || (p).slot_id), '-'::text), ',', COALESCE(((octet_length((p).allocation_id) || ':'::text) || (p).allocation_id), '-'::text), ',', octet_length((p).task_id), ':', (p).task_id, ',', octet_length((p).method), ':', (p).method, ',', CASE WHEN (p).is_verified THEN '4:true'::text ELSE '5:false'::text END, ',', octet_length(((p).evidence)::text), ':', (p).evidence, ',', COALESCE(((octet_length((p).disk_serial) || ':'::text) || (p).disk_serial), '-'::text), ',', octet_length((p).correlation_id), ':', (p).correlation_id, ',27:', to_char(((p).created_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text), ','), 'UTF8'::name));

create table node_resource_slots (
  id text not null,
  node_id text not null,
  region_name text not null,
  host_role text generated always as ('worker_compute'::text) stored not null,
  slot_index integer not null,
  parent_slot_id text,
  approval text not null,
  status text not null,
  claim_mode text generated always as (
CASE
    WHEN (status <> 'available'::text) THEN 'sliced'::text
    ELSE NULL::text
END) stored,
  status_reason text,
  status_since timestamp with time zone default now() not null,
  health text default 'unknown'::text not null,
  health_detail jsonb default '{}'::jsonb not null,
  generation integer default 0 not null,
  gpu_pci_address text,
  gpu_uuid text,
  module_id integer,
  numa_node integer,
  nvme_serial text,
  nvme_device text,
  mac_address macaddr,
  private_ip inet,
  network_id text not null,
  fabric_claim_mode text,
  fabric_vf_pci_address text,
  wipe_method text,
  last_claimed_at timestamp with time zone,
  wipe_proof_id text,
  wiped_at timestamp with time zone,
  approved_by text,
  approved_at timestamp with time zone,
  discovery_task_id text,
  version integer default 1 not null,
  created_at timestamp with time zone default now() not null,
  content_hash text,
  content jsonb,
  drift jsonb,
  host_generation integer,
  wipe_outcome text,
  needs_override boolean generated always as (
CASE
    WHEN ((status = 'available'::text) AND (wipe_outcome = 'overridden'::text)) THEN true
    ELSE NULL::boolean
END) stored,
  quarantine_reason text,
  constraint node_resource_slots_pkey PRIMARY KEY (id),
  constraint node_resource_slots_id_node_id_claim_mode_key UNIQUE (id, node_id, claim_mode),
  constraint node_resource_slots_id_node_id_key UNIQUE (id, node_id),
  constraint node_resource_slots_node_id_slot_index_key UNIQUE (node_id, slot_index),
  constraint available_is_complete CHECK (status <> 'available'::text OR gpu_pci_address IS NOT NULL AND nvme_serial IS NOT NULL AND nvme_device IS NOT NULL AND mac_address IS NOT NULL AND private_ip IS NOT NULL AND fabric_claim_mode = 'per_slot_vf'::text AND fabric_vf_pci_address IS NOT NULL AND fabric_claim_mode IS NOT NULL),
  constraint available_is_not_suspect CHECK (status <> 'available'::text OR quarantine_reason IS NULL),
  constraint available_is_wiped CHECK (status <> 'available'::text OR wiped_at IS NOT NULL AND (last_claimed_at IS NULL OR wiped_at >= last_claimed_at)),
  constraint drift_needs_reapproval CHECK (drift IS NULL OR approval <> 'approved'::text),
  constraint node_resource_slots_approval_check CHECK (approval = ANY (ARRAY['approved'::text, 'disabled'::text, 'needs_reapproval'::text])),
  constraint node_resource_slots_check CHECK (approval = 'disabled'::text AND approved_at IS NULL OR approved_by IS NOT NULL AND approved_at IS NOT NULL AND discovery_task_id IS NOT NULL),
  constraint node_resource_slots_check1 CHECK ((wipe_proof_id IS NULL) = (wiped_at IS NULL)),
  constraint node_resource_slots_content_hash_check CHECK (content_hash ~ '^[0-9a-f]{64}$'::text),
  constraint node_resource_slots_fabric_claim_mode_check CHECK (fabric_claim_mode = 'per_slot_vf'::text),
  constraint node_resource_slots_fabric_vf_pci_address_check CHECK (fabric_vf_pci_address ~ '^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$'::text),
  constraint node_resource_slots_generation_check CHECK (generation >= 0),
  constraint node_resource_slots_gpu_pci_address_check CHECK (gpu_pci_address ~ '^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$'::text),
  constraint node_resource_slots_health_check CHECK (health = ANY (ARRAY['ok'::text, 'unhealthy'::text, 'unknown'::text])),
  constraint node_resource_slots_host_generation_check CHECK (host_generation >= 0 AND host_generation <= 1000000000),
  constraint node_resource_slots_id_check CHECK (id ~~ 'slt\_%'::text),
  constraint node_resource_slots_nvme_device_check CHECK (nvme_device ~ '^/dev/disk/by-id/[A-Za-z0-9._:-]+$'::text),
  constraint node_resource_slots_nvme_serial_check CHECK (nvme_serial <> ''::text),
  constraint node_resource_slots_slot_index_check CHECK (slot_index >= 0 AND slot_index <= 63),
  constraint node_resource_slots_status_check CHECK (status = ANY (ARRAY['available'::text, 'reserved'::text, 'in_use'::text, 'cleaning'::text, 'cleanup_blocked'::text, 'quarantined'::text])),
  constraint node_resource_slots_wipe_method_check CHECK (wipe_method = ANY (ARRAY['nvme_sanitize'::text, 'nvme_format'::text, 'blkdiscard'::text])),
  constraint wipe_has_outcome CHECK ((wipe_proof_id IS NULL) = (wipe_outcome IS NULL)),
  constraint wipe_is_accepted CHECK (wipe_outcome = ANY (ARRAY['verified'::text, 'overridden'::text])),
  constraint node_resource_slots_approved_by_fkey FOREIGN KEY (approved_by) REFERENCES users(id),
  constraint node_resource_slots_parent_slot_id_fkey FOREIGN KEY (parent_slot_id) REFERENCES node_resource_slots(id),
  constraint override_is_allowed FOREIGN KEY (region_name, needs_override) REFERENCES regions(name, allows_wipe_override),
  constraint slot_on_compute_host FOREIGN KEY (node_id, region_name, host_role) REFERENCES nodes(id, region_name, host_role),
  constraint wiped_with_proof FOREIGN KEY (wipe_proof_id, id, wipe_outcome) REFERENCES wipe_proofs(id, slot_id, outcome)
);
CREATE INDEX slots_accepted ON node_resource_slots USING btree (region_name) WHERE (wipe_outcome = 'overridden'::text);
CREATE INDEX slots_by_disk ON node_resource_slots USING btree (nvme_serial) WHERE (nvme_serial IS NOT NULL);
CREATE INDEX slots_by_gpu ON node_resource_slots USING btree (gpu_uuid) WHERE (gpu_uuid IS NOT NULL);
CREATE UNIQUE INDEX slots_gpu ON node_resource_slots USING btree (node_id, gpu_pci_address) WHERE (approval = 'approved'::text);
CREATE UNIQUE INDEX slots_ip ON node_resource_slots USING btree (network_id, private_ip) WHERE (approval = 'approved'::text);
CREATE UNIQUE INDEX slots_mac ON node_resource_slots USING btree (region_name, mac_address) WHERE (approval = 'approved'::text);
CREATE UNIQUE INDEX slots_nvme ON node_resource_slots USING btree (region_name, nvme_serial) WHERE (approval = 'approved'::text);
CREATE UNIQUE INDEX slots_vf ON node_resource_slots USING btree (node_id, fabric_vf_pci_address) WHERE (approval = 'approved'::text);
CREATE TRIGGER wiped_at BEFORE INSERT OR UPDATE OF wipe_proof_id, wiped_at ON node_resource_slots FOR EACH ROW WHEN (new.wipe_proof_id IS NOT NULL) EXECUTE FUNCTION take_wiped_at();
grant insert, select, update on node_resource_slots to gpuaas_app;

create table allocation_resource_claims (
  id text not null,
  allocation_id text not null,
  organization_id text not null,
  project_id text not null,
  claim_kind text not null,
  node_id text not null,
  slot_id text,
  target_id text generated always as (COALESCE(slot_id, node_id)) stored not null,
  gpu_count integer not null,
  slot_generation integer,
  created_at timestamp with time zone default clock_timestamp() not null,
  released_at timestamp with time zone,
  wipe_proof_id text,
  is_proof_verified boolean generated always as (
CASE
    WHEN (wipe_proof_id IS NOT NULL) THEN true
    ELSE NULL::boolean
END) stored,
  node_mode text generated always as (
CASE
    WHEN (released_at IS NULL) THEN
    CASE claim_kind
        WHEN 'slot'::text THEN 'sliced'::text
        ELSE 'exclusive'::text
    END
    ELSE NULL::text
END) stored,
  adopted_generation integer,
  move_id text,
  live_kind text generated always as (
CASE
    WHEN ((released_at IS NULL) AND (move_id IS NULL)) THEN claim_kind
    ELSE NULL::text
END) stored,
  constraint allocation_resource_claims_pkey PRIMARY KEY (id),
  constraint adopted_generation_is_newer CHECK (adopted_generation IS NULL OR claim_kind = 'node_exclusive'::text OR COALESCE(slot_generation < adopted_generation AND adopted_generation <= 1000000001, false)),
  constraint allocation_resource_claims_check CHECK ((claim_kind = 'slot'::text) = (slot_id IS NOT NULL)),
  constraint allocation_resource_claims_check1 CHECK ((claim_kind = 'slot'::text) = (slot_generation IS NOT NULL)),
  constraint allocation_resource_claims_check2 CHECK (claim_kind <> 'slot'::text OR gpu_count = 1),
  constraint allocation_resource_claims_check3 CHECK ((released_at IS NULL) = (wipe_proof_id IS NULL)),
  constraint allocation_resource_claims_claim_kind_check CHECK (claim_kind = ANY (ARRAY['slot'::text, 'node_exclusive'::text])),
  constraint allocation_resource_claims_gpu_count_check CHECK (gpu_count > 0),
  constraint allocation_resource_claims_id_check CHECK (id ~~ 'clm\_%'::text),
  constraint allocation_resource_claims_allocation_id_organization_id_p_fkey FOREIGN KEY (allocation_id, organization_id, project_id) REFERENCES allocations(id, organization_id, project_id),
  constraint claim_fits_allocation FOREIGN KEY (allocation_id, node_id, live_kind) REFERENCES allocations(id, node_id, claimable_as),
  constraint claim_left_by_move FOREIGN KEY (move_id, allocation_id, node_id) REFERENCES allocation_moves(id, allocation_id, from_node_id),
  constraint node_is_in_mode FOREIGN KEY (node_id, node_mode) REFERENCES nodes(id, claim_mode),
  constraint released_with_proof FOREIGN KEY (wipe_proof_id, target_id, allocation_id, is_proof_verified) REFERENCES wipe_proofs(id, target_id, allocation_id, is_verified),
  constraint slot_is_taken FOREIGN KEY (slot_id, node_id, node_mode) REFERENCES node_resource_slots(id, node_id, claim_mode)
);
CREATE INDEX claims_by_allocation ON allocation_resource_claims USING btree (allocation_id);
CREATE INDEX claims_left ON allocation_resource_claims USING btree (move_id) WHERE ((move_id IS NOT NULL) AND (released_at IS NULL));
CREATE INDEX claims_live_by_node ON allocation_resource_claims USING btree (node_id) WHERE (released_at IS NULL);
CREATE INDEX claims_live_by_project ON allocation_resource_claims USING btree (project_id) WHERE (released_at IS NULL);
CREATE INDEX claims_of_nodes ON allocation_resource_claims USING btree (node_id, created_at) WHERE (claim_kind = 'node_exclusive'::text);
CREATE UNIQUE INDEX claims_one_per_node ON allocation_resource_claims USING btree (node_id) WHERE ((released_at IS NULL) AND (claim_kind = 'node_exclusive'::text));
CREATE UNIQUE INDEX claims_one_per_slot ON allocation_resource_claims USING btree (slot_id) WHERE ((released_at IS NULL) AND (slot_id IS NOT NULL));
CREATE INDEX claims_pinned ON allocation_resource_claims USING btree (node_id, node_mode) WHERE (node_mode IS NOT NULL);
CREATE INDEX claims_released ON allocation_resource_claims USING btree (released_at) WHERE (released_at IS NOT NULL);
CREATE INDEX claims_released_by_node ON allocation_resource_claims USING btree (node_id, released_at) WHERE (released_at IS NOT NULL);
CREATE TRIGGER born_live BEFORE INSERT ON allocation_resource_claims FOR EACH ROW WHEN (new.released_at IS NOT NULL OR new.move_id IS NOT NULL) EXECUTE FUNCTION refuse_released_claim();
CREATE TRIGGER change_once BEFORE UPDATE ON allocation_resource_claims FOR EACH ROW WHEN (old.released_at IS NOT NULL OR old.move_id IS NOT NULL AND new.move_id IS DISTINCT FROM old.move_id OR old.id IS DISTINCT FROM new.id OR old.allocation_id IS DISTINCT FROM new.allocation_id OR old.organization_id IS DISTINCT FROM new.organization_id OR old.project_id IS DISTINCT FROM new.project_id OR old.claim_kind IS DISTINCT FROM new.claim_kind OR old.node_id IS DISTINCT FROM new.node_id OR old.slot_id IS DISTINCT FROM new.slot_id OR old.gpu_count IS DISTINCT FROM new.gpu_count OR old.slot_generation IS DISTINCT FROM new.slot_generation OR old.created_at IS DISTINCT FROM new.created_at) EXECUTE FUNCTION refuse_claim_change();
CREATE TRIGGER only_cut BEFORE DELETE ON allocation_resource_claims FOR EACH ROW EXECUTE FUNCTION only_cut_claims_are_removed();
CREATE TRIGGER release BEFORE UPDATE ON allocation_resource_claims FOR EACH ROW WHEN (new.released_at IS NOT NULL) EXECUTE FUNCTION check_claim_release();
grant insert, select, update on allocation_resource_claims to gpuaas_app;

create table allocation_user_data (
  allocation_id text not null,
  organization_id text not null,
  project_id text not null,
  updated_at timestamp with time zone default clock_timestamp() not null,
  sealed_user_data bytea not null,
  constraint allocation_user_data_pkey PRIMARY KEY (allocation_id),
  constraint allocation_user_data_sealed_user_data_check CHECK (octet_length(sealed_user_data) >= 3 AND octet_length(sealed_user_data) <= (65536 + 30)),
  constraint allocation_user_data_allocation_id_organization_id_project_fkey FOREIGN KEY (allocation_id, organization_id, project_id) REFERENCES allocations(id, organization_id, project_id)
);
CREATE INDEX allocation_user_data_plain ON allocation_user_data USING btree (allocation_id) WHERE (sealed_version(sealed_user_data) = 0);
grant delete, insert, select, update on allocation_user_data to gpuaas_app;

create table service_accounts (
  id text not null,
  organization_id text not null,
  project_id text not null,
  name text not null,
  description text,
  state text default 'enabled'::text not null,
  secret_hash bytea not null,
  previous_secret_hash bytea,
  previous_secret_until timestamp with time zone,
  secret_rotated_at timestamp with time zone default now() not null,
  last_used_at timestamp with time zone,
  version integer default 1 not null,
  created_at timestamp with time zone default now() not null,
  deleted_at timestamp with time zone,
  constraint service_accounts_pkey PRIMARY KEY (id),
  constraint service_accounts_id_organization_id_project_id_key UNIQUE (id, organization_id, project_id),
  constraint service_accounts_check CHECK ((previous_secret_hash IS NULL) = (previous_secret_until IS NULL)),
  constraint service_accounts_id_check CHECK (id ~~ 'sva\_%'::text),
  constraint service_accounts_name_check CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text),
  constraint service_accounts_previous_secret_hash_check CHECK (octet_length(previous_secret_hash) = 32),
  constraint service_accounts_secret_hash_check CHECK (octet_length(secret_hash) = 32),
  constraint service_accounts_state_check CHECK (state = ANY (ARRAY['enabled'::text, 'disabled'::text])),
  constraint service_accounts_project_id_organization_id_fkey FOREIGN KEY (project_id, organization_id) REFERENCES projects(id, organization_id)
);
CREATE INDEX service_accounts_by_organization ON service_accounts USING btree (organization_id) WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX service_accounts_name ON service_accounts USING btree (project_id, name) WHERE (deleted_at IS NULL);
grant insert, select, update on service_accounts to gpuaas_app;

create table api_tokens (
  id text not null,
  kind text not null,
  user_id text,
  service_account_id text,
  organization_id text,
  project_id text,
  name text not null,
  token_prefix text not null,
  token_hash bytea not null,
  scopes text[] not null,
  expires_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  created_at timestamp with time zone default now() not null,
  constraint api_tokens_pkey PRIMARY KEY (id),
  constraint api_tokens_token_hash_key UNIQUE (token_hash),
  constraint api_tokens_check CHECK ((kind = 'personal'::text) = (user_id IS NOT NULL)),
  constraint api_tokens_check1 CHECK ((kind = 'personal'::text) = (service_account_id IS NULL)),
  constraint api_tokens_check2 CHECK (service_account_id IS NULL OR organization_id IS NOT NULL AND project_id IS NOT NULL),
  constraint api_tokens_id_check CHECK (id ~~ 'tok\_%'::text),
  constraint api_tokens_kind_check CHECK (kind = ANY (ARRAY['personal'::text, 'service_account'::text, 'access'::text])),
  constraint api_tokens_name_check CHECK (name <> ''::text),
  constraint api_tokens_scopes_check CHECK (cardinality(scopes) > 0),
  constraint api_tokens_token_hash_check CHECK (octet_length(token_hash) = 32),
  constraint api_tokens_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint api_tokens_service_account_id_organization_id_project_id_fkey FOREIGN KEY (service_account_id, organization_id, project_id) REFERENCES service_accounts(id, organization_id, project_id),
  constraint api_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX api_tokens_access_expiry ON api_tokens USING btree (expires_at) WHERE (kind = 'access'::text);
CREATE INDEX api_tokens_by_organization ON api_tokens USING btree (organization_id) WHERE ((organization_id IS NOT NULL) AND (revoked_at IS NULL));
CREATE INDEX api_tokens_by_service_account ON api_tokens USING btree (service_account_id, id) WHERE (service_account_id IS NOT NULL);
CREATE INDEX api_tokens_by_user ON api_tokens USING btree (user_id, id) WHERE (user_id IS NOT NULL);
CREATE INDEX api_tokens_ended ON api_tokens USING btree (LEAST(expires_at, revoked_at));
grant delete, insert, select, update on api_tokens to gpuaas_app;

create table audit_chains (
  chain text not null,
  sequence bigint not null,
  hash bytea not null,
  sealed_at timestamp with time zone default clock_timestamp() not null,
  headed_sequence bigint default 0 not null,
  constraint audit_chains_pkey PRIMARY KEY (chain),
  constraint audit_chains_check CHECK (headed_sequence <= sequence),
  constraint audit_chains_hash_check CHECK (octet_length(hash) = 32),
  constraint audit_chains_sequence_check CHECK (sequence > 0)
);
CREATE INDEX audit_chains_unheaded ON audit_chains USING btree (chain) WHERE (headed_sequence < sequence);
grant insert, select, update on audit_chains to gpuaas_app;

create table audit_logs (
  id text not null,
  xid xid8 default pg_current_xact_id() not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  organization_id text,
  project_id text,
  actor_kind text not null,
  actor_id text,
  actor_role text,
  source_ip text,
  user_agent text,
  action text not null,
  target_kind text,
  target_id text,
  result text not null,
  error_code text,
  policy text not null,
  correlation_id text not null,
  metadata jsonb default '{}'::jsonb not null,
  constraint audit_logs_pkey PRIMARY KEY (id),
  constraint audit_logs_actor_kind_check CHECK (actor_kind = ANY (ARRAY['user'::text, 'service_account'::text, 'system'::text, 'anonymous'::text])),
  constraint audit_logs_id_check CHECK (id ~~ 'aud\_%'::text),
  constraint audit_logs_result_check CHECK (result = ANY (ARRAY['success'::text, 'failure'::text, 'denied'::text]))
);
CREATE INDEX audit_logs_by_action ON audit_logs USING btree (action, id);
CREATE INDEX audit_logs_by_actor ON audit_logs USING btree (actor_id, id) WHERE (actor_id IS NOT NULL);
CREATE INDEX audit_logs_by_age ON audit_logs USING brin (created_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX audit_logs_by_correlation ON audit_logs USING btree (correlation_id);
CREATE INDEX audit_logs_by_organization ON audit_logs USING btree (organization_id, id);
CREATE INDEX audit_logs_by_target ON audit_logs USING btree (target_id, id) WHERE (target_id IS NOT NULL);
CREATE INDEX audit_logs_in_commit_order ON audit_logs USING btree (xid, id);
CREATE TRIGGER append_only BEFORE UPDATE OR TRUNCATE ON audit_logs FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER only_archived AFTER DELETE ON audit_logs REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION only_archived_rows_are_removed();
grant insert, select on audit_logs to gpuaas_app;

create table audit_sealer (
  singleton boolean default true not null,
  sealed_xid xid8 default '0'::xid8 not null,
  sealed_id text default ''::text not null,
  heads_line bigint default 0 not null,
  heads_hash bytea default decode(repeat('00'::text, 32), 'hex'::text) not null,
  lost_rows bigint default 0 not null,
  lost_line bigint default 0 not null,
  lost_at timestamp with time zone,
  compared_at timestamp with time zone,
  compared_in text,
  constraint audit_sealer_pkey PRIMARY KEY (singleton),
  constraint audit_sealer_heads_hash_check CHECK (octet_length(heads_hash) = 32),
  constraint audit_sealer_singleton_check CHECK (singleton),
  constraint comparison_is_whole CHECK ((compared_at IS NULL) = (compared_in IS NULL))
);
grant select, update on audit_sealer to gpuaas_app;

create table audit_seals (
  chain text not null,
  sequence bigint not null,
  audit_log_id text not null,
  hash bytea not null,
  sealed_at timestamp with time zone default clock_timestamp() not null,
  constraint audit_seals_pkey PRIMARY KEY (chain, sequence),
  constraint audit_seals_audit_log_id_key UNIQUE (audit_log_id),
  constraint audit_seals_hash_check CHECK (octet_length(hash) = 32),
  constraint audit_seals_sequence_check CHECK (sequence > 0)
);
CREATE TRIGGER append_only BEFORE UPDATE OR TRUNCATE ON audit_seals FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER only_archived AFTER DELETE ON audit_seals REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION only_archived_seals_are_removed();
grant insert, select on audit_seals to gpuaas_app;

create table audit_segments (
  chain text not null,
  first_sequence bigint not null,
  last_sequence bigint not null,
  previous_hash bytea not null,
  last_hash bytea not null,
  first_row_at timestamp with time zone not null,
  last_row_at timestamp with time zone not null,
  file_name text not null,
  file_sha256 bytea not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  removed_at timestamp with time zone,
  constraint audit_segments_pkey PRIMARY KEY (chain, first_sequence),
  constraint audit_segments_chain_last_sequence_key UNIQUE (chain, last_sequence),
  constraint audit_segments_file_name_key UNIQUE (file_name),
  constraint audit_segments_check CHECK (last_sequence >= first_sequence AND last_row_at >= first_row_at),
  constraint audit_segments_file_sha256_check CHECK (octet_length(file_sha256) = 32),
  constraint audit_segments_first_sequence_check CHECK (first_sequence > 0),
  constraint audit_segments_last_hash_check CHECK (octet_length(last_hash) = 32),
  constraint audit_segments_previous_hash_check CHECK (octet_length(previous_hash) = 32)
);
CREATE INDEX audit_segments_online ON audit_segments USING btree (created_at) WHERE (removed_at IS NULL);
CREATE INDEX audit_segments_removed ON audit_segments USING btree (chain, last_row_at) WHERE (removed_at IS NOT NULL);
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON audit_segments FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER follows AFTER INSERT ON audit_segments FOR EACH ROW EXECUTE FUNCTION check_audit_segment();
CREATE TRIGGER removed_once BEFORE UPDATE ON audit_segments FOR EACH ROW WHEN (old.removed_at IS NOT NULL OR new.removed_at IS NULL OR old.chain IS DISTINCT FROM new.chain OR old.first_sequence IS DISTINCT FROM new.first_sequence OR old.last_sequence IS DISTINCT FROM new.last_sequence OR old.previous_hash IS DISTINCT FROM new.previous_hash OR old.last_hash IS DISTINCT FROM new.last_hash OR old.first_row_at IS DISTINCT FROM new.first_row_at OR old.last_row_at IS DISTINCT FROM new.last_row_at OR old.file_name IS DISTINCT FROM new.file_name OR old.file_sha256 IS DISTINCT FROM new.file_sha256 OR old.created_at IS DISTINCT FROM new.created_at) EXECUTE FUNCTION refuse_segment_change();
CREATE TRIGGER stamped BEFORE INSERT ON audit_segments FOR EACH ROW EXECUTE FUNCTION stamp_audit_segment();
grant insert (chain), insert (file_name), insert (file_sha256), insert (first_sequence), insert (last_hash), insert (last_sequence), insert (previous_hash), select on audit_segments to gpuaas_app;

create table backups (
  id text not null,
  taken_at timestamp with time zone not null,
  location text not null,
  size_bytes bigint,
  recorded_at timestamp with time zone default clock_timestamp() not null,
  recorded_by text not null,
  correlation_id text not null,
  constraint backups_pkey PRIMARY KEY (id),
  constraint backups_taken_at_location_key UNIQUE (taken_at, location),
  constraint backups_id_check CHECK (id ~~ 'bkp\_%'::text),
  constraint backups_location_check CHECK (location <> ''::text),
  constraint backups_size_bytes_check CHECK (size_bytes >= 0)
);
CREATE INDEX backups_newest ON backups USING btree (taken_at DESC, id DESC);
grant delete, insert, select on backups to gpuaas_app;

create table capacity_counters (
  region_name text not null,
  gpu_model text not null,
  pool_organization_id text not null,
  counts jsonb not null,
  counted_at timestamp with time zone default now() not null,
  constraint capacity_counters_pkey PRIMARY KEY (region_name, gpu_model, pool_organization_id)
);
grant delete, insert, select, update on capacity_counters to gpuaas_app;

create table capacity_samples (
  sampled_at timestamp with time zone not null,
  region_name text not null,
  gpu_model text not null,
  delivered_gpus integer not null,
  healthy_gpus integer not null,
  reserved_gpus integer not null,
  active_gpus integer not null,
  free_gpus integer not null,
  constraint capacity_samples_pkey PRIMARY KEY (sampled_at, region_name, gpu_model),
  constraint capacity_samples_active_gpus_check CHECK (active_gpus >= 0),
  constraint capacity_samples_delivered_gpus_check CHECK (delivered_gpus >= 0),
  constraint capacity_samples_free_gpus_check CHECK (free_gpus >= 0),
  constraint capacity_samples_healthy_gpus_check CHECK (healthy_gpus >= 0),
  constraint capacity_samples_reserved_gpus_check CHECK (reserved_gpus >= 0)
);
grant delete, insert, select on capacity_samples to gpuaas_app;

create table clock_guard (
  id integer default 1 not null,
  seen_at timestamp with time zone not null,
  hold_since timestamp with time zone,
  reason text,
  jump_ms bigint,
  ended_at timestamp with time zone,
  ended_by text,
  version integer default 1 not null,
  constraint clock_guard_pkey PRIMARY KEY (id),
  constraint clock_guard_check CHECK ((hold_since IS NULL) = (reason IS NULL)),
  constraint clock_guard_check1 CHECK ((hold_since IS NULL) = (jump_ms IS NULL)),
  constraint clock_guard_check2 CHECK ((ended_at IS NULL) = (ended_by IS NULL)),
  constraint clock_guard_id_check CHECK (id = 1)
);
grant insert, select, update on clock_guard to gpuaas_app;

create table disk_ownerships (
  id text not null,
  node_id text not null,
  region_name text not null,
  serial text not null,
  device text not null,
  state text not null,
  state_reason text,
  state_since timestamp with time zone default clock_timestamp() not null,
  approved_by text not null,
  reason text not null,
  wipe_proof_id text,
  version integer default 1 not null,
  correlation_id text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  size_bytes bigint,
  constraint disk_ownerships_pkey PRIMARY KEY (id),
  constraint disk_ownerships_check CHECK (state <> 'owned'::text OR wipe_proof_id IS NOT NULL),
  constraint disk_ownerships_device_check CHECK (device ~ '^/dev/disk/by-id/[A-Za-z0-9._:-]+$'::text),
  constraint disk_ownerships_id_check CHECK (id ~~ 'dsk\_%'::text),
  constraint disk_ownerships_serial_check CHECK (serial <> ''::text),
  constraint disk_ownerships_size_bytes_check CHECK (size_bytes > 0),
  constraint disk_ownerships_state_check CHECK (state = ANY (ARRAY['approved'::text, 'wiping'::text, 'blocked'::text, 'owned'::text, 'excluded'::text, 'revoked'::text])),
  constraint disk_ownerships_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id),
  constraint disk_ownerships_wipe_proof_id_fkey FOREIGN KEY (wipe_proof_id) REFERENCES wipe_proofs(id)
);
CREATE INDEX disk_ownerships_by_node ON disk_ownerships USING btree (node_id, id);
CREATE INDEX disk_ownerships_by_serial ON disk_ownerships USING btree (serial);
CREATE UNIQUE INDEX disk_ownerships_once ON disk_ownerships USING btree (region_name, serial) WHERE (state <> 'revoked'::text);
grant insert, select, update on disk_ownerships to gpuaas_app;

create table group_access_blocks (
  organization_id text not null,
  project_id text default ''::text not null,
  project_key text generated always as (NULLIF(project_id, ''::text)) stored,
  user_id text not null,
  created_at timestamp with time zone default now() not null,
  constraint group_access_blocks_pkey PRIMARY KEY (user_id, organization_id, project_id),
  constraint group_access_blocks_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint group_access_blocks_project_key_organization_id_fkey FOREIGN KEY (project_key, organization_id) REFERENCES projects(id, organization_id),
  constraint group_access_blocks_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
grant delete, insert, select on group_access_blocks to gpuaas_app;

create table group_mappings (
  id text not null,
  group_name text not null,
  organization_id text not null,
  project_id text default ''::text not null,
  project_key text generated always as (NULLIF(project_id, ''::text)) stored,
  role text not null,
  created_at timestamp with time zone default now() not null,
  constraint group_mappings_pkey PRIMARY KEY (id),
  constraint group_mappings_group_name_organization_id_project_id_key UNIQUE (group_name, organization_id, project_id),
  constraint group_mappings_group_name_check CHECK (group_name <> ''::text),
  constraint group_mappings_id_check CHECK (id ~~ 'grm\_%'::text),
  constraint group_mappings_role_check CHECK (role = ANY (ARRAY['admin'::text, 'member'::text, 'viewer'::text])),
  constraint group_mappings_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint group_mappings_project_key_organization_id_fkey FOREIGN KEY (project_key, organization_id) REFERENCES projects(id, organization_id)
);
grant delete, insert, select on group_mappings to gpuaas_app;

create table health_breaker (
  id integer default 1 not null,
  is_tripped boolean default false not null,
  tripped_at timestamp with time zone,
  reason text,
  reset_by text,
  reset_at timestamp with time zone,
  version integer default 1 not null,
  constraint health_breaker_pkey PRIMARY KEY (id),
  constraint health_breaker_id_check CHECK (id = 1)
);
grant insert, select, update on health_breaker to gpuaas_app;

create table idempotency_keys (
  tenant text not null,
  principal_id text not null,
  operation text not null,
  key text not null,
  request_hash bytea not null,
  status integer not null,
  response bytea not null,
  response_sealed boolean not null,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone default (now() + '48:00:00'::interval) not null,
  constraint idempotency_keys_pkey PRIMARY KEY (tenant, principal_id, operation, key),
  constraint idempotency_keys_request_hash_check CHECK (octet_length(request_hash) = 32)
);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys USING btree (expires_at);
grant delete, insert, select, update on idempotency_keys to gpuaas_app;

create table invitations (
  id text not null,
  organization_id text not null,
  email text not null,
  role text not null,
  token_hash bytea not null,
  state text default 'pending'::text not null,
  invited_by text not null,
  expires_at timestamp with time zone not null,
  accepted_at timestamp with time zone,
  accepted_by text,
  created_at timestamp with time zone default now() not null,
  constraint invitations_pkey PRIMARY KEY (id),
  constraint invitations_token_hash_key UNIQUE (token_hash),
  constraint invitations_check CHECK ((state = 'accepted'::text) = (accepted_at IS NOT NULL AND accepted_by IS NOT NULL)),
  constraint invitations_id_check CHECK (id ~~ 'inv\_%'::text),
  constraint invitations_role_check CHECK (role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text, 'viewer'::text])),
  constraint invitations_state_check CHECK (state = ANY (ARRAY['pending'::text, 'accepted'::text, 'revoked'::text])),
  constraint invitations_token_hash_check CHECK (octet_length(token_hash) = 32),
  constraint invitations_accepted_by_fkey FOREIGN KEY (accepted_by) REFERENCES users(id),
  constraint invitations_invited_by_fkey FOREIGN KEY (invited_by) REFERENCES users(id),
  constraint invitations_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id)
);
CREATE INDEX invitations_by_end ON invitations USING btree (expires_at);
CREATE INDEX invitations_by_organization ON invitations USING btree (organization_id, id);
CREATE INDEX invitations_pending_by_email ON invitations USING btree (lower(email)) WHERE (state = 'pending'::text);
grant delete, insert, select, update on invitations to gpuaas_app;

create table trust_keys (
  id text not null,
  purpose text not null,
  state text not null,
  state_since timestamp with time zone default clock_timestamp() not null,
  public_pem text,
  fingerprint_sha256 text,
  sealed_private_key bytea,
  retires_at timestamp with time zone,
  version integer default 1 not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  constraint trust_keys_pkey PRIMARY KEY (id),
  constraint trust_keys_fingerprint_sha256_key UNIQUE (fingerprint_sha256),
  constraint trust_keys_fingerprint_sha256_check CHECK (fingerprint_sha256 ~ '^[0-9a-f]{64}$'::text),
  constraint trust_keys_id_check CHECK (id ~~ 'tky\_%'::text),
  constraint trust_keys_made CHECK ((state = 'requested'::text) = (sealed_private_key IS NULL) AND (sealed_private_key IS NULL) = (public_pem IS NULL) AND (sealed_private_key IS NULL) = (fingerprint_sha256 IS NULL)),
  constraint trust_keys_purpose_check CHECK (purpose = ANY (ARRAY['node_ca'::text, 'task_signer'::text, 'certificate_signer'::text])),
  constraint trust_keys_state_check CHECK (state = ANY (ARRAY['requested'::text, 'staged'::text, 'active'::text, 'grace'::text, 'retired'::text, 'revoked'::text]))
);
CREATE UNIQUE INDEX trust_keys_one_active ON trust_keys USING btree (purpose) WHERE (state = 'active'::text);
grant insert, select, update on trust_keys to gpuaas_app;

create table listener_requests (
  id text not null,
  names text[] not null,
  csr_pem text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  answered_at timestamp with time zone,
  certificate_pem text,
  ca_key_id text,
  refusal text,
  constraint listener_requests_pkey PRIMARY KEY (id),
  constraint listener_requests_check CHECK ((answered_at IS NULL) = (certificate_pem IS NULL AND refusal IS NULL)),
  constraint listener_requests_check1 CHECK ((certificate_pem IS NULL) = (ca_key_id IS NULL)),
  constraint listener_requests_csr_pem_check CHECK (octet_length(csr_pem) <= 8192),
  constraint listener_requests_names_check CHECK (cardinality(names) >= 1 AND cardinality(names) <= 100),
  constraint listener_requests_ca_key_id_fkey FOREIGN KEY (ca_key_id) REFERENCES trust_keys(id)
);
CREATE INDEX listener_requests_by_age ON listener_requests USING btree (created_at);
CREATE INDEX listener_requests_open ON listener_requests USING btree (created_at) WHERE (answered_at IS NULL);
grant delete, insert, select, update on listener_requests to gpuaas_app;

create table log_lines (
  logged_at timestamp with time zone not null,
  service text not null,
  host_role text not null,
  host_name text not null,
  node_id text,
  level text not null,
  message text not null,
  correlation_id text,
  error_code text,
  fields jsonb not null,
  origin text not null,
  number bigint not null,
  constraint log_lines_pkey PRIMARY KEY (logged_at, origin, number),
  constraint log_lines_host_role_check CHECK (host_role = ANY (ARRAY['platform_control'::text, 'app_control'::text, 'worker_compute'::text]))
) partition by RANGE (logged_at);
CREATE INDEX log_lines_by_correlation ON ONLY public.log_lines USING btree (correlation_id, logged_at) WHERE (correlation_id IS NOT NULL);
CREATE INDEX log_lines_by_node ON ONLY public.log_lines USING btree (node_id, logged_at) WHERE (node_id IS NOT NULL);
CREATE INDEX log_lines_errors ON ONLY public.log_lines USING btree (correlation_id, logged_at) WHERE (level = ANY (ARRAY['error'::text, 'fatal'::text]));
grant insert, select on log_lines to gpuaas_app;

create table log_lines_default partition of log_lines DEFAULT;

create table node_agents (
  node_id text not null,
  last_seen_at timestamp with time zone not null,
  agent_version text not null,
  boot_id text not null,
  booted_at timestamp with time zone not null,
  kinds text[] not null,
  clock_skew_ms bigint default 0 not null,
  trust_version text,
  database_skew_ms bigint,
  constraint node_agents_pkey PRIMARY KEY (node_id),
  constraint node_agents_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id)
);
grant insert, select, update on node_agents to gpuaas_app;

create table node_enrollments (
  id text not null,
  node_id text not null,
  token_hash bytea not null,
  created_by text not null,
  correlation_id text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  refused_hosts integer default 0 not null,
  kept_until timestamp with time zone,
  constraint node_enrollments_pkey PRIMARY KEY (id),
  constraint node_enrollments_token_hash_key UNIQUE (token_hash),
  constraint node_enrollments_id_check CHECK (id ~~ 'enr\_%'::text),
  constraint node_enrollments_refused_hosts_check CHECK (refused_hosts >= 0 AND refused_hosts <= 5),
  constraint node_enrollments_token_hash_check CHECK (octet_length(token_hash) = 32),
  constraint node_enrollments_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id)
);
CREATE INDEX node_enrollments_kept ON node_enrollments USING btree (kept_until) WHERE (kept_until IS NOT NULL);
CREATE INDEX node_enrollments_old ON node_enrollments USING btree (created_at) WHERE (kept_until IS NULL);
CREATE UNIQUE INDEX node_enrollments_one_open ON node_enrollments USING btree (node_id) WHERE ((used_at IS NULL) AND (revoked_at IS NULL));
grant delete, insert, select, update on node_enrollments to gpuaas_app;

create table node_certificates (
  serial_number text not null,
  node_id text not null,
  ca_key_id text not null,
  enrollment_id text not null,
  fingerprint_sha256 text not null,
  not_before timestamp with time zone not null,
  not_after timestamp with time zone not null,
  revoked_at timestamp with time zone,
  revoked_reason text,
  created_at timestamp with time zone default clock_timestamp() not null,
  constraint node_certificates_pkey PRIMARY KEY (serial_number),
  constraint node_certificates_fingerprint_sha256_key UNIQUE (fingerprint_sha256),
  constraint node_certificates_check CHECK ((revoked_at IS NULL) = (revoked_reason IS NULL)),
  constraint node_certificates_fingerprint_sha256_check CHECK (fingerprint_sha256 ~ '^[0-9a-f]{64}$'::text),
  constraint node_certificates_serial_number_check CHECK (serial_number ~ '^[0-9a-f]{2,40}$'::text),
  constraint node_certificates_ca_key_id_fkey FOREIGN KEY (ca_key_id) REFERENCES trust_keys(id),
  constraint node_certificates_enrollment_id_fkey FOREIGN KEY (enrollment_id) REFERENCES node_enrollments(id),
  constraint node_certificates_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id)
);
CREATE INDEX node_certificates_by_end ON node_certificates USING btree (not_after);
CREATE INDEX node_certificates_by_enrollment ON node_certificates USING btree (enrollment_id);
CREATE INDEX node_certificates_by_node ON node_certificates USING btree (node_id, not_after DESC);
CREATE INDEX node_certificates_revoked ON node_certificates USING btree (revoked_at) WHERE (revoked_at IS NOT NULL);
grant delete, insert, select, update on node_certificates to gpuaas_app;

create table node_fabric_partitions (
  node_id text not null,
  partition_id integer not null,
  module_ids integer[] not null,
  constraint node_fabric_partitions_pkey PRIMARY KEY (node_id, partition_id),
  constraint node_fabric_partitions_module_ids_check CHECK (cardinality(module_ids) > 0),
  constraint node_fabric_partitions_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id)
);
grant delete, insert, select on node_fabric_partitions to gpuaas_app;

create table node_health_overrides (
  node_id text not null,
  source text not null,
  mode text not null,
  alerts jsonb not null,
  muted_alert_ids text[] default '{}'::text[] not null,
  reason text not null,
  created_by text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  expires_at timestamp with time zone,
  constraint node_health_overrides_pkey PRIMARY KEY (node_id, source),
  constraint node_health_overrides_mode_check CHECK (mode = ANY (ARRAY['merge'::text, 'replace'::text])),
  constraint node_health_overrides_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id)
);
grant delete, insert, select, update on node_health_overrides to gpuaas_app;

create table node_health_reports (
  node_id text not null,
  source text not null,
  observed_at timestamp with time zone not null,
  received_at timestamp with time zone default clock_timestamp() not null,
  successes jsonb not null,
  alerts jsonb not null,
  constraint node_health_reports_pkey PRIMARY KEY (node_id, source),
  constraint node_health_reports_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id)
);
grant insert, select, update on node_health_reports to gpuaas_app;

create table node_hosts (
  node_id text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  product_serial text,
  product_uuid text,
  machine_id text,
  named text[] default '{}'::text[] not null,
  bound_at timestamp with time zone,
  ended_at timestamp with time zone,
  ended_reason text,
  constraint node_hosts_pkey PRIMARY KEY (node_id, created_at),
  constraint host_has_identity CHECK (COALESCE(product_serial, product_uuid, machine_id) IS NOT NULL),
  constraint named_fields_are_known CHECK (NOT (('product_serial'::text = ANY (named)) AND product_serial IS NULL OR ('product_uuid'::text = ANY (named)) AND product_uuid IS NULL OR ('machine_id'::text = ANY (named)) AND machine_id IS NULL)),
  constraint named_or_bound CHECK (bound_at IS NOT NULL OR cardinality(named) > 0),
  constraint node_hosts_check CHECK ((ended_at IS NULL) = (ended_reason IS NULL)),
  constraint node_hosts_machine_id_check CHECK (machine_id ~ '^[0-9a-f]{32}$'::text),
  constraint node_hosts_named_check CHECK (named <@ ARRAY['product_serial'::text, 'product_uuid'::text, 'machine_id'::text]),
  constraint node_hosts_product_serial_check CHECK (product_serial = upper(btrim(product_serial)) AND length(product_serial) >= 3 AND length(product_serial) <= 128),
  constraint node_hosts_product_uuid_check CHECK (product_uuid ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'::text),
  constraint node_hosts_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id)
);
CREATE UNIQUE INDEX node_hosts_machine_id ON node_hosts USING btree (machine_id) WHERE (ended_at IS NULL);
CREATE UNIQUE INDEX node_hosts_one_per_node ON node_hosts USING btree (node_id) WHERE (ended_at IS NULL);
CREATE UNIQUE INDEX node_hosts_serial ON node_hosts USING btree (product_serial) WHERE (ended_at IS NULL);
CREATE UNIQUE INDEX node_hosts_uuid ON node_hosts USING btree (product_uuid) WHERE (ended_at IS NULL);
grant insert, select, update on node_hosts to gpuaas_app;

create table node_inventories (
  node_id text not null,
  observed_at timestamp with time zone not null,
  received_at timestamp with time zone default clock_timestamp() not null,
  boot_id text not null,
  content jsonb not null,
  findings jsonb default '[]'::jsonb not null,
  changed_at timestamp with time zone default clock_timestamp() not null,
  constraint node_inventories_pkey PRIMARY KEY (node_id),
  constraint node_inventories_findings_check CHECK (jsonb_typeof(findings) = 'array'::text),
  constraint node_inventories_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id)
);
CREATE INDEX node_inventories_found ON node_inventories USING btree (node_id) WHERE (findings <> '[]'::jsonb);
grant insert, select, update on node_inventories to gpuaas_app;

create table node_placement_summary (
  node_id text not null,
  region_name text not null,
  gpu_model text not null,
  pool_organization_id text not null,
  capacity_mode text not null,
  occupancy text not null,
  is_schedulable boolean not null,
  free_mask bigint not null,
  free_count integer not null,
  largest_set integer not null,
  key_1 bigint,
  key_2 bigint,
  key_4 bigint,
  key_8 bigint,
  key_node bigint,
  updated_at timestamp with time zone default now() not null,
  constraint node_placement_summary_pkey PRIMARY KEY (node_id),
  constraint node_placement_summary_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id)
);
CREATE INDEX placement_1 ON node_placement_summary USING btree (region_name, gpu_model, pool_organization_id, key_1, node_id) WHERE (key_1 IS NOT NULL);
CREATE INDEX placement_2 ON node_placement_summary USING btree (region_name, gpu_model, pool_organization_id, key_2, node_id) WHERE (key_2 IS NOT NULL);
CREATE INDEX placement_4 ON node_placement_summary USING btree (region_name, gpu_model, pool_organization_id, key_4, node_id) WHERE (key_4 IS NOT NULL);
CREATE INDEX placement_8 ON node_placement_summary USING btree (region_name, gpu_model, pool_organization_id, key_8, node_id) WHERE (key_8 IS NOT NULL);
CREATE INDEX placement_node ON node_placement_summary USING btree (region_name, gpu_model, pool_organization_id, key_node, node_id) WHERE (key_node IS NOT NULL);
grant insert, select, update on node_placement_summary to gpuaas_app;

create table oidc_records (
  model text not null,
  id_hash bytea not null,
  grant_hash bytea,
  uid_hash bytea,
  user_code_hash bytea,
  sealed_payload bytea not null,
  consumed_at timestamp with time zone,
  expires_at timestamp with time zone not null,
  constraint oidc_records_pkey PRIMARY KEY (model, id_hash),
  constraint oidc_records_id_hash_check CHECK (octet_length(id_hash) = 32)
);
CREATE INDEX oidc_records_by_grant ON oidc_records USING btree (grant_hash) WHERE (grant_hash IS NOT NULL);
CREATE INDEX oidc_records_by_uid ON oidc_records USING btree (uid_hash) WHERE (uid_hash IS NOT NULL);
CREATE UNIQUE INDEX oidc_records_by_user_code ON oidc_records USING btree (user_code_hash) WHERE (user_code_hash IS NOT NULL);
CREATE INDEX oidc_records_expiry ON oidc_records USING btree (expires_at);
grant delete, insert, select, update on oidc_records to gpuaas_app;

create table oidc_signing_keys (
  kid text not null,
  algorithm text not null,
  sealed_jwk bytea not null,
  created_at timestamp with time zone default now() not null,
  retired_at timestamp with time zone,
  constraint oidc_signing_keys_pkey PRIMARY KEY (kid),
  constraint oidc_signing_keys_algorithm_check CHECK (algorithm = 'RS256'::text)
);
CREATE UNIQUE INDEX oidc_signing_keys_active ON oidc_signing_keys USING btree ((true)) WHERE (retired_at IS NULL);
grant delete, insert, select, update on oidc_signing_keys to gpuaas_app;

create table os_image_availability (
  image_name text not null,
  digest text not null,
  region_name text not null,
  node_id text,
  available_since timestamp with time zone,
  failed_at timestamp with time zone,
  failure text,
  constraint os_image_availability_pkey PRIMARY KEY (image_name, digest, region_name),
  constraint availability_failure_has_time CHECK ((failed_at IS NULL) = (failure IS NULL)),
  constraint availability_says_something CHECK (num_nonnulls(available_since, failed_at) > 0),
  constraint os_image_availability_failure_check CHECK (failure <> ''::text),
  constraint os_image_availability_image_name_digest_fkey FOREIGN KEY (image_name, digest) REFERENCES os_image_versions(image_name, digest),
  constraint os_image_availability_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id),
  constraint os_image_availability_region_name_fkey FOREIGN KEY (region_name) REFERENCES regions(name)
);
grant insert, select, update on os_image_availability to gpuaas_app;

create table os_image_skus (
  image_name text not null,
  sku_name text not null,
  capacity_shape text default 'gpu_slice'::text not null,
  constraint os_image_skus_pkey PRIMARY KEY (image_name, sku_name),
  constraint image_is_for_slices CHECK (capacity_shape = 'gpu_slice'::text),
  constraint os_image_skus_image_name_fkey FOREIGN KEY (image_name) REFERENCES os_images(name),
  constraint os_image_skus_of_shape FOREIGN KEY (sku_name, capacity_shape) REFERENCES sku_catalog(name, capacity_shape),
  constraint os_image_skus_sku_name_fkey FOREIGN KEY (sku_name) REFERENCES sku_catalog(name)
);
grant delete, insert, select on os_image_skus to gpuaas_app;

create table outbox_events (
  id text not null,
  xid xid8 default gpuaas_event_place() not null,
  event_type text not null,
  organization_id text,
  project_id text,
  subject text not null,
  data jsonb not null,
  correlation_id text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  sent_at timestamp with time zone,
  attempt_count integer default 0 not null,
  last_error text,
  writer_xid xid8 default pg_current_xact_id(),
  constraint outbox_events_pkey PRIMARY KEY (id),
  constraint outbox_events_id_check CHECK (id ~~ 'evt\_%'::text)
);
CREATE INDEX outbox_events_by_age ON outbox_events USING btree (created_at);
CREATE INDEX outbox_events_by_commit ON outbox_events USING btree (xid, id);
CREATE INDEX outbox_events_by_correlation ON outbox_events USING btree (correlation_id, id);
CREATE INDEX outbox_events_by_organization ON outbox_events USING btree (organization_id, xid, id) WHERE (organization_id IS NOT NULL);
CREATE INDEX outbox_events_by_project ON outbox_events USING btree (project_id, xid, id) WHERE (project_id IS NOT NULL);
CREATE INDEX outbox_events_by_subject ON outbox_events USING btree (subject, id);
CREATE INDEX outbox_events_unsent ON outbox_events USING btree (xid, id) WHERE (sent_at IS NULL);
grant delete, insert, select, update on outbox_events to gpuaas_app;

create table platform_key_holders (
  process_id text not null,
  kind text not null,
  service text not null,
  versions integer[] not null,
  sealing_version integer not null,
  seen_at timestamp with time zone default clock_timestamp() not null,
  constraint platform_key_holders_pkey PRIMARY KEY (process_id, kind),
  constraint platform_key_holders_kind_check CHECK (kind = ANY (ARRAY['platform'::text, 'trust'::text])),
  constraint platform_key_holders_versions_check CHECK (cardinality(versions) > 0)
);
grant delete, insert, select, update on platform_key_holders to gpuaas_app;

create table platform_keys (
  kind text not null,
  version integer not null,
  state text not null,
  state_since timestamp with time zone default clock_timestamp() not null,
  check_value bytea not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  constraint platform_keys_pkey PRIMARY KEY (kind, version),
  constraint platform_keys_check_value_check CHECK (octet_length(check_value) = 16),
  constraint platform_keys_kind_check CHECK (kind = ANY (ARRAY['platform'::text, 'trust'::text])),
  constraint platform_keys_state_check CHECK (state = ANY (ARRAY['available'::text, 'active'::text, 'retiring'::text, 'retired'::text])),
  constraint platform_keys_version_check CHECK (version >= 1 AND version <= 65535)
);
CREATE UNIQUE INDEX platform_keys_one_active ON platform_keys USING btree (kind) WHERE (state = 'active'::text);
CREATE UNIQUE INDEX platform_keys_one_retiring ON platform_keys USING btree (kind) WHERE (state = 'retiring'::text);
grant insert, select, update on platform_keys to gpuaas_app;

create table platform_secrets (
  name text not null,
  sealed_secret bytea not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  constraint platform_secrets_pkey PRIMARY KEY (name)
);
grant insert, select, update on platform_secrets to gpuaas_app;

create table tenant_memberships (
  organization_id text not null,
  user_id text not null,
  role text not null,
  version integer default 1 not null,
  created_at timestamp with time zone default now() not null,
  source text default 'manual'::text not null,
  constraint tenant_memberships_pkey PRIMARY KEY (organization_id, user_id),
  constraint tenant_memberships_role_check CHECK (role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text, 'viewer'::text])),
  constraint tenant_memberships_source_check CHECK (source = ANY (ARRAY['manual'::text, 'group'::text])),
  constraint tenant_memberships_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint tenant_memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX tenant_memberships_by_group ON tenant_memberships USING btree (user_id) WHERE (source = 'group'::text);
CREATE INDEX tenant_memberships_by_user ON tenant_memberships USING btree (user_id);
grant delete, insert, select, update on tenant_memberships to gpuaas_app;

create table project_memberships (
  project_id text not null,
  organization_id text not null,
  user_id text not null,
  role text not null,
  created_at timestamp with time zone default now() not null,
  source text default 'manual'::text not null,
  constraint project_memberships_pkey PRIMARY KEY (project_id, user_id),
  constraint project_memberships_role_check CHECK (role = ANY (ARRAY['admin'::text, 'member'::text, 'viewer'::text])),
  constraint project_memberships_source_check CHECK (source = ANY (ARRAY['manual'::text, 'group'::text])),
  constraint project_memberships_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES tenant_memberships(organization_id, user_id) ON DELETE CASCADE,
  constraint project_memberships_project_id_organization_id_fkey FOREIGN KEY (project_id, organization_id) REFERENCES projects(id, organization_id)
);
CREATE INDEX project_memberships_by_member ON project_memberships USING btree (organization_id, user_id);
CREATE INDEX project_memberships_by_user ON project_memberships USING btree (user_id);
grant delete, insert, select, update on project_memberships to gpuaas_app;

create table quota_requests (
  id text not null,
  organization_id text not null,
  project_id text default ''::text not null,
  project_key text generated always as (NULLIF(project_id, ''::text)) stored,
  gpu_limit integer not null,
  reason text not null,
  state text default 'open'::text not null,
  granted_gpu_limit integer,
  decision_reason text,
  requested_by text not null,
  decided_by text,
  decided_at timestamp with time zone,
  created_at timestamp with time zone default now() not null,
  constraint quota_requests_pkey PRIMARY KEY (id),
  constraint quota_requests_check CHECK ((state = ANY (ARRAY['approved'::text, 'rejected'::text])) = (decided_by IS NOT NULL)),
  constraint quota_requests_check1 CHECK ((state = 'open'::text) = (decided_at IS NULL)),
  constraint quota_requests_check2 CHECK ((state = 'approved'::text) = (granted_gpu_limit IS NOT NULL)),
  constraint quota_requests_check3 CHECK (state <> 'rejected'::text OR decision_reason IS NOT NULL),
  constraint quota_requests_gpu_limit_check CHECK (gpu_limit > 0),
  constraint quota_requests_granted_gpu_limit_check CHECK (granted_gpu_limit >= 0),
  constraint quota_requests_id_check CHECK (id ~~ 'qrq\_%'::text),
  constraint quota_requests_reason_check CHECK (reason <> ''::text),
  constraint quota_requests_state_check CHECK (state = ANY (ARRAY['open'::text, 'approved'::text, 'rejected'::text, 'withdrawn'::text])),
  constraint quota_requests_decided_by_fkey FOREIGN KEY (decided_by) REFERENCES users(id),
  constraint quota_requests_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint quota_requests_project_key_organization_id_fkey FOREIGN KEY (project_key, organization_id) REFERENCES projects(id, organization_id),
  constraint quota_requests_requested_by_fkey FOREIGN KEY (requested_by) REFERENCES users(id)
);
CREATE INDEX quota_requests_by_organization ON quota_requests USING btree (organization_id, id);
CREATE INDEX quota_requests_by_state ON quota_requests USING btree (state, id);
CREATE INDEX quota_requests_decided ON quota_requests USING btree (decided_at) WHERE (decided_at IS NOT NULL);
CREATE UNIQUE INDEX quota_requests_one_open ON quota_requests USING btree (organization_id, project_id) WHERE (state = 'open'::text);
grant delete, insert, select, update on quota_requests to gpuaas_app;

create table quotas (
  organization_id text not null,
  project_id text default ''::text not null,
  project_key text generated always as (NULLIF(project_id, ''::text)) stored,
  gpu_limit integer,
  gpu_used integer default 0 not null,
  version integer default 1 not null,
  constraint quotas_pkey PRIMARY KEY (organization_id, project_id),
  constraint quota_not_exceeded CHECK (gpu_used >= 0),
  constraint quotas_gpu_limit_check CHECK (gpu_limit >= 0),
  constraint quotas_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint quotas_project_key_organization_id_fkey FOREIGN KEY (project_key, organization_id) REFERENCES projects(id, organization_id)
);
grant insert, select, update on quotas to gpuaas_app;

create table schema_migrations (
  name text not null,
  sha256 text not null,
  applied_at timestamp with time zone default now() not null,
  constraint schema_migrations_pkey PRIMARY KEY (name)
);
grant select on schema_migrations to gpuaas_app;

create table sign_up_requests (
  id text not null,
  user_id text not null,
  state text default 'pending'::text not null,
  reason text,
  decided_by text,
  decided_at timestamp with time zone,
  created_at timestamp with time zone default now() not null,
  constraint sign_up_requests_pkey PRIMARY KEY (id),
  constraint sign_up_requests_user_id_key UNIQUE (user_id),
  constraint sign_up_requests_check CHECK ((state = 'pending'::text) = (decided_at IS NULL) AND (state <> 'pending'::text OR decided_by IS NULL)),
  constraint sign_up_requests_check1 CHECK (state <> 'rejected'::text OR reason IS NOT NULL),
  constraint sign_up_requests_id_check CHECK (id ~~ 'sur\_%'::text),
  constraint sign_up_requests_state_check CHECK (state = ANY (ARRAY['pending'::text, 'approved'::text, 'rejected'::text])),
  constraint sign_up_requests_decided_by_fkey FOREIGN KEY (decided_by) REFERENCES users(id),
  constraint sign_up_requests_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX sign_up_requests_by_state ON sign_up_requests USING btree (state, id);
grant insert, select, update on sign_up_requests to gpuaas_app;

create table site_policy (
  is_only boolean default true not null,
  sign_up text default 'invited'::text not null,
  mail_domains text[] default '{}'::text[] not null,
  default_gpu_limit integer default 0,
  contact text,
  version integer default 1 not null,
  updated_at timestamp with time zone default clock_timestamp() not null,
  constraint site_policy_pkey PRIMARY KEY (is_only),
  constraint site_policy_contact_check CHECK (contact <> ''::text),
  constraint site_policy_default_gpu_limit_check CHECK (default_gpu_limit >= 0),
  constraint site_policy_is_only_check CHECK (is_only),
  constraint site_policy_mail_domains_check CHECK (array_position(mail_domains, NULL::text) IS NULL),
  constraint site_policy_sign_up_check CHECK (sign_up = ANY (ARRAY['closed'::text, 'invited'::text, 'approved'::text, 'open'::text]))
);
grant select, update on site_policy to gpuaas_app;

create table sku_prices (
  id text not null,
  sku_name text not null,
  currency text not null,
  gpu_hourly_price_minor bigint not null,
  valid_from timestamp with time zone not null,
  created_by text,
  correlation_id text not null,
  created_at timestamp with time zone default now() not null,
  cancelled_at timestamp with time zone,
  ended_at timestamp with time zone,
  constraint sku_prices_pkey PRIMARY KEY (id),
  constraint price_cancelled_in_time CHECK (cancelled_at < valid_from),
  constraint price_not_in_past CHECK (valid_from >= created_at),
  constraint sku_prices_currency_check CHECK (currency ~ '^[A-Z]{3}$'::text),
  constraint sku_prices_gpu_hourly_price_minor_check CHECK (gpu_hourly_price_minor >= 0),
  constraint sku_prices_id_check CHECK (id ~~ 'prc\_%'::text),
  constraint sku_prices_created_by_fkey FOREIGN KEY (created_by) REFERENCES users(id),
  constraint sku_prices_sku_name_fkey FOREIGN KEY (sku_name) REFERENCES sku_catalog(name)
);
CREATE UNIQUE INDEX sku_prices_live ON sku_prices USING btree (sku_name, valid_from DESC) WHERE (cancelled_at IS NULL);
grant insert, select, update (cancelled_at), update (ended_at) on sku_prices to gpuaas_app;

create table sku_vm_profiles (
  name text not null,
  sku_name text not null,
  gpu_count integer not null,
  vcpu_count integer not null,
  memory_mib integer not null,
  is_default boolean default false not null,
  version integer default 1 not null,
  retired_at timestamp with time zone,
  hugepages text default 'auto'::text not null,
  numa_policy text default 'strict'::text not null,
  constraint sku_vm_profiles_pkey PRIMARY KEY (name),
  constraint hugepages_is_known CHECK (hugepages = ANY (ARRAY['auto'::text, 'none'::text, '2M'::text, '1G'::text])),
  constraint numa_policy_is_known CHECK (numa_policy = ANY (ARRAY['strict'::text, 'preferred'::text, 'none'::text])),
  constraint sku_vm_profiles_gpu_count_check CHECK (gpu_count > 0),
  constraint sku_vm_profiles_memory_mib_check CHECK (memory_mib > 0),
  constraint sku_vm_profiles_name_check CHECK (name ~ '^[a-z0-9_]{1,64}$'::text),
  constraint sku_vm_profiles_vcpu_count_check CHECK (vcpu_count > 0),
  constraint sku_vm_profiles_sku_name_fkey FOREIGN KEY (sku_name) REFERENCES sku_catalog(name)
);
CREATE UNIQUE INDEX sku_vm_profiles_default ON sku_vm_profiles USING btree (sku_name, gpu_count) WHERE (is_default AND (retired_at IS NULL));
grant insert, select, update on sku_vm_profiles to gpuaas_app;

create table slot_overrides (
  id text not null,
  slot_id text not null,
  kind text not null,
  generation integer not null,
  reason text not null,
  requested_by text not null,
  requested_at timestamp with time zone default clock_timestamp() not null,
  expires_at timestamp with time zone not null,
  confirmed_by text,
  confirmed_at timestamp with time zone,
  kept_until timestamp with time zone,
  constraint slot_overrides_pkey PRIMARY KEY (id),
  constraint override_needs_second_person CHECK (confirmed_by IS NULL OR confirmed_by <> requested_by),
  constraint slot_overrides_check CHECK ((confirmed_by IS NULL) = (confirmed_at IS NULL)),
  constraint slot_overrides_id_check CHECK (id ~~ 'ovr\_%'::text),
  constraint slot_overrides_kind_check CHECK (kind = 'mark_wiped'::text),
  constraint slot_overrides_slot_id_fkey FOREIGN KEY (slot_id) REFERENCES node_resource_slots(id)
);
CREATE INDEX slot_overrides_kept ON slot_overrides USING btree (kept_until) WHERE (kept_until IS NOT NULL);
CREATE INDEX slot_overrides_old ON slot_overrides USING btree (expires_at) WHERE (kept_until IS NULL);
CREATE INDEX slot_overrides_open ON slot_overrides USING btree (slot_id, id) WHERE (confirmed_at IS NULL);
grant delete, insert, select, update on slot_overrides to gpuaas_app;

create table ssh_keys (
  id text not null,
  user_id text not null,
  name text not null,
  algorithm text not null,
  public_key text not null,
  fingerprint text not null,
  last_used_at timestamp with time zone,
  created_at timestamp with time zone default now() not null,
  constraint ssh_keys_pkey PRIMARY KEY (id),
  constraint ssh_keys_user_id_fingerprint_key UNIQUE (user_id, fingerprint),
  constraint ssh_keys_user_id_name_key UNIQUE (user_id, name),
  constraint ssh_keys_fingerprint_check CHECK (fingerprint ~~ 'SHA256:%'::text),
  constraint ssh_keys_id_check CHECK (id ~~ 'key\_%'::text),
  constraint ssh_keys_name_check CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text),
  constraint ssh_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
grant delete, insert, select, update on ssh_keys to gpuaas_app;

create table terminal_sessions (
  id text not null,
  organization_id text not null,
  project_id text not null,
  allocation_id text not null,
  node_id text not null,
  kind text not null,
  port integer,
  cols integer default 80 not null,
  rows integer default 24 not null,
  is_writable boolean not null,
  is_recorded boolean default false not null,
  state text default 'ticketed'::text not null,
  principal_id text not null,
  principal_kind text not null,
  principal_name text not null,
  credential_id text,
  credential_expires_at timestamp with time zone,
  ticket_hash bytea,
  ticket_expires_at timestamp with time zone not null,
  used_ticket_hash bytea,
  gateway_url text,
  gateway_seen_at timestamp with time zone,
  task_id text,
  source_ip text,
  bytes_in bigint default 0 not null,
  bytes_out bigint default 0 not null,
  close_requested_by text,
  end_reason text,
  end_message text,
  correlation_id text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  opened_at timestamp with time zone,
  closed_at timestamp with time zone,
  expires_at timestamp with time zone not null,
  constraint terminal_sessions_pkey PRIMARY KEY (id),
  constraint terminal_sessions_ticket_hash_key UNIQUE (ticket_hash),
  constraint terminal_sessions_used_ticket_hash_key UNIQUE (used_ticket_hash),
  constraint closed_says_why CHECK ((closed_at IS NOT NULL) = (state = 'closed'::text) AND (end_reason IS NOT NULL) = (state = 'closed'::text)),
  constraint forward_has_port CHECK ((port IS NOT NULL) = (kind = 'forward'::text)),
  constraint replica_has_the_client CHECK ((state <> ALL (ARRAY['opening'::text, 'open'::text])) OR gateway_url IS NOT NULL),
  constraint terminal_sessions_bytes_in_check CHECK (bytes_in >= 0),
  constraint terminal_sessions_bytes_out_check CHECK (bytes_out >= 0),
  constraint terminal_sessions_cols_check CHECK (cols >= 1 AND cols <= 1000),
  constraint terminal_sessions_id_check CHECK (id ~~ 'ses\_%'::text),
  constraint terminal_sessions_kind_check CHECK (kind = ANY (ARRAY['terminal'::text, 'console'::text, 'ssh'::text, 'forward'::text])),
  constraint terminal_sessions_port_check CHECK (port >= 1 AND port <= 65535),
  constraint terminal_sessions_principal_kind_check CHECK (principal_kind = ANY (ARRAY['user'::text, 'service_account'::text])),
  constraint terminal_sessions_rows_check CHECK (rows >= 1 AND rows <= 1000),
  constraint terminal_sessions_state_check CHECK (state = ANY (ARRAY['ticketed'::text, 'opening'::text, 'open'::text, 'closed'::text])),
  constraint terminal_sessions_ticket_hash_check CHECK (octet_length(ticket_hash) = 32),
  constraint terminal_sessions_used_ticket_hash_check CHECK (octet_length(used_ticket_hash) = 32),
  constraint ticket_is_good_once CHECK (ticket_hash IS NULL OR state = 'ticketed'::text),
  constraint session_has_its_task FOREIGN KEY (task_id) REFERENCES node_tasks(id) ON DELETE SET NULL,
  constraint terminal_sessions_allocation_id_organization_id_project_id_fkey FOREIGN KEY (allocation_id, organization_id, project_id) REFERENCES allocations(id, organization_id, project_id),
  constraint terminal_sessions_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id)
);
CREATE INDEX terminal_sessions_by_allocation ON terminal_sessions USING btree (allocation_id, id DESC);
CREATE INDEX terminal_sessions_by_organization ON terminal_sessions USING btree (organization_id) WHERE (closed_at IS NULL);
CREATE INDEX terminal_sessions_by_task ON terminal_sessions USING btree (task_id) WHERE (task_id IS NOT NULL);
CREATE INDEX terminal_sessions_closed ON terminal_sessions USING btree (closed_at) WHERE (closed_at IS NOT NULL);
CREATE INDEX terminal_sessions_live ON terminal_sessions USING btree (gateway_url) WHERE (state = ANY (ARRAY['opening'::text, 'open'::text]));
CREATE INDEX terminal_sessions_live_by_project ON terminal_sessions USING btree (project_id) WHERE (state = ANY (ARRAY['opening'::text, 'open'::text]));
CREATE INDEX terminal_sessions_recorded ON terminal_sessions USING btree (organization_id) WHERE is_recorded;
CREATE INDEX terminal_sessions_unclosed ON terminal_sessions USING btree (allocation_id) WHERE (state <> 'closed'::text);
CREATE INDEX terminal_sessions_unused ON terminal_sessions USING btree (ticket_expires_at) WHERE (state = 'ticketed'::text);
grant delete, insert, select, update on terminal_sessions to gpuaas_app;

create table terminal_recordings (
  session_id text not null,
  part integer not null,
  organization_id text not null,
  sealed_content bytea not null,
  keep_until timestamp with time zone not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  constraint terminal_recordings_pkey PRIMARY KEY (session_id, part),
  constraint terminal_recordings_part_check CHECK (part >= 0),
  constraint terminal_recordings_session_id_fkey FOREIGN KEY (session_id) REFERENCES terminal_sessions(id) ON DELETE CASCADE
);
CREATE INDEX terminal_recordings_over ON terminal_recordings USING btree (keep_until);
CREATE INDEX terminal_recordings_plain ON terminal_recordings USING btree (session_id, part) WHERE (sealed_version(sealed_content) = 0);
grant delete, insert, select, update (sealed_content) on terminal_recordings to gpuaas_app;

create table topology_discoveries (
  task_id text not null,
  node_id text not null,
  map_hash text not null,
  facts jsonb not null,
  map jsonb not null,
  reboot_required boolean not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  constraint topology_discoveries_pkey PRIMARY KEY (task_id),
  constraint topology_discoveries_map_hash_check CHECK (map_hash ~ '^[0-9a-f]{64}$'::text),
  constraint topology_discoveries_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id),
  constraint topology_discoveries_task_id_fkey FOREIGN KEY (task_id) REFERENCES node_tasks(id)
);
CREATE INDEX topology_discoveries_by_age ON topology_discoveries USING btree (created_at);
CREATE INDEX topology_discoveries_newest ON topology_discoveries USING btree (node_id, task_id DESC);
grant delete, insert, select on topology_discoveries to gpuaas_app;

create table topology_candidates (
  id text not null,
  task_id text not null,
  node_id text not null,
  slot_index integer not null,
  content_hash text not null,
  content jsonb not null,
  blockers jsonb not null,
  constraint topology_candidates_pkey PRIMARY KEY (id),
  constraint topology_candidates_task_id_slot_index_key UNIQUE (task_id, slot_index),
  constraint topology_candidates_content_hash_check CHECK (content_hash ~ '^[0-9a-f]{64}$'::text),
  constraint topology_candidates_id_check CHECK (id ~~ 'cnd\_%'::text),
  constraint topology_candidates_slot_index_check CHECK (slot_index >= 0 AND slot_index <= 63),
  constraint topology_candidates_node_id_fkey FOREIGN KEY (node_id) REFERENCES nodes(id),
  constraint topology_candidates_task_id_fkey FOREIGN KEY (task_id) REFERENCES topology_discoveries(task_id)
);
CREATE INDEX topology_candidates_by_node ON topology_candidates USING btree (node_id, task_id DESC);
grant delete, insert, select on topology_candidates to gpuaas_app;

create table usage_records (
  id text not null,
  allocation_id text not null,
  organization_id text not null,
  project_id text not null,
  sku_name text not null,
  gpu_count integer not null,
  gpu_hourly_price_minor bigint not null,
  currency text not null,
  started_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  cost_minor bigint,
  correlation_id text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  constraint usage_records_pkey PRIMARY KEY (id),
  constraint usage_records_allocation_id_started_at_key UNIQUE (allocation_id, started_at),
  constraint usage_records_check CHECK (ended_at IS NULL OR ended_at >= started_at),
  constraint usage_records_check1 CHECK ((ended_at IS NULL) = (cost_minor IS NULL)),
  constraint usage_records_cost_minor_check CHECK (cost_minor >= 0),
  constraint usage_records_gpu_count_check CHECK (gpu_count > 0),
  constraint usage_records_gpu_hourly_price_minor_check CHECK (gpu_hourly_price_minor >= 0),
  constraint usage_records_id_check CHECK (id ~~ 'usg\_%'::text),
  constraint usage_records_allocation_id_organization_id_project_id_fkey FOREIGN KEY (allocation_id, organization_id, project_id) REFERENCES allocations(id, organization_id, project_id),
  constraint usage_never_overlaps EXCLUDE USING gist (allocation_id WITH =, tstzrange(started_at, ended_at) WITH &&)
);
CREATE INDEX usage_by_end ON usage_records USING btree (project_id, COALESCE(ended_at, 'infinity'::timestamp with time zone));
CREATE INDEX usage_by_project ON usage_records USING btree (project_id, id);
CREATE INDEX usage_ended ON usage_records USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE UNIQUE INDEX usage_one_open ON usage_records USING btree (allocation_id) WHERE (ended_at IS NULL);
CREATE TRIGGER closed_is_final BEFORE UPDATE ON usage_records FOR EACH ROW WHEN (old.ended_at IS NOT NULL) EXECUTE FUNCTION refuse_usage_change();
grant insert, select, update on usage_records to gpuaas_app;

create table web_sessions (
  id text not null,
  user_id text not null,
  token_hash bytea not null,
  id_token_sealed bytea,
  user_agent text,
  source_ip text,
  created_at timestamp with time zone default clock_timestamp() not null,
  last_seen_at timestamp with time zone default clock_timestamp() not null,
  idle_expires_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  auth_time timestamp with time zone,
  constraint web_sessions_pkey PRIMARY KEY (id),
  constraint web_sessions_token_hash_key UNIQUE (token_hash),
  constraint web_sessions_check CHECK (idle_expires_at <= expires_at),
  constraint web_sessions_id_check CHECK (id ~~ 'wse\_%'::text),
  constraint web_sessions_token_hash_check CHECK (octet_length(token_hash) = 32),
  constraint web_sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX web_sessions_by_expiry ON web_sessions USING btree (idle_expires_at);
CREATE INDEX web_sessions_by_user ON web_sessions USING btree (user_id, id);
grant delete, insert, select, update on web_sessions to gpuaas_app;

create table wipe_chain_cuts (
  target_id text not null,
  sequence integer not null,
  proof_hash bytea not null,
  last_proof_at timestamp with time zone not null,
  cut_at timestamp with time zone default clock_timestamp() not null,
  constraint wipe_chain_cuts_pkey PRIMARY KEY (target_id, sequence),
  constraint wipe_chain_cuts_proof_hash_check CHECK (octet_length(proof_hash) = 32),
  constraint wipe_chain_cuts_sequence_check CHECK (sequence > 0)
);
CREATE INDEX wipe_chain_cuts_by_age ON wipe_chain_cuts USING btree (last_proof_at);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON wipe_chain_cuts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
grant select on wipe_chain_cuts to gpuaas_app;

create table workflow_runs (
  id text not null,
  workflow text not null,
  workflow_version integer not null,
  subject_id text not null,
  organization_id text,
  project_id text,
  correlation_id text not null,
  steps text[] not null,
  step text not null,
  state text default 'pending'::text not null,
  state_reason text,
  state_detail text,
  state_since timestamp with time zone default clock_timestamp() not null,
  attempt integer default 0 not null,
  attempt_started_at timestamp with time zone,
  due_at timestamp with time zone default clock_timestamp() not null,
  wake_at timestamp with time zone,
  waiting_for text,
  signal_deadline_at timestamp with time zone,
  signals_pending integer default 0 not null,
  deadline_ms bigint not null,
  deadline_at timestamp with time zone not null,
  winding text,
  cancel_requested_at timestamp with time zone,
  cancel_reason text,
  lease_number bigint default 0 not null,
  lease_owner text,
  lease_until timestamp with time zone,
  step_count integer default 0 not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  finished_at timestamp with time zone,
  workers_lost integer default 0 not null,
  workers_killed integer default 0 not null,
  kept_until timestamp with time zone,
  constraint workflow_runs_pkey PRIMARY KEY (id),
  constraint workflow_runs_attempt_check CHECK (attempt >= 0),
  constraint workflow_runs_check CHECK (step = ANY (steps)),
  constraint workflow_runs_check1 CHECK ((state = 'running'::text) = (lease_owner IS NOT NULL)),
  constraint workflow_runs_check2 CHECK ((state = 'running'::text) = (lease_until IS NOT NULL)),
  constraint workflow_runs_check3 CHECK ((state = ANY (ARRAY['done'::text, 'stuck'::text, 'cancelled'::text])) = (finished_at IS NOT NULL)),
  constraint workflow_runs_check4 CHECK ((waiting_for IS NULL) = (signal_deadline_at IS NULL)),
  constraint workflow_runs_check5 CHECK (state <> 'stuck'::text OR state_reason IS NOT NULL),
  constraint workflow_runs_check6 CHECK (project_id IS NULL OR organization_id IS NOT NULL),
  constraint workflow_runs_deadline_ms_check CHECK (deadline_ms > 0),
  constraint workflow_runs_id_check CHECK (id ~~ 'wfr\_%'::text),
  constraint workflow_runs_signals_pending_check CHECK (signals_pending >= 0),
  constraint workflow_runs_state_check CHECK (state = ANY (ARRAY['pending'::text, 'running'::text, 'waiting'::text, 'done'::text, 'stuck'::text, 'cancelled'::text])),
  constraint workflow_runs_steps_check CHECK (cardinality(steps) > 0),
  constraint workflow_runs_subject_id_check CHECK (subject_id ~ '^[A-Za-z0-9_.-]{1,64}$'::text),
  constraint workflow_runs_winding_check CHECK (winding = ANY (ARRAY['cancel'::text, 'deadline'::text, 'failure'::text])),
  constraint workflow_runs_workers_killed_check CHECK (workers_killed >= 0),
  constraint workflow_runs_workers_lost_check CHECK (workers_lost >= 0),
  constraint workflow_runs_workflow_check CHECK (workflow ~ '^[a-z0-9-]{1,64}$'::text),
  constraint workflow_runs_workflow_version_check CHECK (workflow_version > 0),
  constraint workflow_runs_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint workflow_runs_project_id_organization_id_fkey FOREIGN KEY (project_id, organization_id) REFERENCES projects(id, organization_id)
);
CREATE INDEX workflow_runs_by_correlation ON workflow_runs USING btree (correlation_id, id);
CREATE INDEX workflow_runs_by_organization ON workflow_runs USING btree (organization_id, id) WHERE (organization_id IS NOT NULL);
CREATE INDEX workflow_runs_by_project ON workflow_runs USING btree (project_id, id) WHERE (project_id IS NOT NULL);
CREATE INDEX workflow_runs_by_subject ON workflow_runs USING btree (subject_id, id);
CREATE INDEX workflow_runs_due ON workflow_runs USING btree (workflow, workflow_version, due_at) WHERE (state = ANY (ARRAY['pending'::text, 'running'::text, 'waiting'::text]));
CREATE INDEX workflow_runs_kept ON workflow_runs USING btree (kept_until) WHERE (kept_until IS NOT NULL);
CREATE UNIQUE INDEX workflow_runs_live ON workflow_runs USING btree (workflow, subject_id) WHERE (state = ANY (ARRAY['pending'::text, 'running'::text, 'waiting'::text]));
CREATE INDEX workflow_runs_live_by_project ON workflow_runs USING btree (project_id) WHERE (state = ANY (ARRAY['pending'::text, 'running'::text, 'waiting'::text]));
CREATE INDEX workflow_runs_old ON workflow_runs USING btree (finished_at) WHERE ((state = ANY (ARRAY['done'::text, 'cancelled'::text])) AND (kept_until IS NULL));
CREATE INDEX workflow_runs_stuck ON workflow_runs USING btree (id) WHERE (state = 'stuck'::text);
CREATE INDEX workflow_runs_suspect ON workflow_runs USING btree (due_at) WHERE ((state = ANY (ARRAY['pending'::text, 'running'::text, 'waiting'::text])) AND ((state = 'running'::text) OR (workers_lost > 0)));
grant delete, insert, select, update on workflow_runs to gpuaas_app;

create table workflow_signals (
  id bigint generated always as identity,
  run_id text not null,
  organization_id text,
  name text not null,
  payload jsonb default '{}'::jsonb not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  consumed_at timestamp with time zone,
  constraint workflow_signals_pkey PRIMARY KEY (id),
  constraint workflow_signals_name_check CHECK (name ~ '^[A-Za-z0-9_.-]{1,64}$'::text),
  constraint workflow_signals_run_id_fkey FOREIGN KEY (run_id) REFERENCES workflow_runs(id)
);
CREATE INDEX workflow_signals_by_run ON workflow_signals USING btree (run_id);
CREATE INDEX workflow_signals_pending ON workflow_signals USING btree (run_id, id) WHERE (consumed_at IS NULL);
grant delete, insert, select, update on workflow_signals to gpuaas_app;

create table workflow_steps (
  run_id text not null,
  sequence integer not null,
  organization_id text,
  step text not null,
  attempt integer not null,
  outcome text not null,
  detail text,
  internal_detail text,
  started_at timestamp with time zone not null,
  finished_at timestamp with time zone not null,
  constraint workflow_steps_pkey PRIMARY KEY (run_id, sequence),
  constraint workflow_steps_outcome_check CHECK (outcome = ANY (ARRAY['next'::text, 'wait'::text, 'done'::text, 'failed'::text, 'stuck'::text, 'error'::text, 'timeout'::text, 'cancelled'::text, 'retried'::text])),
  constraint workflow_steps_sequence_check CHECK (sequence > 0),
  constraint workflow_steps_run_id_fkey FOREIGN KEY (run_id) REFERENCES workflow_runs(id)
);
grant delete, insert, select, update on workflow_steps to gpuaas_app;

alter table access_policies enable row level security;
create policy scope on access_policies
  using (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table allocation_access_grants enable row level security;
create policy scope on allocation_access_grants
  using (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table allocation_installs enable row level security;
create policy scope on allocation_installs
  using (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table allocation_moves enable row level security;
create policy scope on allocation_moves
  using (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table allocation_placements enable row level security;
create policy scope on allocation_placements
  using (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table allocation_resource_claims enable row level security;
create policy scope on allocation_resource_claims
  using (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table allocation_user_data enable row level security;
create policy scope on allocation_user_data
  using (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table allocations enable row level security;
create policy scope on allocations
  using (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table api_tokens enable row level security;
create policy scope on api_tokens
  using (((gpuaas_tenant() = '*'::text) OR (user_id = gpuaas_principal()) OR ((organization_id IS NOT NULL) AND (organization_id = gpuaas_tenant()))));

alter table audit_chains enable row level security;
create policy scope on audit_chains
  using ((gpuaas_tenant() = '*'::text));

alter table audit_logs enable row level security;
create policy appendable on audit_logs for insert
  with check (true);
create policy readable on audit_logs for select
  using (((gpuaas_tenant() = '*'::text) OR (organization_id = gpuaas_tenant())));

alter table audit_seals enable row level security;
create policy appendable on audit_seals for insert
  with check ((gpuaas_tenant() = '*'::text));
create policy readable on audit_seals for select
  using (((gpuaas_tenant() = chain) OR (gpuaas_tenant() = '*'::text)));

alter table audit_segments enable row level security;
create policy appendable on audit_segments for insert
  with check ((gpuaas_tenant() = '*'::text));
create policy readable on audit_segments for select
  using (((gpuaas_tenant() = chain) OR (gpuaas_tenant() = '*'::text)));

alter table backups enable row level security;
create policy platform_only on backups
  using ((gpuaas_tenant() = '*'::text));

alter table group_access_blocks enable row level security;
create policy scope on group_access_blocks
  using (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table group_mappings enable row level security;
create policy platform_only on group_mappings
  using ((gpuaas_tenant() = '*'::text));

alter table idempotency_keys enable row level security;
create policy scope on idempotency_keys
  using (((gpuaas_tenant() = '*'::text) OR (principal_id = gpuaas_principal())));

alter table invitations enable row level security;
create policy scope on invitations
  using (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table listener_requests enable row level security;
create policy platform_only on listener_requests
  using ((gpuaas_tenant() = '*'::text));

alter table log_lines enable row level security;
create policy platform_only on log_lines
  using ((gpuaas_tenant() = '*'::text));

alter table node_enrollments enable row level security;
create policy platform_only on node_enrollments
  using ((gpuaas_tenant() = '*'::text));

alter table node_hosts enable row level security;
create policy platform_only on node_hosts
  using ((gpuaas_tenant() = '*'::text));

alter table node_inventories enable row level security;
create policy platform_only on node_inventories
  using ((gpuaas_tenant() = '*'::text));

alter table oidc_records enable row level security;
create policy platform_only on oidc_records
  using ((gpuaas_tenant() = '*'::text));

alter table oidc_signing_keys enable row level security;
create policy platform_only on oidc_signing_keys
  using ((gpuaas_tenant() = '*'::text));

alter table organizations enable row level security;
create policy scope on organizations
  using ((((gpuaas_tenant() = id) OR (gpuaas_tenant() = '*'::text)) OR (EXISTS ( SELECT
   FROM tenant_memberships m
  WHERE ((m.organization_id = organizations.id) AND (m.user_id = gpuaas_principal()))))))
  with check (((gpuaas_tenant() = id) OR (gpuaas_tenant() = '*'::text)));

alter table outbox_events enable row level security;
create policy scope on outbox_events
  using (((gpuaas_tenant() = '*'::text) OR (organization_id = gpuaas_tenant())))
  with check (true);

alter table platform_key_holders enable row level security;
create policy platform_only on platform_key_holders
  using ((gpuaas_tenant() = '*'::text));

alter table platform_keys enable row level security;
create policy platform_only on platform_keys
  using ((gpuaas_tenant() = '*'::text));

alter table platform_secrets enable row level security;
create policy platform_only on platform_secrets
  using ((gpuaas_tenant() = '*'::text));

alter table project_memberships enable row level security;
create policy scope on project_memberships
  using ((((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)) OR (user_id = gpuaas_principal())))
  with check (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table projects enable row level security;
create policy scope on projects
  using ((((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)) OR (EXISTS ( SELECT
   FROM tenant_memberships m
  WHERE ((m.organization_id = projects.organization_id) AND (m.user_id = gpuaas_principal()))))))
  with check (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table quota_requests enable row level security;
create policy scope on quota_requests
  using (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table quotas enable row level security;
create policy scope on quotas
  using (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table restores enable row level security;
create policy platform_only on restores
  using ((gpuaas_tenant() = '*'::text));

alter table service_accounts enable row level security;
create policy scope on service_accounts
  using ((((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)) OR (id = gpuaas_principal())))
  with check (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table sign_up_requests enable row level security;
create policy scope on sign_up_requests
  using (((gpuaas_tenant() = '*'::text) OR (user_id = gpuaas_principal())))
  with check ((gpuaas_tenant() = '*'::text));

alter table site_policy enable row level security;
create policy platform_only on site_policy
  using ((gpuaas_tenant() = '*'::text));

alter table ssh_keys enable row level security;
create policy scope on ssh_keys
  using (((gpuaas_tenant() = '*'::text) OR (user_id = gpuaas_principal())));

alter table tenant_memberships enable row level security;
create policy scope on tenant_memberships
  using ((((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)) OR (user_id = gpuaas_principal())))
  with check (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table terminal_recordings enable row level security;
create policy scope on terminal_recordings
  using (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table terminal_sessions enable row level security;
create policy scope on terminal_sessions
  using (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table trust_keys enable row level security;
create policy platform_only on trust_keys
  using ((gpuaas_tenant() = '*'::text));

alter table usage_records enable row level security;
create policy scope on usage_records
  using (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table users enable row level security;
create policy scope on users
  using (((gpuaas_tenant() = '*'::text) OR (id = gpuaas_principal()) OR (EXISTS ( SELECT
   FROM tenant_memberships m
  WHERE ((m.user_id = users.id) AND (m.organization_id = gpuaas_tenant()))))))
  with check (((gpuaas_tenant() = '*'::text) OR (id = gpuaas_principal())));

alter table web_sessions enable row level security;
create policy scope on web_sessions
  using (((gpuaas_tenant() = '*'::text) OR (user_id = gpuaas_principal())));

alter table workflow_runs enable row level security;
create policy scope on workflow_runs
  using (((gpuaas_tenant() = '*'::text) OR (organization_id = gpuaas_tenant())));

alter table workflow_signals enable row level security;
create policy scope on workflow_signals
  using (((gpuaas_tenant() = '*'::text) OR (organization_id = gpuaas_tenant())));

alter table workflow_steps enable row level security;
create policy scope on workflow_steps
  using (((gpuaas_tenant() = '*'::text) OR (organization_id = gpuaas_tenant())));

alter table wipe_proofs add constraint proof_is_of_node FOREIGN KEY (slot_id, node_id) REFERENCES node_resource_slots(id, node_id);
