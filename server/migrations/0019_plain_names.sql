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
