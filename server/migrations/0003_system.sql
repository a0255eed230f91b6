-- What every change leaves behind: audit row, outbox row, idempotency record. They commit with the change or not at all.

create table audit_logs (
  id text primary key check (id like 'aud\_%'),
  xid xid8 not null default pg_current_xact_id(),
  created_at timestamptz not null default clock_timestamp(),
  organization_id text,
  project_id text,
  actor_kind text not null check (actor_kind in ('user', 'service_account', 'system', 'anonymous')),
  actor_id text,
  actor_role text,
  source_ip text,
  user_agent text,
  action text not null,
  target_kind text,
  target_id text,
  result text not null check (result in ('success', 'failure', 'denied')),
  error_code text,
  policy text not null,
  correlation_id text not null,
  metadata jsonb not null default '{}'
);
create index audit_logs_by_organization on audit_logs (organization_id, id);
create index audit_logs_by_correlation on audit_logs (correlation_id);
create index audit_logs_in_commit_order on audit_logs (xid, id);
create index audit_logs_by_actor on audit_logs (actor_id, id) where actor_id is not null;
create index audit_logs_by_action on audit_logs (action, id);
-- Rows are appended in the order of their time, so a few bytes per block find those of an hour.
create index audit_logs_by_age on audit_logs using brin (created_at) with (pages_per_range = 32, autosummarize = on);

-- The chain: one per organization and one for the platform. A seal covers one audit row and everything before it.
create table audit_seals (
  chain text not null,
  sequence bigint not null check (sequence > 0),
  audit_log_id text not null unique,
  hash bytea not null check (octet_length(hash) = 32),
  sealed_at timestamptz not null default clock_timestamp(),
  primary key (chain, sequence)
);
-- Where each chain ends, and up to where its end was written to the heads file outside the database.
create table audit_chains (
  chain text primary key,
  sequence bigint not null check (sequence > 0),
  hash bytea not null check (octet_length(hash) = 32),
  sealed_at timestamptz not null default clock_timestamp(),
  headed_sequence bigint not null default 0 check (headed_sequence <= sequence)
);
create index audit_chains_unheaded on audit_chains (chain) where headed_sequence < sequence;
-- Up to where (xid, id) everything is sealed, so that the sealer never reads the whole table; and how the heads file
-- ended when it was last written, so that a cut file is noticed.
create table audit_sealer (
  singleton boolean primary key default true check (singleton),
  sealed_xid xid8 not null default '0',
  sealed_id text not null default '',
  heads_line bigint not null default 0,
  heads_hash bytea not null default decode(repeat('00', 32), 'hex') check (octet_length(heads_hash) = 32)
);
insert into audit_sealer default values;

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
end $$;
create trigger append_only before update or delete or truncate on audit_logs for each statement execute function refuse_change();
create trigger append_only before update or delete or truncate on audit_seals for each statement execute function refuse_change();

-- Rows carry the id of their transaction: readers take only rows below the oldest running one, in that order, because
-- a sequence number is drawn before commit and would hide rows that commit late.
create table outbox_events (
  id text primary key check (id like 'evt\_%'),
  xid xid8 not null default pg_current_xact_id(),
  event_type text not null,
  organization_id text,
  project_id text,
  subject text not null,
  data jsonb not null,
  correlation_id text not null,
  created_at timestamptz not null default clock_timestamp(),
  sent_at timestamptz,
  attempt_count integer not null default 0,
  last_error text
);
create index outbox_events_unsent on outbox_events (xid, id) where sent_at is null;
create index outbox_events_by_project on outbox_events (project_id, xid, id) where project_id is not null;
create index outbox_events_by_age on outbox_events (created_at);

create table idempotency_keys (
  tenant text not null,
  principal_id text not null,
  operation text not null,
  key text not null,
  request_hash bytea not null check (octet_length(request_hash) = 32),
  status integer not null,
  response bytea not null,
  response_sealed boolean not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '48 hours',
  primary key (tenant, principal_id, operation, key)
);
create index idempotency_keys_expiry on idempotency_keys (expires_at);

alter table audit_logs enable row level security;
alter table audit_seals enable row level security;
alter table audit_chains enable row level security;
alter table outbox_events enable row level security;
alter table idempotency_keys enable row level security;
create policy readable on audit_logs for select using (gpuaas_tenant() = '*' or organization_id = gpuaas_tenant());
create policy appendable on audit_logs for insert with check (true);
create policy readable on audit_seals for select using (gpuaas_tenant() in (chain, '*'));
create policy appendable on audit_seals for insert with check (gpuaas_tenant() = '*');
create policy scope on audit_chains using (gpuaas_tenant() = '*');
create policy scope on outbox_events using (gpuaas_tenant() = '*' or organization_id = gpuaas_tenant())
  with check (true);
create policy scope on idempotency_keys using (gpuaas_tenant() = '*' or principal_id = gpuaas_principal());

grant select, insert on audit_logs, audit_seals to gpuaas_app;
grant select, insert, update on audit_chains to gpuaas_app;
grant select, update on audit_sealer to gpuaas_app;
grant select, insert, update, delete on outbox_events, idempotency_keys to gpuaas_app;
