-- A wipe that two operators accepted without proof is overridden, never verified. Proofs are never rewritten: earlier
-- overrides say is_verified, so they are told by their method.
alter table wipe_proofs
  add column outcome text not null generated always as (case when method = 'two_person_override' then 'overridden'
    when is_verified then 'verified' else 'failed' end) stored check (outcome in ('verified', 'overridden', 'failed')),
  add constraint proof_has_outcome unique (id, slot_id, outcome);

create function refuse_verified_override() returns trigger language plpgsql as $$
begin
  raise exception 'an override is not a verified wipe' using errcode = 'check_violation', constraint = 'override_is_not_verified';
end $$;
create trigger override_is_not_verified before insert on wipe_proofs for each row
  when (new.method = 'two_person_override' and new.is_verified) execute function refuse_verified_override();

-- Whether an override makes a slot schedulable in the region.
alter table regions add column allows_wipe_override boolean not null default false,
  add constraint region_policy unique (name, allows_wipe_override);

alter table node_resource_slots
  drop constraint wiped_with_proof,
  drop column is_wipe_verified,
  add column wipe_outcome text constraint wipe_is_accepted check (wipe_outcome in ('verified', 'overridden'));
alter table wipe_proofs drop constraint wipe_proofs_id_slot_id_is_verified_key;

create or replace function take_wiped_at() returns trigger language plpgsql as $$
begin
  select created_at, outcome into new.wiped_at, new.wipe_outcome from wipe_proofs where id = new.wipe_proof_id;
  return new;
end $$;

update node_resource_slots set wipe_proof_id = wipe_proof_id where wipe_proof_id is not null;

-- Slots that an override made schedulable leave until a wipe is proven or their region allows overrides.
with left_out as (
  update node_resource_slots set status = 'quarantined', status_since = clock_timestamp(), version = version + 1,
    status_reason = 'Two operators accepted the wipe without proof, which the region does not allow. Repair the slot.'
  where status = 'available' and wipe_outcome = 'overridden' returning node_id, slot_index),
left_out_of as (select node_id, bit_or(1::bigint << slot_index) as mask from left_out group by node_id)
update node_placement_summary m set free_mask = m.free_mask & ~l.mask, free_count = bit_count((m.free_mask & ~l.mask)::bit(64)),
  largest_set = 0, key_1 = null, key_2 = null, key_4 = null, key_8 = null, key_node = null
from left_out_of l where l.node_id = m.node_id;

alter table node_resource_slots
  add constraint wipe_has_outcome check ((wipe_proof_id is null) = (wipe_outcome is null)),
  add constraint wiped_with_proof foreign key (wipe_proof_id, id, wipe_outcome) references wipe_proofs (id, slot_id, outcome),
  add column needs_override boolean generated always as (case when status = 'available' and wipe_outcome = 'overridden' then true end) stored,
  add constraint override_is_allowed foreign key (region_name, needs_override) references regions (name, allows_wipe_override);
create index slots_overridden on node_resource_slots (region_name, status) where wipe_outcome = 'overridden';
