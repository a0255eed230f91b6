-- no transaction
create index concurrently workflow_runs_old on workflow_runs (finished_at)
  where state in ('done', 'cancelled') and kept_until is null;
create index concurrently workflow_runs_kept on workflow_runs (kept_until) where kept_until is not null;
drop index concurrently if exists workflow_runs_ended;
create index concurrently slot_overrides_old on slot_overrides (expires_at) where kept_until is null;
create index concurrently slot_overrides_kept on slot_overrides (kept_until) where kept_until is not null;
drop index concurrently if exists slot_overrides_by_end;
