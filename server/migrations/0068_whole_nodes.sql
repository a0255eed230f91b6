-- What a tenant of a whole node gets: the operating system of its operator, and every disk but the boot disks.

-- Images are for slices: nothing installs one on a whole node.
delete from os_image_skus x using sku_catalog k where k.name = x.sku_name and k.capacity_shape = 'baremetal';
alter table sku_catalog add constraint sku_catalog_shape unique (name, capacity_shape);
alter table os_image_skus
  add column capacity_shape text not null default 'gpu_slice',
  add constraint image_is_for_slices check (capacity_shape = 'gpu_slice'),
  add constraint os_image_skus_of_shape foreign key (sku_name, capacity_shape) references sku_catalog (name, capacity_shape);

-- blocks disk_ownerships: one row per disk that an operator approved
alter table disk_ownerships drop constraint disk_ownerships_state_check;
alter table disk_ownerships add constraint disk_ownerships_state_check
  check (state in ('approved', 'wiping', 'blocked', 'owned', 'excluded', 'revoked'));

-- Disks of the newest discovery that could read them, without boot disks: [{name, serial}]. A node is not allocated as a whole
-- while one of them would not be wiped by the release.
-- The index first, as everyone locks it before its node.
select from node_placement_summary order by node_id for update;
alter table nodes add column disks_found jsonb not null default '[]';
update nodes n set disks_found = coalesce((
  select jsonb_agg(jsonb_build_object('name', f.disk ->> 'name', 'serial', f.disk ->> 'serial') order by f.disk ->> 'name')
  from (select d.facts from topology_discoveries d where d.node_id = n.id
      and jsonb_typeof(d.facts -> 'disks' -> 'value') = 'array'
      and not exists (select from node_hosts e where e.node_id = d.node_id and e.ended_at >= d.created_at)
    order by d.task_id desc limit 1) newest
    cross join lateral jsonb_array_elements(newest.facts -> 'disks' -> 'value') f (disk)
  where not (f.disk ->> 'is_boot')::boolean), '[]');

update node_placement_summary m set key_node = null, is_schedulable = m.key_1 is not null
from nodes n where n.id = m.node_id and n.capacity_mode <> 'slice' and m.key_node is not null and exists (
  select from jsonb_to_recordset(n.disks_found) as f (serial text) where f.serial is null
    or not n.data_disks @> jsonb_build_array(jsonb_build_object('serial', f.serial))
      and not exists (select from node_resource_slots s where s.node_id = n.id and s.nvme_serial = f.serial));
