-- What limits count: who created an organization, and indexes by organization.
alter table organizations add column created_by text references users (id);
update organizations o set created_by = (
  select m.user_id from tenant_memberships m where m.organization_id = o.id and m.role = 'owner'
  order by m.created_at, m.user_id limit 1);

create index organizations_by_creator on organizations (created_by) where created_by is not null;
create index service_accounts_by_organization on service_accounts (organization_id) where deleted_at is null;
create index api_tokens_by_organization on api_tokens (organization_id) where organization_id is not null and revoked_at is null;
create index terminal_sessions_by_organization on terminal_sessions (organization_id) where closed_at is null;
create index terminal_sessions_recorded on terminal_sessions (organization_id) where is_recorded;
