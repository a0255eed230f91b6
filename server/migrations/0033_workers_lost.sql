-- An attempt that ended with its worker is counted here and not as an attempt: the step did not fail. It is zero again
-- after a recorded outcome; a stuck run keeps it for operators.
alter table workflow_runs
  add column workers_lost integer not null default 0 check (workers_lost >= 0);
-- Runs that are taken alone: those whose worker stopped reporting, and those that lost one before.
create index workflow_runs_suspect on workflow_runs (due_at)
  where state in ('pending', 'running', 'waiting') and (state = 'running' or workers_lost > 0);
