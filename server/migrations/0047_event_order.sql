-- Events of one subject are read in the order in which they happened. A transaction that waits for a lock may have its id
-- already, so the holder, which writes first, can have a higher one: a release was read before the provisioning that it
-- ended. `xid` is therefore the place of an event in commit order: the id of its transaction, or the highest id that had
-- ended when the event was written, whichever is higher. What the transaction waited for had ended by then. The place is
-- never below the id of the transaction, so the rule of the readers stays: below `gpuaas_settled_xid()` nothing is added.
-- `writer_xid` is the id of the transaction itself, which says in which snapshots it had ended; null in rows from before,
-- where both are equal.

-- Not SQL: it would be inlined, and read the snapshot of the statement, which may be older than a lock it waited for.
create function gpuaas_event_place() returns xid8
  language plpgsql volatile
  set search_path = pg_catalog
as $$
begin
  return greatest(pg_current_xact_id(), (pg_snapshot_xmax(pg_current_snapshot())::text::numeric - 1)::text::xid8);
end $$;

alter table outbox_events add column writer_xid xid8;
alter table outbox_events alter column writer_xid set default pg_current_xact_id();
alter table outbox_events alter column xid set default gpuaas_event_place();
