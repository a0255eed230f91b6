-- The provider that keeps tenants apart on the fabric of a region. A provider is an entry of the contract, and its name is
-- added here: a region never names one that no code implements.
-- blocks regions: at most some hundred rows
alter table regions add column fabric_isolation text not null default 'none',
  add constraint regions_fabric_isolation_check check (fabric_isolation in ('none'));
