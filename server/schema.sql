-- Written by `make gen` from a freshly migrated database; do not edit. Change the schema with a new migration.

CREATE OR REPLACE FUNCTION gpuaas_principal()
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN COALESCE(current_setting('gpuaas.principal_id'::text, true), ''::text);

CREATE OR REPLACE FUNCTION gpuaas_tenant()
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN COALESCE(current_setting('gpuaas.tenant_id'::text, true), ''::text);

CREATE OR REPLACE FUNCTION refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
end $function$;

create table organizations (
  id text not null,
  name text not null,
  display_name text not null,
  kind text not null,
  version integer default 1 not null,
  created_at timestamp with time zone default now() not null,
  constraint organizations_pkey PRIMARY KEY (id),
  constraint organizations_name_key UNIQUE (name),
  constraint organizations_display_name_check CHECK (display_name <> ''::text),
  constraint organizations_id_check CHECK (id ~~ 'org\_%'::text),
  constraint organizations_kind_check CHECK (kind = ANY (ARRAY['personal'::text, 'enterprise'::text])),
  constraint organizations_name_check CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text)
);
grant insert, select, update on organizations to gpuaas_app;

create table projects (
  id text not null,
  organization_id text not null,
  name text not null,
  display_name text not null,
  version integer default 1 not null,
  created_at timestamp with time zone default now() not null,
  deleted_at timestamp with time zone,
  constraint projects_pkey PRIMARY KEY (id),
  constraint projects_id_organization_id_key UNIQUE (id, organization_id),
  constraint projects_display_name_check CHECK (display_name <> ''::text),
  constraint projects_id_check CHECK (id ~~ 'prj\_%'::text),
  constraint projects_name_check CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text),
  constraint projects_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id)
);
CREATE UNIQUE INDEX projects_name ON projects USING btree (organization_id, name) WHERE (deleted_at IS NULL);
grant insert, select, update on projects to gpuaas_app;

create table service_accounts (
  id text not null,
  organization_id text not null,
  project_id text not null,
  name text not null,
  description text,
  state text default 'enabled'::text not null,
  secret_hash bytea not null,
  previous_secret_hash bytea,
  previous_secret_until timestamp with time zone,
  secret_rotated_at timestamp with time zone default now() not null,
  last_used_at timestamp with time zone,
  version integer default 1 not null,
  created_at timestamp with time zone default now() not null,
  deleted_at timestamp with time zone,
  constraint service_accounts_pkey PRIMARY KEY (id),
  constraint service_accounts_id_organization_id_project_id_key UNIQUE (id, organization_id, project_id),
  constraint service_accounts_check CHECK ((previous_secret_hash IS NULL) = (previous_secret_until IS NULL)),
  constraint service_accounts_id_check CHECK (id ~~ 'sva\_%'::text),
  constraint service_accounts_name_check CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text),
  constraint service_accounts_previous_secret_hash_check CHECK (octet_length(previous_secret_hash) = 32),
  constraint service_accounts_secret_hash_check CHECK (octet_length(secret_hash) = 32),
  constraint service_accounts_state_check CHECK (state = ANY (ARRAY['enabled'::text, 'disabled'::text])),
  constraint service_accounts_project_id_organization_id_fkey FOREIGN KEY (project_id, organization_id) REFERENCES projects(id, organization_id)
);
CREATE UNIQUE INDEX service_accounts_name ON service_accounts USING btree (project_id, name) WHERE (deleted_at IS NULL);
grant insert, select, update on service_accounts to gpuaas_app;

create table users (
  id text not null,
  issuer text not null,
  subject text not null,
  name text not null,
  email text,
  email_verified boolean default false not null,
  platform_role text,
  state text default 'active'::text not null,
  version integer default 1 not null,
  last_seen_at timestamp with time zone,
  created_at timestamp with time zone default now() not null,
  constraint users_pkey PRIMARY KEY (id),
  constraint users_issuer_subject_key UNIQUE (issuer, subject),
  constraint users_id_check CHECK (id ~~ 'usr\_%'::text),
  constraint users_name_check CHECK (name <> ''::text),
  constraint users_platform_role_check CHECK (platform_role = ANY (ARRAY['superadmin'::text, 'ops'::text])),
  constraint users_state_check CHECK (state = ANY (ARRAY['active'::text, 'disabled'::text]))
);
CREATE INDEX users_by_email ON users USING btree (lower(email));
grant insert, select, update on users to gpuaas_app;

create table api_tokens (
  id text not null,
  kind text not null,
  user_id text,
  service_account_id text,
  organization_id text,
  project_id text,
  name text not null,
  token_prefix text not null,
  token_hash bytea not null,
  scopes text[] not null,
  expires_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  created_at timestamp with time zone default now() not null,
  constraint api_tokens_pkey PRIMARY KEY (id),
  constraint api_tokens_token_hash_key UNIQUE (token_hash),
  constraint api_tokens_check CHECK ((kind = 'personal'::text) = (user_id IS NOT NULL)),
  constraint api_tokens_check1 CHECK ((kind = 'personal'::text) = (service_account_id IS NULL)),
  constraint api_tokens_check2 CHECK (service_account_id IS NULL OR organization_id IS NOT NULL AND project_id IS NOT NULL),
  constraint api_tokens_id_check CHECK (id ~~ 'tok\_%'::text),
  constraint api_tokens_kind_check CHECK (kind = ANY (ARRAY['personal'::text, 'service_account'::text, 'access'::text])),
  constraint api_tokens_name_check CHECK (name <> ''::text),
  constraint api_tokens_scopes_check CHECK (cardinality(scopes) > 0),
  constraint api_tokens_token_hash_check CHECK (octet_length(token_hash) = 32),
  constraint api_tokens_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint api_tokens_service_account_id_organization_id_project_id_fkey FOREIGN KEY (service_account_id, organization_id, project_id) REFERENCES service_accounts(id, organization_id, project_id),
  constraint api_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX api_tokens_access_expiry ON api_tokens USING btree (expires_at) WHERE (kind = 'access'::text);
CREATE INDEX api_tokens_by_service_account ON api_tokens USING btree (service_account_id, id) WHERE (service_account_id IS NOT NULL);
CREATE INDEX api_tokens_by_user ON api_tokens USING btree (user_id, id) WHERE (user_id IS NOT NULL);
grant delete, insert, select, update on api_tokens to gpuaas_app;

create table audit_chains (
  chain text not null,
  sequence bigint not null,
  hash bytea not null,
  sealed_at timestamp with time zone default clock_timestamp() not null,
  headed_sequence bigint default 0 not null,
  constraint audit_chains_pkey PRIMARY KEY (chain),
  constraint audit_chains_check CHECK (headed_sequence <= sequence),
  constraint audit_chains_hash_check CHECK (octet_length(hash) = 32),
  constraint audit_chains_sequence_check CHECK (sequence > 0)
);
CREATE INDEX audit_chains_unheaded ON audit_chains USING btree (chain) WHERE (headed_sequence < sequence);
grant insert, select, update on audit_chains to gpuaas_app;

create table audit_logs (
  id text not null,
  xid xid8 default pg_current_xact_id() not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  organization_id text,
  project_id text,
  actor_kind text not null,
  actor_id text,
  actor_role text,
  source_ip text,
  user_agent text,
  action text not null,
  target_kind text,
  target_id text,
  result text not null,
  error_code text,
  policy text not null,
  correlation_id text not null,
  metadata jsonb default '{}'::jsonb not null,
  constraint audit_logs_pkey PRIMARY KEY (id),
  constraint audit_logs_actor_kind_check CHECK (actor_kind = ANY (ARRAY['user'::text, 'service_account'::text, 'system'::text, 'anonymous'::text])),
  constraint audit_logs_id_check CHECK (id ~~ 'aud\_%'::text),
  constraint audit_logs_result_check CHECK (result = ANY (ARRAY['success'::text, 'failure'::text, 'denied'::text]))
);
CREATE INDEX audit_logs_by_correlation ON audit_logs USING btree (correlation_id);
CREATE INDEX audit_logs_by_organization ON audit_logs USING btree (organization_id, id);
CREATE INDEX audit_logs_in_commit_order ON audit_logs USING btree (xid, id);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_logs FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
grant insert, select on audit_logs to gpuaas_app;

create table audit_sealer (
  singleton boolean default true not null,
  sealed_xid xid8 default '0'::xid8 not null,
  sealed_id text default ''::text not null,
  heads_line bigint default 0 not null,
  heads_hash bytea default decode(repeat('00'::text, 32), 'hex'::text) not null,
  constraint audit_sealer_pkey PRIMARY KEY (singleton),
  constraint audit_sealer_heads_hash_check CHECK (octet_length(heads_hash) = 32),
  constraint audit_sealer_singleton_check CHECK (singleton)
);
grant select, update on audit_sealer to gpuaas_app;

create table audit_seals (
  chain text not null,
  sequence bigint not null,
  audit_log_id text not null,
  hash bytea not null,
  sealed_at timestamp with time zone default clock_timestamp() not null,
  constraint audit_seals_pkey PRIMARY KEY (chain, sequence),
  constraint audit_seals_audit_log_id_key UNIQUE (audit_log_id),
  constraint audit_seals_hash_check CHECK (octet_length(hash) = 32),
  constraint audit_seals_sequence_check CHECK (sequence > 0)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_seals FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
grant insert, select on audit_seals to gpuaas_app;

create table idempotency_keys (
  tenant text not null,
  principal_id text not null,
  operation text not null,
  key text not null,
  request_hash bytea not null,
  status integer not null,
  response bytea not null,
  response_sealed boolean not null,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone default (now() + '48:00:00'::interval) not null,
  constraint idempotency_keys_pkey PRIMARY KEY (tenant, principal_id, operation, key),
  constraint idempotency_keys_request_hash_check CHECK (octet_length(request_hash) = 32)
);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys USING btree (expires_at);
grant delete, insert, select, update on idempotency_keys to gpuaas_app;

create table invitations (
  id text not null,
  organization_id text not null,
  email text not null,
  role text not null,
  token_hash bytea not null,
  state text default 'pending'::text not null,
  invited_by text not null,
  expires_at timestamp with time zone not null,
  accepted_at timestamp with time zone,
  accepted_by text,
  created_at timestamp with time zone default now() not null,
  constraint invitations_pkey PRIMARY KEY (id),
  constraint invitations_token_hash_key UNIQUE (token_hash),
  constraint invitations_check CHECK ((state = 'accepted'::text) = (accepted_at IS NOT NULL AND accepted_by IS NOT NULL)),
  constraint invitations_id_check CHECK (id ~~ 'inv\_%'::text),
  constraint invitations_role_check CHECK (role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text, 'viewer'::text])),
  constraint invitations_state_check CHECK (state = ANY (ARRAY['pending'::text, 'accepted'::text, 'revoked'::text])),
  constraint invitations_token_hash_check CHECK (octet_length(token_hash) = 32),
  constraint invitations_accepted_by_fkey FOREIGN KEY (accepted_by) REFERENCES users(id),
  constraint invitations_invited_by_fkey FOREIGN KEY (invited_by) REFERENCES users(id),
  constraint invitations_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id)
);
CREATE INDEX invitations_by_organization ON invitations USING btree (organization_id, id);
grant insert, select, update on invitations to gpuaas_app;

create table oidc_records (
  model text not null,
  id_hash bytea not null,
  grant_hash bytea,
  uid_hash bytea,
  user_code_hash bytea,
  sealed_payload bytea not null,
  consumed_at timestamp with time zone,
  expires_at timestamp with time zone not null,
  constraint oidc_records_pkey PRIMARY KEY (model, id_hash),
  constraint oidc_records_id_hash_check CHECK (octet_length(id_hash) = 32)
);
CREATE INDEX oidc_records_by_grant ON oidc_records USING btree (grant_hash) WHERE (grant_hash IS NOT NULL);
CREATE INDEX oidc_records_by_uid ON oidc_records USING btree (uid_hash) WHERE (uid_hash IS NOT NULL);
CREATE UNIQUE INDEX oidc_records_by_user_code ON oidc_records USING btree (user_code_hash) WHERE (user_code_hash IS NOT NULL);
CREATE INDEX oidc_records_expiry ON oidc_records USING btree (expires_at);
grant delete, insert, select, update on oidc_records to gpuaas_app;

create table oidc_signing_keys (
  kid text not null,
  algorithm text not null,
  sealed_jwk bytea not null,
  created_at timestamp with time zone default now() not null,
  retired_at timestamp with time zone,
  constraint oidc_signing_keys_pkey PRIMARY KEY (kid),
  constraint oidc_signing_keys_algorithm_check CHECK (algorithm = 'RS256'::text)
);
CREATE UNIQUE INDEX oidc_signing_keys_active ON oidc_signing_keys USING btree ((true)) WHERE (retired_at IS NULL);
grant delete, insert, select, update on oidc_signing_keys to gpuaas_app;

create table os_images (
  name text not null,
  display_name text not null,
  os_family text not null,
  os_version text not null,
  digest text not null,
  size_bytes bigint not null,
  driver_strategy text not null,
  enabled boolean default true not null,
  constraint os_images_pkey PRIMARY KEY (name),
  constraint os_images_digest_check CHECK (digest ~ '^sha256:[0-9a-f]{64}$'::text),
  constraint os_images_driver_strategy_check CHECK (driver_strategy = ANY (ARRAY['preinstalled'::text, 'cloud_init'::text, 'none'::text])),
  constraint os_images_name_check CHECK (name ~ '^[a-z0-9][a-z0-9.-]{0,62}$'::text),
  constraint os_images_size_bytes_check CHECK (size_bytes > 0)
);
grant insert, select on os_images to gpuaas_app;

create table sku_catalog (
  name text not null,
  display_name text not null,
  vendor text not null,
  gpu_model text not null,
  capacity_shape text not null,
  gpus_per_node integer not null,
  allowed_gpu_counts integer[] not null,
  gpu_hourly_price_minor bigint not null,
  currency text not null,
  enabled boolean default true not null,
  disabled_reason text,
  version integer default 1 not null,
  constraint sku_catalog_pkey PRIMARY KEY (name),
  constraint sku_catalog_allowed_gpu_counts_check CHECK (cardinality(allowed_gpu_counts) > 0),
  constraint sku_catalog_capacity_shape_check CHECK (capacity_shape = ANY (ARRAY['baremetal'::text, 'gpu_slice'::text])),
  constraint sku_catalog_check CHECK (enabled = (disabled_reason IS NULL)),
  constraint sku_catalog_check1 CHECK (capacity_shape <> 'baremetal'::text OR allowed_gpu_counts = ARRAY[gpus_per_node]),
  constraint sku_catalog_currency_check CHECK (currency ~ '^[A-Z]{3}$'::text),
  constraint sku_catalog_gpu_hourly_price_minor_check CHECK (gpu_hourly_price_minor >= 0),
  constraint sku_catalog_gpus_per_node_check CHECK (gpus_per_node >= 1 AND gpus_per_node <= 64),
  constraint sku_catalog_name_check CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text)
);
grant insert, select, update on sku_catalog to gpuaas_app;

create table os_image_skus (
  image_name text not null,
  sku_name text not null,
  constraint os_image_skus_pkey PRIMARY KEY (image_name, sku_name),
  constraint os_image_skus_image_name_fkey FOREIGN KEY (image_name) REFERENCES os_images(name),
  constraint os_image_skus_sku_name_fkey FOREIGN KEY (sku_name) REFERENCES sku_catalog(name)
);
grant insert, select on os_image_skus to gpuaas_app;

create table outbox_events (
  id text not null,
  xid xid8 default pg_current_xact_id() not null,
  event_type text not null,
  organization_id text,
  project_id text,
  subject text not null,
  data jsonb not null,
  correlation_id text not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  sent_at timestamp with time zone,
  attempt_count integer default 0 not null,
  last_error text,
  constraint outbox_events_pkey PRIMARY KEY (id),
  constraint outbox_events_id_check CHECK (id ~~ 'evt\_%'::text)
);
CREATE INDEX outbox_events_by_age ON outbox_events USING btree (created_at);
CREATE INDEX outbox_events_by_project ON outbox_events USING btree (project_id, xid, id) WHERE (project_id IS NOT NULL);
CREATE INDEX outbox_events_unsent ON outbox_events USING btree (xid, id) WHERE (sent_at IS NULL);
grant delete, insert, select, update on outbox_events to gpuaas_app;

create table tenant_memberships (
  organization_id text not null,
  user_id text not null,
  role text not null,
  version integer default 1 not null,
  created_at timestamp with time zone default now() not null,
  constraint tenant_memberships_pkey PRIMARY KEY (organization_id, user_id),
  constraint tenant_memberships_role_check CHECK (role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text, 'viewer'::text])),
  constraint tenant_memberships_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint tenant_memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX tenant_memberships_by_user ON tenant_memberships USING btree (user_id);
grant delete, insert, select, update on tenant_memberships to gpuaas_app;

create table project_memberships (
  project_id text not null,
  organization_id text not null,
  user_id text not null,
  role text not null,
  created_at timestamp with time zone default now() not null,
  constraint project_memberships_pkey PRIMARY KEY (project_id, user_id),
  constraint project_memberships_role_check CHECK (role = ANY (ARRAY['admin'::text, 'member'::text, 'viewer'::text])),
  constraint project_memberships_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES tenant_memberships(organization_id, user_id) ON DELETE CASCADE,
  constraint project_memberships_project_id_organization_id_fkey FOREIGN KEY (project_id, organization_id) REFERENCES projects(id, organization_id)
);
CREATE INDEX project_memberships_by_member ON project_memberships USING btree (organization_id, user_id);
CREATE INDEX project_memberships_by_user ON project_memberships USING btree (user_id);
grant delete, insert, select, update on project_memberships to gpuaas_app;

create table regions (
  name text not null,
  display_name text not null,
  enabled boolean default false not null,
  disabled_reason text,
  version integer default 1 not null,
  constraint regions_pkey PRIMARY KEY (name),
  constraint regions_check CHECK (enabled = (disabled_reason IS NULL)),
  constraint regions_name_check CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text)
);
grant insert, select, update on regions to gpuaas_app;

create table schema_migrations (
  name text not null,
  sha256 text not null,
  applied_at timestamp with time zone default now() not null,
  constraint schema_migrations_pkey PRIMARY KEY (name)
);
grant select on schema_migrations to gpuaas_app;

create table sku_vm_profiles (
  name text not null,
  sku_name text not null,
  gpu_count integer not null,
  vcpu_count integer not null,
  memory_mib integer not null,
  is_default boolean default false not null,
  constraint sku_vm_profiles_pkey PRIMARY KEY (name),
  constraint sku_vm_profiles_gpu_count_check CHECK (gpu_count > 0),
  constraint sku_vm_profiles_memory_mib_check CHECK (memory_mib > 0),
  constraint sku_vm_profiles_name_check CHECK (name ~ '^[a-z0-9_]{1,64}$'::text),
  constraint sku_vm_profiles_vcpu_count_check CHECK (vcpu_count > 0),
  constraint sku_vm_profiles_sku_name_fkey FOREIGN KEY (sku_name) REFERENCES sku_catalog(name)
);
CREATE UNIQUE INDEX sku_vm_profiles_default ON sku_vm_profiles USING btree (sku_name, gpu_count) WHERE is_default;
grant insert, select on sku_vm_profiles to gpuaas_app;

create table ssh_keys (
  id text not null,
  user_id text not null,
  name text not null,
  algorithm text not null,
  public_key text not null,
  fingerprint text not null,
  last_used_at timestamp with time zone,
  created_at timestamp with time zone default now() not null,
  constraint ssh_keys_pkey PRIMARY KEY (id),
  constraint ssh_keys_user_id_fingerprint_key UNIQUE (user_id, fingerprint),
  constraint ssh_keys_user_id_name_key UNIQUE (user_id, name),
  constraint ssh_keys_fingerprint_check CHECK (fingerprint ~~ 'SHA256:%'::text),
  constraint ssh_keys_id_check CHECK (id ~~ 'key\_%'::text),
  constraint ssh_keys_name_check CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text),
  constraint ssh_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
grant delete, insert, select, update on ssh_keys to gpuaas_app;

create table workflow_runs (
  id text not null,
  workflow text not null,
  workflow_version integer not null,
  subject_id text not null,
  organization_id text,
  project_id text,
  correlation_id text not null,
  steps text[] not null,
  step text not null,
  state text default 'pending'::text not null,
  state_reason text,
  state_detail text,
  state_since timestamp with time zone default clock_timestamp() not null,
  attempt integer default 0 not null,
  attempt_started_at timestamp with time zone,
  due_at timestamp with time zone default clock_timestamp() not null,
  wake_at timestamp with time zone,
  waiting_for text,
  signal_deadline_at timestamp with time zone,
  signals_pending integer default 0 not null,
  deadline_ms bigint not null,
  deadline_at timestamp with time zone not null,
  winding text,
  cancel_requested_at timestamp with time zone,
  cancel_reason text,
  lease_number bigint default 0 not null,
  lease_owner text,
  lease_until timestamp with time zone,
  step_count integer default 0 not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  finished_at timestamp with time zone,
  constraint workflow_runs_pkey PRIMARY KEY (id),
  constraint workflow_runs_attempt_check CHECK (attempt >= 0),
  constraint workflow_runs_check CHECK (step = ANY (steps)),
  constraint workflow_runs_check1 CHECK ((state = 'running'::text) = (lease_owner IS NOT NULL)),
  constraint workflow_runs_check2 CHECK ((state = 'running'::text) = (lease_until IS NOT NULL)),
  constraint workflow_runs_check3 CHECK ((state = ANY (ARRAY['done'::text, 'stuck'::text, 'cancelled'::text])) = (finished_at IS NOT NULL)),
  constraint workflow_runs_check4 CHECK ((waiting_for IS NULL) = (signal_deadline_at IS NULL)),
  constraint workflow_runs_check5 CHECK (state <> 'stuck'::text OR state_reason IS NOT NULL),
  constraint workflow_runs_check6 CHECK (project_id IS NULL OR organization_id IS NOT NULL),
  constraint workflow_runs_deadline_ms_check CHECK (deadline_ms > 0),
  constraint workflow_runs_id_check CHECK (id ~~ 'wfr\_%'::text),
  constraint workflow_runs_signals_pending_check CHECK (signals_pending >= 0),
  constraint workflow_runs_state_check CHECK (state = ANY (ARRAY['pending'::text, 'running'::text, 'waiting'::text, 'done'::text, 'stuck'::text, 'cancelled'::text])),
  constraint workflow_runs_steps_check CHECK (cardinality(steps) > 0),
  constraint workflow_runs_subject_id_check CHECK (subject_id ~ '^[A-Za-z0-9_.-]{1,64}$'::text),
  constraint workflow_runs_winding_check CHECK (winding = ANY (ARRAY['cancel'::text, 'deadline'::text, 'failure'::text])),
  constraint workflow_runs_workflow_check CHECK (workflow ~ '^[a-z0-9-]{1,64}$'::text),
  constraint workflow_runs_workflow_version_check CHECK (workflow_version > 0),
  constraint workflow_runs_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint workflow_runs_project_id_organization_id_fkey FOREIGN KEY (project_id, organization_id) REFERENCES projects(id, organization_id)
);
CREATE INDEX workflow_runs_by_correlation ON workflow_runs USING btree (correlation_id, id);
CREATE INDEX workflow_runs_by_organization ON workflow_runs USING btree (organization_id, id) WHERE (organization_id IS NOT NULL);
CREATE INDEX workflow_runs_by_project ON workflow_runs USING btree (project_id, id) WHERE (project_id IS NOT NULL);
CREATE INDEX workflow_runs_by_subject ON workflow_runs USING btree (subject_id, id);
CREATE INDEX workflow_runs_deadline ON workflow_runs USING btree (deadline_at) WHERE (state = ANY (ARRAY['pending'::text, 'running'::text, 'waiting'::text]));
CREATE INDEX workflow_runs_due ON workflow_runs USING btree (workflow, workflow_version, due_at) WHERE (state = ANY (ARRAY['pending'::text, 'running'::text, 'waiting'::text]));
CREATE UNIQUE INDEX workflow_runs_live ON workflow_runs USING btree (workflow, subject_id) WHERE (state = ANY (ARRAY['pending'::text, 'running'::text, 'waiting'::text]));
CREATE INDEX workflow_runs_stuck ON workflow_runs USING btree (id) WHERE (state = 'stuck'::text);
grant insert, select, update on workflow_runs to gpuaas_app;

create table workflow_signals (
  id bigint generated always as identity,
  run_id text not null,
  organization_id text,
  name text not null,
  payload jsonb default '{}'::jsonb not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  consumed_at timestamp with time zone,
  constraint workflow_signals_pkey PRIMARY KEY (id),
  constraint workflow_signals_name_check CHECK (name ~ '^[A-Za-z0-9_.-]{1,64}$'::text),
  constraint workflow_signals_run_id_fkey FOREIGN KEY (run_id) REFERENCES workflow_runs(id)
);
CREATE INDEX workflow_signals_pending ON workflow_signals USING btree (run_id, id) WHERE (consumed_at IS NULL);
grant insert, select, update on workflow_signals to gpuaas_app;

create table workflow_steps (
  run_id text not null,
  sequence integer not null,
  organization_id text,
  step text not null,
  attempt integer not null,
  outcome text not null,
  detail text,
  internal_detail text,
  started_at timestamp with time zone not null,
  finished_at timestamp with time zone not null,
  constraint workflow_steps_pkey PRIMARY KEY (run_id, sequence),
  constraint workflow_steps_outcome_check CHECK (outcome = ANY (ARRAY['next'::text, 'wait'::text, 'done'::text, 'stuck'::text, 'error'::text, 'timeout'::text, 'cancelled'::text, 'retried'::text])),
  constraint workflow_steps_sequence_check CHECK (sequence > 0),
  constraint workflow_steps_run_id_fkey FOREIGN KEY (run_id) REFERENCES workflow_runs(id)
);
grant insert, select, update on workflow_steps to gpuaas_app;

alter table api_tokens enable row level security;
create policy scope on api_tokens
  using (((gpuaas_tenant() = '*'::text) OR (user_id = gpuaas_principal()) OR ((organization_id IS NOT NULL) AND (organization_id = gpuaas_tenant()))));

alter table audit_chains enable row level security;
create policy scope on audit_chains
  using ((gpuaas_tenant() = '*'::text));

alter table audit_logs enable row level security;
create policy appendable on audit_logs for insert
  with check (true);
create policy readable on audit_logs for select
  using (((gpuaas_tenant() = '*'::text) OR (organization_id = gpuaas_tenant())));

alter table audit_seals enable row level security;
create policy appendable on audit_seals for insert
  with check ((gpuaas_tenant() = '*'::text));
create policy readable on audit_seals for select
  using (((gpuaas_tenant() = chain) OR (gpuaas_tenant() = '*'::text)));

alter table idempotency_keys enable row level security;
create policy scope on idempotency_keys
  using (((gpuaas_tenant() = '*'::text) OR (principal_id = gpuaas_principal())));

alter table invitations enable row level security;
create policy scope on invitations
  using (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table oidc_records enable row level security;
create policy platform_only on oidc_records
  using ((gpuaas_tenant() = '*'::text));

alter table oidc_signing_keys enable row level security;
create policy platform_only on oidc_signing_keys
  using ((gpuaas_tenant() = '*'::text));

alter table organizations enable row level security;
create policy scope on organizations
  using ((((gpuaas_tenant() = id) OR (gpuaas_tenant() = '*'::text)) OR (EXISTS ( SELECT
   FROM tenant_memberships m
  WHERE ((m.organization_id = organizations.id) AND (m.user_id = gpuaas_principal()))))))
  with check (((gpuaas_tenant() = id) OR (gpuaas_tenant() = '*'::text)));

alter table outbox_events enable row level security;
create policy scope on outbox_events
  using (((gpuaas_tenant() = '*'::text) OR (organization_id = gpuaas_tenant())))
  with check (true);

alter table project_memberships enable row level security;
create policy scope on project_memberships
  using ((((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)) OR (user_id = gpuaas_principal())))
  with check (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table projects enable row level security;
create policy scope on projects
  using ((((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)) OR (EXISTS ( SELECT
   FROM tenant_memberships m
  WHERE ((m.organization_id = projects.organization_id) AND (m.user_id = gpuaas_principal()))))))
  with check (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table service_accounts enable row level security;
create policy scope on service_accounts
  using ((((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)) OR (id = gpuaas_principal())))
  with check (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table ssh_keys enable row level security;
create policy scope on ssh_keys
  using (((gpuaas_tenant() = '*'::text) OR (user_id = gpuaas_principal())));

alter table tenant_memberships enable row level security;
create policy scope on tenant_memberships
  using ((((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)) OR (user_id = gpuaas_principal())))
  with check (((gpuaas_tenant() = organization_id) OR (gpuaas_tenant() = '*'::text)));

alter table users enable row level security;
create policy scope on users
  using (((gpuaas_tenant() = '*'::text) OR (id = gpuaas_principal()) OR (EXISTS ( SELECT
   FROM tenant_memberships m
  WHERE ((m.user_id = users.id) AND (m.organization_id = gpuaas_tenant()))))))
  with check (((gpuaas_tenant() = '*'::text) OR (id = gpuaas_principal())));

alter table workflow_runs enable row level security;
create policy scope on workflow_runs
  using (((gpuaas_tenant() = '*'::text) OR (organization_id = gpuaas_tenant())));

alter table workflow_signals enable row level security;
create policy scope on workflow_signals
  using (((gpuaas_tenant() = '*'::text) OR (organization_id = gpuaas_tenant())));

alter table workflow_steps enable row level security;
create policy scope on workflow_steps
  using (((gpuaas_tenant() = '*'::text) OR (organization_id = gpuaas_tenant())));
