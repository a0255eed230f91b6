-- What tenants give to their guests and what terminals showed may hold secrets: both are sealed, bound to the allocation
-- or to the session. A value in the clear of an earlier build gets version 0, which opens nowhere; the worker seals it.

alter table allocation_user_data add column sealed_user_data bytea;
update allocation_user_data set sealed_user_data = '\x0000'::bytea || convert_to(user_data, 'UTF8');
alter table allocation_user_data drop column user_data,
  alter column sealed_user_data set not null,
  add check (octet_length(sealed_user_data) between 3 and 65536 + 30);

alter table allocation_installs add column sealed_user_data bytea
  check (octet_length(sealed_user_data) between 3 and 65536 + 30);
update allocation_installs set sealed_user_data = '\x0000'::bytea || convert_to(user_data, 'UTF8') where user_data is not null;
alter table allocation_installs drop column user_data;

-- Beside the params of the task, which keep null in its place.
alter table node_tasks add column sealed_user_data bytea check (sealed_user_data is null or allocation_id is not null);
update node_tasks set sealed_user_data = '\x0000'::bytea || convert_to(params ->> 'user_data', 'UTF8'),
  params = case kind when 'slice.image_clone' then params - 'user_data' else params || '{"user_data": null}' end
where params ->> 'user_data' is not null;
create or replace function clone_forgets_user_data() returns trigger language plpgsql as $$
begin
  new.sealed_user_data := null;
  return new;
end $$;

alter table terminal_recordings rename column content to sealed_content;
update terminal_recordings set sealed_content = '\x0000'::bytea || sealed_content;
-- A rotation of the platform key seals parts again; nothing else of a part changes.
grant update (sealed_content) on terminal_recordings to gpuaas_app;

create index allocation_user_data_plain on allocation_user_data (allocation_id) where sealed_version(sealed_user_data) = 0;
create index allocation_installs_plain on allocation_installs (allocation_id) where sealed_version(sealed_user_data) = 0;
create index node_tasks_plain on node_tasks (id) where sealed_version(sealed_user_data) = 0;
create index terminal_recordings_plain on terminal_recordings (session_id, part) where sealed_version(sealed_content) = 0;
