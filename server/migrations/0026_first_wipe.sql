-- A slot is available only with a wipe of its own on record, also before its first claim. Slots that never had one leave
-- until a repair wipes them.
with left_out as (
  update node_resource_slots set status = 'quarantined', status_since = clock_timestamp(), version = version + 1,
    status_reason = 'No wipe of its disk is on record. Repair the slot.'
  where status = 'available' and wipe_proof_id is null returning node_id, slot_index),
left_out_of as (select node_id, bit_or(1::bigint << slot_index) as mask from left_out group by node_id)
update node_placement_summary m set free_mask = m.free_mask & ~l.mask, free_count = bit_count((m.free_mask & ~l.mask)::bit(64)),
  largest_set = 0, key_1 = null, key_2 = null, key_4 = null, key_8 = null, key_node = null
from left_out_of l where l.node_id = m.node_id;

alter table node_resource_slots drop constraint available_is_wiped,
  add constraint available_is_wiped check (status <> 'available'
    or (wiped_at is not null and (last_claimed_at is null or wiped_at >= last_claimed_at)));

-- Where else a device is or was: at approval, and for the invariants.
create index slots_by_disk on node_resource_slots (nvme_serial) where nvme_serial is not null;
create index slots_by_gpu on node_resource_slots (gpu_uuid) where gpu_uuid is not null;
