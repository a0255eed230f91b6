-- Columns get the names that the API, the agent and the documents use.
alter table nodes rename column has_drift to has_hardware_change;
alter table node_resource_slots rename column destructive_wipe_policy to wipe_method;
alter table node_resource_slots
  rename constraint node_resource_slots_destructive_wipe_policy_check to node_resource_slots_wipe_method_check;
alter table terminal_sessions rename column end_wanted_by to close_requested_by;
update terminal_sessions set end_reason = 'client_disconnected' where end_reason = 'client_left';
update terminal_sessions set end_reason = 'agent_disconnected' where end_reason = 'host_left';
-- The content of a report has new field names. Each agent sends a report every two minutes.
delete from node_inventories;
-- Approved slots and candidates keep their content under the new field names, so that they still compare equal.
update node_resource_slots set content = (content - 'wipe_policy' - 'iommu_group_strangers') || jsonb_build_object(
  'wipe_method', content -> 'wipe_policy', 'iommu_group_other_devices', content -> 'iommu_group_strangers')
where content ? 'wipe_policy';
update topology_candidates set content = (content - 'wipe_policy' - 'iommu_group_strangers') || jsonb_build_object(
  'wipe_method', content -> 'wipe_policy', 'iommu_group_other_devices', content -> 'iommu_group_strangers')
where content ? 'wipe_policy';
-- Runs that are under way continue at the step of the new name.
create temporary table renamed_steps (workflow text, old text, new text) on commit drop;
insert into renamed_steps values
  ('provision-slice', 'awaitReady', 'awaitSsh'), ('provision-slice', 'abandon', 'abort'),
  ('provision-baremetal', 'abandon', 'abort'),
  ('start-slice', 'awaitReady', 'awaitSsh'), ('start-slice', 'settleOn', 'markOn'), ('start-slice', 'leaveUnknown', 'markUnknown'),
  ('stop-slice', 'settleOff', 'markOff'), ('stop-slice', 'leaveUnknown', 'markUnknown'),
  ('reboot-slice', 'awaitReady', 'awaitSsh'), ('reboot-slice', 'settleOn', 'markOn'),
  ('reboot-slice', 'leaveUnknown', 'markUnknown'),
  ('reinstall-slice', 'awaitReady', 'awaitSsh'), ('reinstall-slice', 'settleOn', 'markOn'),
  ('reinstall-slice', 'leaveUnknown', 'markUnknown'),
  ('install-keys', 'tell', 'installKeys'), ('install-keys', 'giveUp', 'abort'),
  ('own-disk', 'giveUp', 'abort');
update workflow_runs r set
  step = coalesce((select n.new from renamed_steps n where n.workflow = r.workflow and n.old = r.step), r.step),
  steps = (
    select array_agg(coalesce(n.new, s.name) order by s.place) from unnest(r.steps) with ordinality as s (name, place)
    left join renamed_steps n on n.workflow = r.workflow and n.old = s.name)
where exists (select from renamed_steps n where n.workflow = r.workflow and n.old = any (r.steps));
