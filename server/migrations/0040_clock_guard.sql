-- What the workers know of the clock of this database. While it is held, and while no worker has checked it for five minutes,
-- nothing is released, ended, deleted or marked because a time has passed. The first worker creates the row.
create table clock_guard (
  id integer primary key default 1 check (id = 1),
  -- The last time of this clock that a worker accepted.
  seen_at timestamptz not null,
  hold_since timestamptz,
  reason text,
  jump_ms bigint,
  -- How the last hold ended: `agents`, `clock`, or the operator who confirmed the time.
  ended_at timestamptz,
  ended_by text,
  version integer not null default 1,
  check ((hold_since is null) = (reason is null)),
  check ((hold_since is null) = (jump_ms is null)),
  check ((ended_at is null) = (ended_by is null))
);
grant select, insert, update on clock_guard to gpuaas_app;

-- The clock of the host minus the clock of the database, at the last poll of the agent.
alter table node_agents add column database_skew_ms bigint;

-- How many of the lost workers the run itself may have stopped: other runs went on meanwhile.
alter table workflow_runs
  add column workers_killed integer not null default 0 check (workers_killed >= 0);
