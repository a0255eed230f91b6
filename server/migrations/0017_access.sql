-- How tenants reach what they launched: sessions through the gateway, keys granted beside those of the launch, and what an
-- organization asks of both.

create table access_policies (
  organization_id text primary key references organizations,
  session_idle_s integer not null default 1800 check (session_idle_s between 60 and 1800),
  session_max_s integer not null default 14400 check (session_max_s between 300 and 86400),
  ends_with_sign_in boolean not null default false,
  records_terminals boolean not null default false,
  recording_days integer not null default 30 check (recording_days between 1 and 365),
  allows_service_accounts boolean not null default false,
  version integer not null default 1,
  updated_at timestamptz not null default clock_timestamp()
);
alter table access_policies enable row level security;
create policy scope on access_policies using (gpuaas_tenant() in (organization_id, '*'));
grant select, insert, update on access_policies to gpuaas_app;

create table terminal_sessions (
  id text primary key check (id like 'ses\_%'),
  organization_id text not null,
  project_id text not null,
  allocation_id text not null,
  node_id text not null references nodes,
  kind text not null check (kind in ('terminal', 'console', 'ssh', 'forward')),
  port integer check (port between 1 and 65535),
  cols integer not null default 80 check (cols between 1 and 1000),
  rows integer not null default 24 check (rows between 1 and 1000),
  is_writable boolean not null,
  is_recorded boolean not null default false,
  state text not null default 'ticketed' check (state in ('ticketed', 'opening', 'open', 'closed')),
  principal_id text not null,
  principal_kind text not null check (principal_kind in ('user', 'service_account')),
  principal_name text not null,
  -- The token it was opened with; null for a sign-in, whose end counts only where the policy says so.
  credential_id text,
  credential_expires_at timestamptz,
  -- Only its hash is kept; null once it was used or is too old.
  ticket_hash bytea unique check (octet_length(ticket_hash) = 32),
  ticket_expires_at timestamptz not null,
  -- What it was, so that one that comes twice is known as such at every replica.
  used_ticket_hash bytea unique check (octet_length(used_ticket_hash) = 32),
  -- The replica that has the client, by the address at which agents reach it.
  gateway_url text,
  -- When that replica last said that it has it: what is left behind by one that died is closed by the others.
  gateway_seen_at timestamptz,
  task_id text,
  source_ip text,
  bytes_in bigint not null default 0 check (bytes_in >= 0),
  bytes_out bigint not null default 0 check (bytes_out >= 0),
  -- Somebody wants it ended.
  end_wanted_by text,
  end_reason text,
  end_message text,
  correlation_id text not null,
  created_at timestamptz not null default clock_timestamp(),
  opened_at timestamptz,
  closed_at timestamptz,
  expires_at timestamptz not null,
  foreign key (allocation_id, organization_id, project_id) references allocations (id, organization_id, project_id),
  constraint forward_has_port check ((port is not null) = (kind = 'forward')),
  constraint closed_says_why check ((closed_at is not null) = (state = 'closed') and (end_reason is not null) = (state = 'closed')),
  constraint ticket_is_good_once check (ticket_hash is null or state = 'ticketed'),
  constraint replica_has_the_client check (state not in ('opening', 'open') or gateway_url is not null)
);
create index terminal_sessions_by_allocation on terminal_sessions (allocation_id, id desc);
-- An allocation has few that are not over, and may have very many that are.
create index terminal_sessions_unclosed on terminal_sessions (allocation_id) where state <> 'closed';
create index terminal_sessions_live on terminal_sessions (gateway_url) where state in ('opening', 'open');
create index terminal_sessions_unused on terminal_sessions (ticket_expires_at) where state = 'ticketed';
create index terminal_sessions_closed on terminal_sessions (closed_at) where closed_at is not null;
alter table terminal_sessions enable row level security;
create policy scope on terminal_sessions using (gpuaas_tenant() in (organization_id, '*'));
grant select, insert, update, delete on terminal_sessions to gpuaas_app;

-- What recorded terminals showed, in parts as they come: a gateway that dies loses the last second and not the recording.
create table terminal_recordings (
  session_id text not null references terminal_sessions on delete cascade,
  part integer not null check (part >= 0),
  organization_id text not null,
  -- Lines of an asciicast, gzipped.
  content bytea not null,
  keep_until timestamptz not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (session_id, part)
);
create index terminal_recordings_over on terminal_recordings (keep_until);
alter table terminal_recordings enable row level security;
create policy scope on terminal_recordings using (gpuaas_tenant() in (organization_id, '*'));
grant select, insert, delete on terminal_recordings to gpuaas_app;

create table allocation_access_grants (
  id text primary key check (id like 'grt\_%'),
  organization_id text not null,
  project_id text not null,
  allocation_id text not null,
  user_id text not null references users,
  -- Both as they were when it was granted.
  user_name text not null,
  ssh_key_id text not null,
  -- As it was granted: a key that is deleted later can still be taken off the machine.
  public_key text not null,
  fingerprint text not null check (fingerprint like 'SHA256:%'),
  state text not null default 'pending' check (state in ('pending', 'installed', 'failed', 'revoking', 'revoked')),
  state_reason text,
  granted_by text not null,
  correlation_id text not null,
  created_at timestamptz not null default clock_timestamp(),
  installed_at timestamptz,
  revoked_at timestamptz,
  foreign key (allocation_id, organization_id, project_id) references allocations (id, organization_id, project_id),
  constraint failed_says_why check (state <> 'failed' or state_reason is not null),
  constraint revoked_is_dated check ((revoked_at is not null) = (state in ('revoking', 'revoked')))
);
create unique index access_grants_once on allocation_access_grants (allocation_id, fingerprint) where revoked_at is null;
create index access_grants_by_allocation on allocation_access_grants (allocation_id, id desc);
create index access_grants_by_user on allocation_access_grants (user_id) where revoked_at is null;
alter table allocation_access_grants enable row level security;
create policy scope on allocation_access_grants using (gpuaas_tenant() in (organization_id, '*'));
grant select, insert, update on allocation_access_grants to gpuaas_app;
create index access_grants_untold on allocation_access_grants (allocation_id) where state in ('pending', 'revoking');

-- With the machine everything ends that was granted on it.
create function grants_end_with_allocation() returns trigger language plpgsql as $$
begin
  update allocation_access_grants set state = 'revoked', state_reason = null, revoked_at = coalesce(revoked_at, clock_timestamp())
  where allocation_id = new.id and state <> 'revoked';
  return null;
end $$;
create trigger grants_end after update of state on allocations for each row
  when (old.state in ('requested', 'provisioning', 'active') and new.state not in ('requested', 'provisioning', 'active'))
  execute function grants_end_with_allocation();

-- What called a host to a session is of no use once that is over, and there is one for each. No other task is ever removed.
create index node_tasks_streams on node_tasks (finished_at) where kind = 'stream.open' and finished_at is not null;
grant delete on node_tasks to gpuaas_app;
create function only_streams_are_removed() returns trigger language plpgsql as $$
begin
  raise exception 'task % is kept: it is evidence', old.id;
end $$;
create trigger only_streams_are_removed before delete on node_tasks for each row when (old.kind <> 'stream.open')
  execute function only_streams_are_removed();
