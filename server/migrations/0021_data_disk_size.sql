-- A wipe of a data disk must state the size that was approved. Approvals of earlier builds get the size that the newest
-- discovery of their node found; without one the size stays unknown, and an operator approves the disk again.
alter table disk_ownerships add column size_bytes bigint check (size_bytes > 0);
update disk_ownerships o set size_bytes = (
  select nullif((d ->> 'size_bytes')::bigint, 0)
  from (select facts from topology_discoveries where node_id = o.node_id order by task_id desc limit 1) f,
    jsonb_array_elements(f.facts -> 'disks' -> 'value') d
  where d ->> 'serial' = o.serial limit 1)
where o.state <> 'revoked';
update nodes n set data_disks = (
  select jsonb_agg(d.disk || jsonb_build_object('size_bytes', (
    select o.size_bytes from disk_ownerships o where o.node_id = n.id and o.serial = d.disk ->> 'serial' and o.state = 'owned')) order by d.place)
  from jsonb_array_elements(n.data_disks) with ordinality as d (disk, place))
where n.data_disks <> '[]';
