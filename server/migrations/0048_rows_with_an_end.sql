-- Rows that had no end get one, and rows that stay for years are not read by every turn of the purge: kept_until is when
-- an old row is looked at again, as in node_tasks.
alter table node_enrollments add column kept_until timestamptz;
alter table allocation_access_grants add column kept_until timestamptz;

grant delete on allocation_access_grants, backups, invitations, quota_requests, slot_overrides to gpuaas_app;
