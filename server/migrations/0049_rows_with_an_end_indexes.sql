-- no transaction
create index concurrently node_enrollments_old on node_enrollments (created_at) where kept_until is null;
create index concurrently node_enrollments_kept on node_enrollments (kept_until) where kept_until is not null;
drop index concurrently if exists node_enrollments_by_age;
create index concurrently access_grants_old on allocation_access_grants (created_at) where kept_until is null;
create index concurrently access_grants_kept on allocation_access_grants (kept_until) where kept_until is not null;
create index concurrently invitations_by_end on invitations (expires_at);
create index concurrently quota_requests_decided on quota_requests (decided_at) where decided_at is not null;
create index concurrently slot_overrides_by_end on slot_overrides (expires_at);
create index concurrently api_tokens_ended on api_tokens (least(expires_at, revoked_at));
