-- State of the embedded OpenID Connect issuer, which only laptops run. Several replicas share it.
--
-- Codes, sessions and refresh tokens are bearer secrets: a row is found by a keyed hash of its identifier and its
-- content is sealed, so that a copy of the database lets nobody sign in.

create table oidc_signing_keys (
  kid text primary key,
  algorithm text not null check (algorithm in ('RS256')),
  sealed_jwk bytea not null,
  created_at timestamptz not null default now(),
  retired_at timestamptz
);
-- One key signs; retired ones stay published so that tokens they signed still verify.
create unique index oidc_signing_keys_active on oidc_signing_keys ((true)) where retired_at is null;

create table oidc_records (
  model text not null,
  id_hash bytea not null check (octet_length(id_hash) = 32),
  grant_hash bytea,
  uid_hash bytea,
  user_code_hash bytea,
  sealed_payload bytea not null,
  consumed_at timestamptz,
  expires_at timestamptz not null,
  primary key (model, id_hash)
);
create index oidc_records_by_grant on oidc_records (grant_hash) where grant_hash is not null;
-- Two tabs may renew one session at once, so its uid may stand twice for a while.
create index oidc_records_by_uid on oidc_records (uid_hash) where uid_hash is not null;
create unique index oidc_records_by_user_code on oidc_records (user_code_hash) where user_code_hash is not null;
create index oidc_records_expiry on oidc_records (expires_at);

alter table oidc_signing_keys enable row level security;
alter table oidc_records enable row level security;
create policy platform_only on oidc_signing_keys using (gpuaas_tenant() = '*');
create policy platform_only on oidc_records using (gpuaas_tenant() = '*');

grant select, insert, update, delete on oidc_signing_keys, oidc_records to gpuaas_app;
