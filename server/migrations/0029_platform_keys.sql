-- Keys outside the database have versions, and every sealed value starts with the version that sealed it (two bytes).
-- Values of earlier builds were sealed with the one key there was, which is version 1 of both kinds from now on.

create function sealed_version(sealed bytea) returns integer language sql immutable strict parallel safe
  return case when octet_length(sealed) >= 2 then get_byte(sealed, 0) * 256 + get_byte(sealed, 1) else -1 end;

update trust_keys set sealed_private_key = '\x0001'::bytea || sealed_private_key;
update oidc_signing_keys set sealed_jwk = '\x0001'::bytea || sealed_jwk;
update oidc_records set sealed_payload = '\x0001'::bytea || sealed_payload;
update web_sessions set id_token_sealed = '\x0001'::bytea || id_token_sealed where id_token_sealed is not null;
update idempotency_keys set response = '\x0001'::bytea || response where response_sealed;

-- What the processes were given, and which version seals. A check value tells another key under the same number apart.
create table platform_keys (
  kind text not null check (kind in ('platform', 'trust')),
  version integer not null check (version between 1 and 65535),
  state text not null check (state in ('available', 'active', 'retiring', 'retired')),
  state_since timestamptz not null default clock_timestamp(),
  check_value bytea not null check (octet_length(check_value) = 16),
  created_at timestamptz not null default clock_timestamp(),
  primary key (kind, version)
);
create unique index platform_keys_one_active on platform_keys (kind) where state = 'active';
create unique index platform_keys_one_retiring on platform_keys (kind) where state = 'retiring';
alter table platform_keys enable row level security;
create policy platform_only on platform_keys using (gpuaas_tenant() = '*');
grant select, insert, update on platform_keys to gpuaas_app;

-- Processes that run, with the versions they hold and the one they seal with.
create table platform_key_holders (
  process_id text not null,
  kind text not null check (kind in ('platform', 'trust')),
  service text not null,
  versions integer[] not null check (cardinality(versions) > 0),
  sealing_version integer not null,
  seen_at timestamptz not null default clock_timestamp(),
  primary key (process_id, kind)
);
alter table platform_key_holders enable row level security;
create policy platform_only on platform_key_holders using (gpuaas_tenant() = '*');
grant select, insert, update, delete on platform_key_holders to gpuaas_app;

-- Random values from which other keys are derived; they stay when the platform key is rotated.
create table platform_secrets (
  name text primary key,
  sealed_secret bytea not null,
  created_at timestamptz not null default clock_timestamp()
);
alter table platform_secrets enable row level security;
create policy platform_only on platform_secrets using (gpuaas_tenant() = '*');
grant select, insert, update on platform_secrets to gpuaas_app;

-- The API asks for a signing key and never sees it: a process that holds the key for its purpose makes it.
alter table trust_keys
  alter column public_pem drop not null,
  alter column fingerprint_sha256 drop not null,
  alter column sealed_private_key drop not null,
  drop constraint trust_keys_state_check,
  add constraint trust_keys_state_check check (state in ('requested', 'staged', 'active', 'grace', 'retired', 'revoked')),
  add constraint trust_keys_made check (
    (state = 'requested') = (sealed_private_key is null)
    and (sealed_private_key is null) = (public_pem is null)
    and (sealed_private_key is null) = (fingerprint_sha256 is null));

-- Certificates that a gateway asks for: it has no key that signs.
create table listener_requests (
  id text primary key,
  names text[] not null check (cardinality(names) between 1 and 100),
  csr_pem text not null check (octet_length(csr_pem) <= 8192),
  created_at timestamptz not null default clock_timestamp(),
  answered_at timestamptz,
  certificate_pem text,
  ca_key_id text references trust_keys,
  refusal text,
  check ((answered_at is null) = (certificate_pem is null and refusal is null)),
  check ((certificate_pem is null) = (ca_key_id is null))
);
create index listener_requests_open on listener_requests (created_at) where answered_at is null;
create index listener_requests_by_age on listener_requests (created_at);
alter table listener_requests enable row level security;
create policy platform_only on listener_requests using (gpuaas_tenant() = '*');
grant select, insert, update, delete on listener_requests to gpuaas_app;
