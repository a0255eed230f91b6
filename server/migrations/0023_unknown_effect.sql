-- A task that a host started and did not report in time has an unknown effect. It is neither failed nor merely expired.
alter table node_tasks drop constraint node_tasks_state_check;
alter table node_tasks add constraint node_tasks_state_check
  check (state in ('queued', 'dispatched', 'running', 'completed', 'failed', 'expired', 'unknown', 'cancelled'));
drop trigger clone_ends on node_tasks;
create trigger clone_ends before update of state on node_tasks for each row
  when (new.kind = 'slice.image_clone' and new.state in ('completed', 'failed', 'expired', 'unknown', 'cancelled'))
  execute function clone_forgets_user_data();

-- Why a claimed slot is quarantined when its wipe is proven: a task on it was late, or was refused by its host.
alter table node_resource_slots add column quarantine_reason text
  constraint available_is_not_suspect check (status <> 'available' or quarantine_reason is null);
