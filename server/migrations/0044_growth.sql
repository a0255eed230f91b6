-- What outgrows the tables that matter leaves them: host tasks that nothing cites, audit rows that are in a signed segment
-- outside the database, and wipe proofs whose certificate can no longer be asked for.

-- Host tasks. The purge passes each old task once: it deletes it, or writes until when it is kept ('infinity' while
-- something cites it), so that a turn never reads the kept ones again.
alter table node_tasks add column kept_until timestamptz;

-- A session that outlives its task forgets it.
update terminal_sessions s set task_id = null
  where s.task_id is not null and not exists (select from node_tasks t where t.id = s.task_id);
alter table terminal_sessions add constraint session_has_its_task
  foreign key (task_id) references node_tasks (id) on delete set null not valid;
alter table terminal_sessions validate constraint session_has_its_task;

-- A move without a task has an empty one.
alter table allocation_moves add column host_task_id text generated always as (nullif(task_id, '')) stored;
alter table allocation_moves add constraint move_has_its_task foreign key (host_task_id) references node_tasks (id) not valid;
alter table allocation_moves validate constraint move_has_its_task;

-- The task of a proof is part of its hash, and an override names itself there: no foreign key can say that. What a proof
-- or an approved slot cites stays; so does the work of an allocation that has not ended.
create function only_ended_tasks_are_removed() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
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
  if exists (select from node_resource_slots s where s.discovery_task_id = old.id) then
    raise exception 'task % is kept: a slot was approved by it', old.id;
  end if;
  if exists (select from allocations a where a.id = old.allocation_id and a.state not in ('released', 'failed'))
    or exists (select from allocation_resource_claims c where c.allocation_id = old.allocation_id and c.released_at is null) then
    raise exception 'task % is kept: its allocation has not ended', old.id;
  end if;
  return old;
end $$;
drop trigger only_streams_are_removed on node_tasks;
drop function only_streams_are_removed();
create trigger only_ended_tasks_are_removed before delete on node_tasks for each row
  execute function only_ended_tasks_are_removed();

-- Audit segments: ranges of a chain that were written to a signed file outside the database. They follow each other without
-- a gap from the first row of the chain, and end where the seals of the database say.
create table audit_segments (
  chain text not null,
  first_sequence bigint not null check (first_sequence > 0),
  last_sequence bigint not null,
  previous_hash bytea not null check (octet_length(previous_hash) = 32),
  last_hash bytea not null check (octet_length(last_hash) = 32),
  first_row_at timestamptz not null,
  last_row_at timestamptz not null,
  file_name text not null unique,
  file_sha256 bytea not null check (octet_length(file_sha256) = 32),
  created_at timestamptz not null default clock_timestamp(),
  removed_at timestamptz,
  primary key (chain, first_sequence),
  unique (chain, last_sequence),
  check (last_sequence >= first_sequence and last_row_at >= first_row_at)
);
create index audit_segments_online on audit_segments (created_at) where removed_at is null;
create index audit_segments_removed on audit_segments (chain, last_row_at) where removed_at is not null;
alter table audit_segments enable row level security;
create policy readable on audit_segments for select using (gpuaas_tenant() in (chain, '*'));
create policy appendable on audit_segments for insert with check (gpuaas_tenant() = '*');
grant select, insert on audit_segments to gpuaas_app;

create function check_audit_segment() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
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
end $$;
create trigger follows after insert on audit_segments for each row execute function check_audit_segment();

create function refuse_segment_change() returns trigger language plpgsql as $$
begin
  raise exception 'segment % only ever changes by the removal of its rows', old.file_name using errcode = 'insufficient_privilege';
end $$;
create trigger removed_once before update on audit_segments for each row
  when (old.removed_at is not null or new.removed_at is null
    or (old.chain, old.first_sequence, old.last_sequence, old.previous_hash, old.last_hash, old.first_row_at, old.last_row_at,
        old.file_name, old.file_sha256, old.created_at)
      is distinct from (new.chain, new.first_sequence, new.last_sequence, new.previous_hash, new.last_hash, new.first_row_at,
        new.last_row_at, new.file_name, new.file_sha256, new.created_at))
  execute function refuse_segment_change();
create trigger append_only before delete or truncate on audit_segments for each statement execute function refuse_change();

-- Audit rows and seals leave the database only in whole ranges that a segment holds.
create function only_archived_rows_are_removed() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (select from gone g left join audit_seals s on s.audit_log_id = g.id
      where not exists (select from audit_segments e where e.chain = s.chain and s.sequence between e.first_sequence and e.last_sequence)) then
    raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
  end if;
  return null;
end $$;
create function only_archived_seals_are_removed() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (select from gone g
      where not exists (select from audit_segments e where e.chain = g.chain and g.sequence between e.first_sequence and e.last_sequence)) then
    raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
  end if;
  return null;
end $$;
drop trigger append_only on audit_logs;
drop trigger append_only on audit_seals;
create trigger append_only before update or truncate on audit_logs for each statement execute function refuse_change();
create trigger append_only before update or truncate on audit_seals for each statement execute function refuse_change();
create trigger only_archived after delete on audit_logs referencing old table as gone for each statement
  execute function only_archived_rows_are_removed();
create trigger only_archived after delete on audit_seals referencing old table as gone for each statement
  execute function only_archived_seals_are_removed();

-- The only way for the application. A segment is a day old before its rows go, so that a backup has the file and no export
-- that began without it still reads the rows.
create function remove_archived_audit(of_chain text, from_sequence bigint, online_days integer) returns bigint
  language plpgsql security definer set search_path = public, pg_temp as $$
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
end $$;
revoke all on function remove_archived_audit(text, bigint, integer) from public;
grant execute on function remove_archived_audit(text, bigint, integer) to gpuaas_app;

-- Wipe proofs and released claims: kept as long as a certificate may be asked for. What is cut from the front of a chain
-- leaves the hash of its last proof, from which the rest of the chain verifies.
create table wipe_chain_cuts (
  target_id text not null,
  sequence integer not null check (sequence > 0),
  proof_hash bytea not null check (octet_length(proof_hash) = 32),
  last_proof_at timestamptz not null,
  cut_at timestamptz not null default clock_timestamp(),
  primary key (target_id, sequence)
);
create index wipe_chain_cuts_by_age on wipe_chain_cuts (last_proof_at);
grant select on wipe_chain_cuts to gpuaas_app;
create trigger append_only before update or delete or truncate on wipe_chain_cuts for each statement execute function refuse_change();

create or replace function chain_wipe_proof() returns trigger language plpgsql as $$
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
end $$;

create function only_cut_proofs_are_removed() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (select from gone g where not exists (
      select from wipe_chain_cuts c where c.target_id = g.target_id and c.sequence >= g.sequence)) then
    raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
  end if;
  return null;
end $$;
drop trigger append_only on wipe_proofs;
create trigger append_only before update or truncate on wipe_proofs for each statement execute function refuse_change();
create trigger only_cut after delete on wipe_proofs referencing old table as gone for each statement
  execute function only_cut_proofs_are_removed();

create function only_cut_claims_are_removed() returns trigger
  language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if old.released_at is null or not exists (select from wipe_proofs p join wipe_chain_cuts c on c.target_id = p.target_id
      where p.id = old.wipe_proof_id and c.sequence >= p.sequence) then
    raise exception 'claim % only ever changes by its release', old.id using errcode = 'insufficient_privilege';
  end if;
  return old;
end $$;
drop trigger never_removed on allocation_resource_claims;
create trigger only_cut before delete on allocation_resource_claims for each row execute function only_cut_claims_are_removed();

-- Removes the oldest proofs that nothing stands on any more, with the claims that they ended, and cuts their chains after
-- them. Returns how many proofs were removed.
create function cut_wipe_chains(proofs_max integer, years integer) returns integer
  language plpgsql security definer set search_path = public, pg_temp as $$
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
end $$;
revoke all on function cut_wipe_chains(integer, integer) from public;
grant execute on function cut_wipe_chains(integer, integer) to gpuaas_app;
