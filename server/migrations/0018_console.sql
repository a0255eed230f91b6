-- What the console needs: browsers that are signed in, and capacity as it was.

create table web_sessions (
  id text primary key check (id like 'wse\_%'),
  user_id text not null references users,
  -- Only the hash of the cookie is kept.
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  -- Handed back to the issuer at sign-out; sealed with the platform key.
  id_token_sealed bytea,
  user_agent text,
  source_ip text,
  created_at timestamptz not null default clock_timestamp(),
  last_seen_at timestamptz not null default clock_timestamp(),
  -- Moved on by use, never beyond expires_at.
  idle_expires_at timestamptz not null,
  expires_at timestamptz not null,
  check (idle_expires_at <= expires_at)
);
create index web_sessions_by_user on web_sessions (user_id, id);
create index web_sessions_by_expiry on web_sessions (idle_expires_at);
alter table web_sessions enable row level security;
create policy scope on web_sessions using (gpuaas_tenant() = '*' or user_id = gpuaas_principal());
grant select, insert, update, delete on web_sessions to gpuaas_app;

create table capacity_samples (
  sampled_at timestamptz not null,
  region_name text not null,
  gpu_model text not null,
  delivered_gpus integer not null check (delivered_gpus >= 0),
  healthy_gpus integer not null check (healthy_gpus >= 0),
  reserved_gpus integer not null check (reserved_gpus >= 0),
  active_gpus integer not null check (active_gpus >= 0),
  free_gpus integer not null check (free_gpus >= 0),
  primary key (sampled_at, region_name, gpu_model)
);
grant select, insert, delete on capacity_samples to gpuaas_app;

-- Operators follow every event of the platform in commit order; the project's index serves only projects.
create index outbox_events_by_commit on outbox_events (xid, id);
-- What a month costs is read without the records of the months before it.
create index usage_by_end on usage_records (project_id, coalesce(ended_at, 'infinity'::timestamptz));

-- An id is followed through everything that carries it: by correlation id, and by what it is about.
create index audit_logs_by_target on audit_logs (target_id, id) where target_id is not null;
create index outbox_events_by_correlation on outbox_events (correlation_id, id);
create index outbox_events_by_subject on outbox_events (subject, id);
create index node_tasks_by_correlation on node_tasks (correlation_id, id);
create index node_tasks_of_node on node_tasks (node_id, created_at);
create index log_lines_errors on log_lines (correlation_id, logged_at) where level in ('error', 'fatal');
-- Who stands on a node, of 200 nodes at once, without the history of each.
create index allocations_standing on allocations (node_id) where state in ('active', 'releasing', 'release_failed');
