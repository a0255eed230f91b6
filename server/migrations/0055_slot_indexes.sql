-- no transaction
-- A change of a slot's status rewrote its entry in every index, because these two have the status in them. Slots that wait for a
-- wipe are counted by the metrics alone, and a discovery finds its slots by their node.
create index concurrently slots_accepted on node_resource_slots (region_name) where wipe_outcome = 'overridden';
drop index concurrently if exists slots_overridden;
drop index concurrently if exists slots_by_status;
drop index concurrently if exists slots_by_discovery;
-- Overdue runs of unknown versions are found by their workflow.
drop index concurrently if exists workflow_runs_deadline;
-- Every comparison with this time is against the running clock, which no index serves; it was rewritten with every heartbeat.
drop index concurrently if exists node_agents_by_seen;
