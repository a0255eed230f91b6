-- Commit order of this database. Rows of the outbox and the audit log carry the id of their transaction; readers take
-- those below the oldest transaction that may still commit such rows. A snapshot lists the running transactions of the
-- whole cluster, and those of other databases cannot write here. A transaction is left out only if its owner is known to
-- be of another database; without an owner (it ended since, or has no lock yet) it counts, which only delays.
create function gpuaas_settled_xid() returns xid8
  language sql stable parallel restricted
  set search_path = pg_catalog
as $$
  select coalesce((
    select running.xid
    from (select pg_snapshot_xip(pg_current_snapshot()) as xid) running
    where not exists (
        select from pg_locks l join pg_stat_activity a on a.pid = l.pid
        where l.locktype = 'transactionid' and l.granted and l.mode = 'ExclusiveLock'
          and l.transactionid = running.xid::xid
          and a.datid <> (select d.oid from pg_database d where d.datname = current_database()))
      and not exists (
        select from pg_prepared_xacts p
        where p.transaction = running.xid::xid and p.database <> current_database())
    order by running.xid limit 1
  ), pg_snapshot_xmax(pg_current_snapshot()))
$$;
