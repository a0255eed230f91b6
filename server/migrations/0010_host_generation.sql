-- The newest generation that the host says it knows of a slot, noted when it refused a task as stale. It is above ours
-- only when this database is older than the host: it was restored from a backup. An operator's act raises ours above it.
alter table node_resource_slots add column host_generation integer check (host_generation between 0 and 1000000000);
