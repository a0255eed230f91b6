-- Backups of the database, as the job that makes them records them. Only the record is here: a backup that is missing
-- or late is noticed by comparing the newest one with the time.
create table backups (
  id text primary key check (id like 'bkp\_%'),
  taken_at timestamptz not null,
  location text not null check (location <> ''),
  size_bytes bigint check (size_bytes >= 0),
  recorded_at timestamptz not null default clock_timestamp(),
  recorded_by text not null,
  correlation_id text not null,
  unique (taken_at, location)
);
create index backups_newest on backups (taken_at desc, id desc);
alter table backups enable row level security;
create policy platform_only on backups using (gpuaas_tenant() = '*');
grant select, insert on backups to gpuaas_app;
