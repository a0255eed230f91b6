-- What the purges and the invariants look for, found without reading years of history.
drop index node_tasks_finished;
create index node_tasks_finished on node_tasks (finished_at) where finished_at is not null and kept_until is null;
create index node_tasks_kept on node_tasks (kept_until) where kept_until is not null;
create index wipe_proofs_by_task on wipe_proofs (task_id);
create index moves_by_task on allocation_moves (host_task_id) where host_task_id is not null;
create index terminal_sessions_by_task on terminal_sessions (task_id) where task_id is not null;
create index claims_released on allocation_resource_claims (released_at) where released_at is not null;
create index usage_ended on usage_records (ended_at) where ended_at is not null;
