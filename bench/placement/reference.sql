-- The limit placement is measured against: one call that writes the same rows, with everything decided beforehand. The
-- node comes off a sequence, so nothing is searched, scored or checked, and no two calls ever meet.
create sequence bench_call;

create function bench_place(nodes integer) returns void language plpgsql as $$
declare
  n bigint := nextval('bench_call');
  -- Two GPUs a call, four calls a node, from the far end of the fleet.
  node text := 'nod_' || lpad((nodes - n / 4)::text, 26, '0');
  pair integer := n % 4;
  first text := 'slt_' || lpad(((nodes - n / 4) * 8 + (array[0, 1, 4, 6])[pair + 1])::text, 26, '0');
  second text := 'slt_' || lpad(((nodes - n / 4) * 8 + (array[2, 3, 5, 7])[pair + 1])::text, 26, '0');
  org text := 'org_' || lpad((1 + n % 64)::text, 26, '0');
  prj text := 'prj_' || lpad((1 + n % 64)::text, 26, '0');
  alc text := 'alc_ref' || n;
begin
  update node_placement_summary set occupancy = 'sliced', free_mask = free_mask - 1, free_count = free_count - 2, key_1 = key_1 + 1,
    key_2 = key_2 + 1, key_4 = null, key_8 = null, updated_at = now() where node_id = node;
  update nodes set occupancy = 'sliced', version = version + 1 where id = node and occupancy = 'free';
  update node_resource_slots set status = 'reserved', status_since = clock_timestamp(), generation = generation + 1,
    last_claimed_at = clock_timestamp(), version = version + 1 where id in (first, second);
  insert into allocations (id, organization_id, project_id, name, capacity_shape, sku_name, region_name, gpu_count, node_id, state, requested_by, correlation_id, state_deadline_at)
    values (alc, org, prj, 'ref-' || n, 'gpu_slice', 'h200-sxm-slice', 'us-buffalo-1', 2, node, 'requested', 'usr_bench', 'bench-correlation', clock_timestamp() + interval '1 minute');
  insert into allocation_resource_claims (id, allocation_id, organization_id, project_id, claim_kind, node_id, slot_id, gpu_count, slot_generation)
    values ('clm_ref' || n || 'a', alc, org, prj, 'slot', node, first, 1, 1), ('clm_ref' || n || 'b', alc, org, prj, 'slot', node, second, 1, 1);
  insert into allocation_placements (allocation_id, organization_id, project_id, node_id, slot_ids, partition_id, vm_profile_name, vcpu_count, memory_mib, gpu_count,
    gpu_hourly_price_minor, currency, scores)
    values (alc, org, prj, node, array[first, second], 4, 'h200_2g_48c_128g', 48, 131072, 2, 450, 'USD', '{"clean_node":1,"fragmentation":1,"leftover":6}');
  insert into quotas (organization_id, project_id, gpu_used) values (org, '', 2), (org, prj, 2)
    on conflict (organization_id, project_id) do update set gpu_used = quotas.gpu_used + excluded.gpu_used;
  insert into workflow_runs (id, workflow, workflow_version, subject_id, organization_id, project_id, correlation_id, steps, step, deadline_ms, deadline_at)
    values ('wfr_ref' || n, 'provision-slice', 1, alc, org, prj, 'bench-correlation', array['leaseBundle', 'activate'], 'leaseBundle', 1800000, clock_timestamp() + interval '30 minutes');
  insert into outbox_events (id, event_type, organization_id, project_id, subject, data, correlation_id) values
    ('evt_ref' || n || 'a', 'allocation.changed', org, prj, alc, '{"state":"requested"}', 'bench-correlation'),
    ('evt_ref' || n || 'b', 'workflow_run.changed', org, prj, alc, '{"state":"pending"}', 'bench-correlation');
  insert into audit_logs (id, organization_id, project_id, actor_kind, actor_id, actor_role, source_ip, user_agent, action, target_kind, target_id, result, policy, correlation_id, metadata)
    values ('aud_ref' || n, org, prj, 'user', 'usr_bench', 'project:member', '127.0.0.1', 'bench', 'allocation.create', 'allocation', alc, 'success', 'project:member holds allocation.create',
      'bench-correlation', '{"sku_name":"h200-sxm-slice","gpu_count":2}');
end $$;
