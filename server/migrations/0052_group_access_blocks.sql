-- A member by a group whom an owner or admin removed. The group does not bring the membership back: a person does, by an
-- accepted invitation, or for a project by adding the member.
create table group_access_blocks (
  organization_id text not null references organizations,
  -- '' for the organization and all its projects.
  project_id text not null default '',
  project_key text generated always as (nullif(project_id, '')) stored,
  user_id text not null references users,
  created_at timestamptz not null default now(),
  primary key (user_id, organization_id, project_id),
  foreign key (project_key, organization_id) references projects (id, organization_id)
);
alter table group_access_blocks enable row level security;
create policy scope on group_access_blocks using (gpuaas_tenant() in (organization_id, '*'));
grant select, insert, delete on group_access_blocks to gpuaas_app;
