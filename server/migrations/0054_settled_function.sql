-- Read by every turn of the relay, the sealer and the streams. A body in SQL with a search path of its own is planned again for
-- each call; this one is planned once per connection, and reads locks only while a transaction is running.
create or replace function gpuaas_settled_xid() returns xid8
  language plpgsql stable parallel restricted set search_path = pg_catalog as $$
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
end $$;

-- A slot is approved by a discovery of its own node.
create or replace function only_ended_tasks_are_removed() returns trigger
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
  if exists (select from node_resource_slots s where s.node_id = old.node_id and s.discovery_task_id = old.id) then
    raise exception 'task % is kept: a slot was approved by it', old.id;
  end if;
  if exists (select from allocations a where a.id = old.allocation_id and a.state not in ('released', 'failed'))
    or exists (select from allocation_resource_claims c where c.allocation_id = old.allocation_id and c.released_at is null) then
    raise exception 'task % is kept: its allocation has not ended', old.id;
  end if;
  return old;
end $$;

-- Room on each page for the versions of a row that changes while nothing indexed does.
alter table node_resource_slots set (fillfactor = 60);
alter table node_tasks set (fillfactor = 60);
alter table node_agents set (fillfactor = 60);
alter table allocations set (fillfactor = 60);
alter table quotas set (fillfactor = 60);
