-- no transaction
-- The events of an organization and all its projects, in commit order.
create index concurrently outbox_events_by_organization on outbox_events (organization_id, xid, id)
  where organization_id is not null;
