-- Who there is: organizations (tenants), projects, users, memberships, machines and their credentials.
--
-- Row-level security is the second wall behind the query layer. Two settings, local to the transaction, carry the
-- caller: gpuaas.tenant_id (an organization, or '*' for the platform's own work) and gpuaas.principal_id.
-- The application connects as gpuaas_app, which owns nothing.

create function gpuaas_tenant() returns text language sql stable parallel safe
  return coalesce(current_setting('gpuaas.tenant_id', true), '');
create function gpuaas_principal() returns text language sql stable parallel safe
  return coalesce(current_setting('gpuaas.principal_id', true), '');

create table organizations (
  id text primary key check (id like 'org\_%'),
  name text not null unique check (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  display_name text not null check (display_name <> ''),
  kind text not null check (kind in ('personal', 'enterprise')),
  version integer not null default 1,
  created_at timestamptz not null default now()
);

create table users (
  id text primary key check (id like 'usr\_%'),
  issuer text not null,
  subject text not null,
  name text not null check (name <> ''),
  email text,
  email_verified boolean not null default false,
  platform_role text check (platform_role in ('superadmin', 'ops')),
  state text not null default 'active' check (state in ('active', 'disabled')),
  version integer not null default 1,
  last_seen_at timestamptz,
  created_at timestamptz not null default now(),
  unique (issuer, subject)
);
create index users_by_email on users (lower(email));

create table tenant_memberships (
  organization_id text not null references organizations,
  user_id text not null references users,
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  version integer not null default 1,
  created_at timestamptz not null default now(),
  primary key (organization_id, user_id)
);
create index tenant_memberships_by_user on tenant_memberships (user_id);

create table projects (
  id text primary key check (id like 'prj\_%'),
  organization_id text not null references organizations,
  name text not null check (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  display_name text not null check (display_name <> ''),
  version integer not null default 1,
  created_at timestamptz not null default now(),
  deleted_at timestamptz,
  unique (id, organization_id)
);
create unique index projects_name on projects (organization_id, name) where deleted_at is null;

-- The second key makes a project member who is not a member of the organization impossible, and removal cascade.
create table project_memberships (
  project_id text not null,
  organization_id text not null,
  user_id text not null,
  role text not null check (role in ('admin', 'member', 'viewer')),
  created_at timestamptz not null default now(),
  primary key (project_id, user_id),
  foreign key (project_id, organization_id) references projects (id, organization_id),
  foreign key (organization_id, user_id) references tenant_memberships on delete cascade
);
create index project_memberships_by_user on project_memberships (user_id);
create index project_memberships_by_member on project_memberships (organization_id, user_id);

create table invitations (
  id text primary key check (id like 'inv\_%'),
  organization_id text not null references organizations,
  email text not null,
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  state text not null default 'pending' check (state in ('pending', 'accepted', 'revoked')),
  invited_by text not null references users,
  expires_at timestamptz not null,
  accepted_at timestamptz,
  accepted_by text references users,
  created_at timestamptz not null default now(),
  check ((state = 'accepted') = (accepted_at is not null and accepted_by is not null))
);
create index invitations_by_organization on invitations (organization_id, id);

create table service_accounts (
  id text primary key check (id like 'sva\_%'),
  organization_id text not null,
  project_id text not null,
  name text not null check (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  description text,
  state text not null default 'enabled' check (state in ('enabled', 'disabled')),
  secret_hash bytea not null check (octet_length(secret_hash) = 32),
  previous_secret_hash bytea check (octet_length(previous_secret_hash) = 32),
  previous_secret_until timestamptz,
  secret_rotated_at timestamptz not null default now(),
  last_used_at timestamptz,
  version integer not null default 1,
  created_at timestamptz not null default now(),
  deleted_at timestamptz,
  check ((previous_secret_hash is null) = (previous_secret_until is null)),
  unique (id, organization_id, project_id),
  foreign key (project_id, organization_id) references projects (id, organization_id)
);
create unique index service_accounts_name on service_accounts (project_id, name) where deleted_at is null;

-- Tokens of people (personal) and of machines (service_account: long-lived, access: one hour). Only the hash is kept.
create table api_tokens (
  id text primary key check (id like 'tok\_%'),
  kind text not null check (kind in ('personal', 'service_account', 'access')),
  user_id text references users,
  service_account_id text,
  organization_id text,
  project_id text,
  name text not null check (name <> ''),
  token_prefix text not null,
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  scopes text[] not null check (cardinality(scopes) > 0),
  expires_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default now(),
  check ((kind = 'personal') = (user_id is not null)),
  check ((kind = 'personal') = (service_account_id is null)),
  check (service_account_id is null or (organization_id is not null and project_id is not null)),
  foreign key (service_account_id, organization_id, project_id) references service_accounts (id, organization_id, project_id),
  foreign key (project_id) references projects
);
create index api_tokens_by_user on api_tokens (user_id, id) where user_id is not null;
create index api_tokens_by_service_account on api_tokens (service_account_id, id) where service_account_id is not null;
create index api_tokens_access_expiry on api_tokens (expires_at) where kind = 'access';

create table ssh_keys (
  id text primary key check (id like 'key\_%'),
  user_id text not null references users,
  name text not null check (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  algorithm text not null,
  public_key text not null,
  fingerprint text not null check (fingerprint like 'SHA256:%'),
  last_used_at timestamptz,
  created_at timestamptz not null default now(),
  unique (user_id, name),
  unique (user_id, fingerprint)
);

alter table organizations enable row level security;
alter table users enable row level security;
alter table tenant_memberships enable row level security;
alter table projects enable row level security;
alter table project_memberships enable row level security;
alter table invitations enable row level security;
alter table service_accounts enable row level security;
alter table api_tokens enable row level security;
alter table ssh_keys enable row level security;

create policy scope on organizations using (
  gpuaas_tenant() in (id, '*')
  or exists (select from tenant_memberships m where m.organization_id = organizations.id and m.user_id = gpuaas_principal()))
  with check (gpuaas_tenant() in (id, '*'));
create policy scope on users using (
  gpuaas_tenant() = '*' or id = gpuaas_principal()
  or exists (select from tenant_memberships m where m.user_id = users.id and m.organization_id = gpuaas_tenant()))
  with check (gpuaas_tenant() = '*' or id = gpuaas_principal());
create policy scope on tenant_memberships using (gpuaas_tenant() in (organization_id, '*') or user_id = gpuaas_principal())
  with check (gpuaas_tenant() in (organization_id, '*'));
create policy scope on projects using (
  gpuaas_tenant() in (organization_id, '*')
  or exists (select from tenant_memberships m where m.organization_id = projects.organization_id and m.user_id = gpuaas_principal()))
  with check (gpuaas_tenant() in (organization_id, '*'));
create policy scope on project_memberships using (gpuaas_tenant() in (organization_id, '*') or user_id = gpuaas_principal())
  with check (gpuaas_tenant() in (organization_id, '*'));
create policy scope on invitations using (gpuaas_tenant() in (organization_id, '*'));
create policy scope on service_accounts using (gpuaas_tenant() in (organization_id, '*') or id = gpuaas_principal())
  with check (gpuaas_tenant() in (organization_id, '*'));
create policy scope on api_tokens using (
  gpuaas_tenant() = '*' or user_id = gpuaas_principal() or (organization_id is not null and organization_id = gpuaas_tenant()));
create policy scope on ssh_keys using (gpuaas_tenant() = '*' or user_id = gpuaas_principal());

grant select, insert, update on organizations, users, projects, invitations, service_accounts to gpuaas_app;
grant select, insert, update, delete on tenant_memberships, project_memberships, api_tokens, ssh_keys to gpuaas_app;
