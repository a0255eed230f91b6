-- The limit that pairs are measured against: two calls that write the rows of a launch and of its proven release, with
-- everything decided beforehand. Nothing is searched, judged or checked, and no two pairs that run at once ever meet.
create sequence bench_pair;

create function bench_take(nodes integer) returns bigint language plpgsql as $$
declare
  n bigint := nextval('bench_pair');
  -- Each pair on a node of its own, so that nobody waits for anybody.
  node text := 'nod_' || lpad((1 + n % nodes)::text, 26, '0');
  slots text[] := array['slt_' || lpad(((1 + n % nodes) * 8)::text, 26, '0'), 'slt_' || lpad(((1 + n % nodes) * 8 + 2)::text, 26, '0')];
  org text := 'org_' || lpad((1 + n % 64)::text, 26, '0');
  prj text := 'prj_' || lpad((1 + n % 64)::text, 26, '0');
  alc text := 'alc_ref' || n;
begin
  update node_placement_summary set occupancy = 'sliced', free_mask = free_mask - 1, free_count = free_count - 2, key_1 = key_1 + 1,
    key_2 = key_2 + 1, updated_at = now() where node_id = node;
  update nodes set occupancy = 'sliced', version = version + 1 where id = node;
  update node_resource_slots set status = 'reserved', status_since = clock_timestamp(), generation = generation + 1,
    last_claimed_at = clock_timestamp(), version = version + 1 where id = any (slots);
  insert into allocations (id, organization_id, project_id, name, capacity_shape, sku_name, region_name, gpu_count, node_id, state, requested_by, correlation_id, state_deadline_at)
    values (alc, org, prj, 'ref-' || n, 'gpu_slice', 'h200-sxm-slice', 'us-buffalo-1', 2, node, 'requested', 'usr_bench', 'bench-correlation', clock_timestamp() + interval '1 minute');
  insert into allocation_resource_claims (id, allocation_id, organization_id, project_id, claim_kind, node_id, slot_id, gpu_count, slot_generation)
    select 'clm_ref' || n || '_' || s, alc, org, prj, 'slot', node, s, 1, 1 from unnest(slots) s;
  insert into allocation_placements (allocation_id, organization_id, project_id, node_id, slot_ids, partition_id, vm_profile_name, vcpu_count, memory_mib, gpu_count,
    gpu_hourly_price_minor, currency, scores)
    values (alc, org, prj, node, slots, 4, 'h200_2g_48c_128g', 48, 131072, 2, 450, 'USD', '{"clean_node":1,"fragmentation":1,"leftover":6}');
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
  return n;
end $$;

create function bench_give(n bigint, nodes integer) returns void language plpgsql as $$
declare
  node text := 'nod_' || lpad((1 + n % nodes)::text, 26, '0');
  slots text[] := array['slt_' || lpad(((1 + n % nodes) * 8)::text, 26, '0'), 'slt_' || lpad(((1 + n % nodes) * 8 + 2)::text, 26, '0')];
  org text := 'org_' || lpad((1 + n % 64)::text, 26, '0');
  prj text := 'prj_' || lpad((1 + n % 64)::text, 26, '0');
  alc text := 'alc_ref' || n;
begin
  update workflow_runs set cancel_requested_at = clock_timestamp(), cancel_reason = 'release', due_at = clock_timestamp() where id = 'wfr_ref' || n;
  update allocations set state = 'releasing', state_reason = 'release', state_since = clock_timestamp(), version = version + 1,
    state_deadline_at = clock_timestamp() + interval '1 hour', release_requested_at = clock_timestamp() where id = alc;
  update node_resource_slots set status = 'cleaning', status_reason = 'release', status_since = clock_timestamp(), version = version + 1 where id = any (slots);
  insert into workflow_runs (id, workflow, workflow_version, subject_id, organization_id, project_id, correlation_id, steps, step, deadline_ms, deadline_at)
    values ('wfr_rel' || n, 'release-allocation', 1, alc, org, prj, 'bench-correlation', array['stopRuntime', 'wipe', 'prove'], 'stopRuntime', 3600000, clock_timestamp() + interval '1 hour');
  insert into wipe_proofs (id, node_id, slot_id, allocation_id, task_id, method, is_verified, evidence, correlation_id)
    select 'wpf_ref' || n || '_' || s, node, s, alc, 'tsk_ref' || n, 'nvme_sanitize', true, '{"bytes_read_back":4096,"bytes_not_erased":0,"is_verified":true}', 'bench-correlation'
    from unnest(slots) s;
  update allocation_resource_claims set released_at = clock_timestamp(), wipe_proof_id = 'wpf_ref' || n || '_' || slot_id where allocation_id = alc;
  update node_resource_slots set status = 'available', status_reason = null, status_since = clock_timestamp(), wiped_at = clock_timestamp(), version = version + 1,
    wipe_proof_id = 'wpf_ref' || n || '_' || id where id = any (slots);
  update nodes set occupancy = 'free', version = version + 1 where id = node;
  update allocations set state = 'released', state_reason = null, state_since = clock_timestamp(), state_deadline_at = null, released_at = clock_timestamp(),
    version = version + 1 where id = alc;
  update node_placement_summary set occupancy = 'free', free_mask = free_mask + 1, free_count = free_count + 2, key_1 = key_1 - 1,
    key_2 = key_2 - 1, updated_at = now() where node_id = node;
  update quotas set gpu_used = gpu_used - 2 where organization_id = org and project_id in ('', prj);
  insert into outbox_events (id, event_type, organization_id, project_id, subject, data, correlation_id) values
    ('evt_rel' || n || 'a', 'allocation.changed', org, prj, alc, '{"state":"releasing"}', 'bench-correlation'),
    ('evt_rel' || n || 'b', 'workflow_run.changed', org, prj, alc, '{"state":"pending"}', 'bench-correlation'),
    ('evt_rel' || n || 'c', 'allocation.changed', org, prj, alc, '{"state":"released"}', 'bench-correlation');
  insert into audit_logs (id, organization_id, project_id, actor_kind, actor_id, actor_role, source_ip, user_agent, action, target_kind, target_id, result, policy, correlation_id, metadata)
    values ('aud_rel' || n, org, prj, 'user', 'usr_bench', 'project:member', '127.0.0.1', 'bench', 'allocation.release', 'allocation', alc, 'success', 'project:member holds allocation.release',
      'bench-correlation', '{}'),
    ('aud_prf' || n, org, prj, 'system', null, null, null, null, 'allocation.prove_cleanup', 'allocation', alc, 'success', 'workflow', 'bench-correlation', '{"reason":null}');
end $$;
