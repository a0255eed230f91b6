-- Runs of allocations that live for years and confirmed overrides are not read by every turn of the purge: kept_until is
-- when an old row is looked at again, as in node_tasks.
alter table workflow_runs add column kept_until timestamptz;
alter table slot_overrides add column kept_until timestamptz;
