-- What keeps a restored database from harm: when it was last compared with the signed heads of its audit log, and until
-- when an allocation is charged whose host had ended it before the restore.
-- `compared_in` names the database that was compared: a copy, a promoted replica and a restored dump have another name.
alter table audit_sealer
  add column compared_at timestamptz,
  add column compared_in text,
  add constraint comparison_is_whole check ((compared_at is null) = (compared_in is null));

alter table allocations add column charge_until timestamptz;
alter table allocations add constraint charge_ends_while_active
  check (charge_until is null or coalesce(charge_until >= activated_at and charge_until <= release_requested_at, false)) not valid;

-- A closed record is final, except that its end moves back to `charge_until` while the node of the allocation is held after
-- a restore: the host knows that the allocation had ended when this database still charged it.
create or replace function refuse_usage_change() returns trigger language plpgsql as $$
begin
  if new.ended_at <= old.ended_at and to_jsonb(new) - '{ended_at,cost_minor}'::text[] = to_jsonb(old) - '{ended_at,cost_minor}'::text[]
    and exists (select from allocations a join nodes n on n.id = a.node_id where a.id = old.allocation_id
      and a.charge_until = new.ended_at and n.restore_hold_id is not null) then
    return new;
  end if;
  raise exception 'usage record % is closed', old.id using errcode = 'insufficient_privilege';
end $$;
