-- What a project holds is read with the project, whatever its history. Allocations are found by allocations_name.
create index claims_live_by_project on allocation_resource_claims (project_id) where released_at is null;
create index workflow_runs_live_by_project on workflow_runs (project_id) where state in ('pending', 'running', 'waiting');
create index terminal_sessions_live_by_project on terminal_sessions (project_id) where state in ('opening', 'open');
