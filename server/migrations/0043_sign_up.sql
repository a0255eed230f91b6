-- Who may sign up, with which GPU limit an organization starts, how tenants ask for more, and access by groups of the issuer.

-- One row: what the operators decided for the whole site.
create table site_policy (
  is_only boolean primary key default true check (is_only),
  sign_up text not null default 'invited' check (sign_up in ('closed', 'invited', 'approved', 'open')),
  -- Of sign_up 'open': the domains whose verified addresses may sign up; none means any.
  mail_domains text[] not null default '{}' check (array_position(mail_domains, null) is null),
  -- The limit with which an organization starts; null is no limit.
  default_gpu_limit integer default 0 check (default_gpu_limit >= 0),
  -- Shown to people who are refused.
  contact text check (contact <> ''),
  version integer not null default 1,
  updated_at timestamptz not null default clock_timestamp()
);
insert into site_policy default values;
alter table site_policy enable row level security;
create policy platform_only on site_policy using (gpuaas_tenant() = '*');
grant select, update on site_policy to gpuaas_app;

-- An organization without a row had no limit. Existing ones keep that, now as a row that says so; from here on the row is
-- part of the organization.
insert into quotas (organization_id) select id from organizations on conflict do nothing;

-- With the rights of the owner: the row must be found whatever the scope of the transaction is at its end.
create function organization_needs_gpu_limit() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if not exists (select from quotas where organization_id = new.id and project_id = '') then
    raise exception 'organization % has no GPU limit', new.id using errcode = '23514', constraint = 'organization_has_gpu_limit';
  end if;
  return null;
end $$;
create constraint trigger organization_has_gpu_limit after insert on organizations
  deferrable initially deferred for each row execute function organization_needs_gpu_limit();

-- Signed in at the issuer, and not approved yet.
alter table users drop constraint users_state_check,
  add constraint users_state_check check (state in ('active', 'disabled', 'pending')),
  -- The groups of the newest token; null for none.
  add column groups text[],
  -- When that token was issued: an older one must not bring back a group that has ended.
  add column groups_at timestamptz;

create table sign_up_requests (
  id text primary key check (id like 'sur\_%'),
  user_id text not null unique references users,
  state text not null default 'pending' check (state in ('pending', 'approved', 'rejected')),
  reason text,
  -- Null where the policy admitted the person later.
  decided_by text references users,
  decided_at timestamptz,
  created_at timestamptz not null default now(),
  check ((state = 'pending') = (decided_at is null) and (state <> 'pending' or decided_by is null)),
  check (state <> 'rejected' or reason is not null)
);
create index sign_up_requests_by_state on sign_up_requests (state, id);
alter table sign_up_requests enable row level security;
create policy scope on sign_up_requests using (gpuaas_tenant() = '*' or user_id = gpuaas_principal())
  with check (gpuaas_tenant() = '*');
grant select, insert, update on sign_up_requests to gpuaas_app;

create table quota_requests (
  id text primary key check (id like 'qrq\_%'),
  organization_id text not null references organizations,
  -- '' for the whole organization, as in quotas.
  project_id text not null default '',
  project_key text generated always as (nullif(project_id, '')) stored,
  gpu_limit integer not null check (gpu_limit > 0),
  reason text not null check (reason <> ''),
  state text not null default 'open' check (state in ('open', 'approved', 'rejected', 'withdrawn')),
  granted_gpu_limit integer check (granted_gpu_limit >= 0),
  decision_reason text,
  requested_by text not null references users,
  decided_by text references users,
  decided_at timestamptz,
  created_at timestamptz not null default now(),
  foreign key (project_key, organization_id) references projects (id, organization_id),
  check ((state in ('approved', 'rejected')) = (decided_by is not null)),
  check ((state = 'open') = (decided_at is null)),
  check ((state = 'approved') = (granted_gpu_limit is not null)),
  check (state <> 'rejected' or decision_reason is not null)
);
-- Two requests for one limit at once would be decided against each other.
create unique index quota_requests_one_open on quota_requests (organization_id, project_id) where state = 'open';
create index quota_requests_by_organization on quota_requests (organization_id, id);
create index quota_requests_by_state on quota_requests (state, id);
alter table quota_requests enable row level security;
create policy scope on quota_requests using (gpuaas_tenant() in (organization_id, '*'));
grant select, insert, update on quota_requests to gpuaas_app;

-- Members of a group of the issuer hold this role. Owners are named by people: the end of a group must not leave an
-- organization without one.
create table group_mappings (
  id text primary key check (id like 'grm\_%'),
  group_name text not null check (group_name <> ''),
  organization_id text not null references organizations,
  -- '' for a role in the organization.
  project_id text not null default '',
  project_key text generated always as (nullif(project_id, '')) stored,
  role text not null check (role in ('admin', 'member', 'viewer')),
  created_at timestamptz not null default now(),
  unique (group_name, organization_id, project_id),
  foreign key (project_key, organization_id) references projects (id, organization_id)
);
alter table group_mappings enable row level security;
create policy platform_only on group_mappings using (gpuaas_tenant() = '*');
grant select, insert, delete on group_mappings to gpuaas_app;

create index invitations_pending_by_email on invitations (lower(email)) where state = 'pending';

-- A membership by a group ends with the group; one that a person gave stays.
alter table tenant_memberships add column source text not null default 'manual' check (source in ('manual', 'group'));
alter table project_memberships add column source text not null default 'manual' check (source in ('manual', 'group'));
create index tenant_memberships_by_group on tenant_memberships (user_id) where source = 'group';
