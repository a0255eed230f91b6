-- Work that outlives a request: one row per run, one per step taken (the timeline a user reads), and the signals sent
-- to a run. A run is claimed by lease; lease_number grows with every claim and every move, so whoever still holds an
-- older number is fenced: its update finds no row.

create table workflow_runs (
  id text primary key check (id like 'wfr\_%'),
  workflow text not null check (workflow ~ '^[a-z0-9-]{1,64}$'),
  workflow_version integer not null check (workflow_version > 0),
  subject_id text not null check (subject_id ~ '^[A-Za-z0-9_.-]{1,64}$'),
  organization_id text references organizations,
  project_id text,
  correlation_id text not null,
  -- The steps of its version, so that a process that does not know the workflow can check a retry from a step.
  steps text[] not null check (cardinality(steps) > 0),
  step text not null,
  state text not null default 'pending' check (state in ('pending', 'running', 'waiting', 'done', 'stuck', 'cancelled')),
  -- The reason is for anybody who may see the run; the detail is for operators.
  state_reason text,
  state_detail text,
  state_since timestamptz not null default clock_timestamp(),
  -- Counted when the lease is taken, so that a crash counts like an error; zero again after a step that went well.
  attempt integer not null default 0 check (attempt >= 0),
  attempt_started_at timestamptz,
  -- When a worker looks at it next: its timer, its deadline, or the end of the lease that somebody holds.
  due_at timestamptz not null default clock_timestamp(),
  wake_at timestamptz,
  waiting_for text,
  signal_deadline_at timestamptz,
  signals_pending integer not null default 0 check (signals_pending >= 0),
  deadline_ms bigint not null check (deadline_ms > 0),
  deadline_at timestamptz not null,
  -- Why it takes its clean-up steps, if it does.
  winding text check (winding in ('cancel', 'deadline', 'failure')),
  cancel_requested_at timestamptz,
  cancel_reason text,
  lease_number bigint not null default 0,
  lease_owner text,
  lease_until timestamptz,
  step_count integer not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  check (step = any (steps)),
  check ((state = 'running') = (lease_owner is not null)),
  check ((state = 'running') = (lease_until is not null)),
  check ((state in ('done', 'stuck', 'cancelled')) = (finished_at is not null)),
  check ((waiting_for is null) = (signal_deadline_at is null)),
  check (state <> 'stuck' or state_reason is not null),
  check (project_id is null or organization_id is not null),
  foreign key (project_id, organization_id) references projects (id, organization_id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

create unique index workflow_runs_live on workflow_runs (workflow, subject_id)
  where state in ('pending', 'running', 'waiting');
-- Claiming reads the head of this index: ended runs are not in it and timers of the future come last.
create index workflow_runs_due on workflow_runs (workflow, workflow_version, due_at)
  where state in ('pending', 'running', 'waiting');
create index workflow_runs_deadline on workflow_runs (deadline_at)
  where state in ('pending', 'running', 'waiting');
create index workflow_runs_stuck on workflow_runs (id) where state = 'stuck';
create index workflow_runs_by_project on workflow_runs (project_id, id) where project_id is not null;
create index workflow_runs_by_organization on workflow_runs (organization_id, id) where organization_id is not null;
create index workflow_runs_by_subject on workflow_runs (subject_id, id);
create index workflow_runs_by_correlation on workflow_runs (correlation_id, id);

create table workflow_steps (
  run_id text not null references workflow_runs,
  sequence integer not null check (sequence > 0),
  organization_id text,
  step text not null,
  attempt integer not null,
  outcome text not null
    check (outcome in ('next', 'wait', 'done', 'stuck', 'error', 'timeout', 'cancelled', 'retried')),
  detail text,
  internal_detail text,
  started_at timestamptz not null,
  finished_at timestamptz not null,
  primary key (run_id, sequence)
);

create table workflow_signals (
  id bigint generated always as identity primary key,
  run_id text not null references workflow_runs,
  organization_id text,
  name text not null check (name ~ '^[A-Za-z0-9_.-]{1,64}$'),
  payload jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  consumed_at timestamptz
);
create index workflow_signals_pending on workflow_signals (run_id, id) where consumed_at is null;

alter table workflow_runs enable row level security;
alter table workflow_steps enable row level security;
alter table workflow_signals enable row level security;
create policy scope on workflow_runs using (gpuaas_tenant() = '*' or organization_id = gpuaas_tenant());
create policy scope on workflow_steps using (gpuaas_tenant() = '*' or organization_id = gpuaas_tenant());
create policy scope on workflow_signals using (gpuaas_tenant() = '*' or organization_id = gpuaas_tenant());

grant select, insert, update on workflow_runs, workflow_steps, workflow_signals to gpuaas_app;
