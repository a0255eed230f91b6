-- A run sleeps until one of its tasks ends, or one of its allocation for which it had to wait. Many statements end tasks;
-- the signal is sent here, in their transaction, so none of them can forget it. The runs are locked in the order of their ids.
create function signal_runs_of_task() returns trigger language plpgsql as $$
begin
  with woken as materialized (
    select r.id, r.organization_id from workflow_runs r
    where r.state in ('pending', 'running', 'waiting') and r.id in (
      select new.workflow_run_id
      union select o.id from workflow_runs o where o.subject_id = new.allocation_id
      union select o.id from allocation_moves m join workflow_runs o on o.subject_id = m.id where m.allocation_id = new.allocation_id)
    order by r.id for update),
  signaled as (
    update workflow_runs r set signals_pending = r.signals_pending + 1,
      due_at = case when r.state = 'waiting' and r.waiting_for = 'task_finished' then clock_timestamp() else r.due_at end
    from woken where r.id = woken.id)
  insert into workflow_signals (run_id, organization_id, name) select id, organization_id, 'task_finished' from woken;
  return null;
end $$;

create trigger wakes_run after update of state on node_tasks for each row
  when (old.state in ('queued', 'dispatched', 'running') and new.state not in ('queued', 'dispatched', 'running')
    and (new.workflow_run_id is not null or new.allocation_id is not null))
  execute function signal_runs_of_task();
