-- Ended runs, old certificates, used enrollments and superseded discoveries are deleted after their time. Each is found by the
-- age of its end, and what refers to it by an index of its own.
create index workflow_runs_ended on workflow_runs (finished_at) where state in ('done', 'cancelled');
create index workflow_signals_by_run on workflow_signals (run_id);
create index node_certificates_by_end on node_certificates (not_after);
create index node_certificates_by_enrollment on node_certificates (enrollment_id);
create index node_enrollments_by_age on node_enrollments (created_at);
create index topology_discoveries_by_age on topology_discoveries (created_at);
create index slots_by_discovery on node_resource_slots (discovery_task_id) where discovery_task_id is not null;
grant delete on workflow_runs, workflow_steps, workflow_signals, node_certificates, node_enrollments, topology_discoveries,
  topology_candidates to gpuaas_app;
