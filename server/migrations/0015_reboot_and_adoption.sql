-- A reboot that something else than discovery asks for, such as a GPU that did not come back from its reset. It stands
-- until the host has booted after it, whatever a discovery finds meanwhile.
alter table nodes
  add column reboot_wanted_at timestamptz,
  add column reboot_reason text,
  add check ((reboot_wanted_at is null) = (reboot_reason is null)),
  add check (reboot_wanted_at is null or reboot_required);

-- The generation under which a claim is cleaned up, when an operator took over that of a host which knew a newer one:
-- this database was restored from a backup. What the claim took when it began stays as it is.
alter table allocation_resource_claims
  add column adopted_generation integer check (adopted_generation <= 1000000001),
  add check (adopted_generation is null or coalesce(slot_generation < adopted_generation, false));
