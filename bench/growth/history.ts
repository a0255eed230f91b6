/**
 * Two years of a site with 1,000 nodes, written in bulk: allocations of two GPUs that came and went, with what the retention
 * still keeps of each. Nothing of it is younger than a day, so that both sites of the benchmark have the same recent past.
 */
import { Client } from 'pg';
import { REGION, SLICE_SKU, TENANTS } from '../placement/fleet.ts';

export type History = Readonly<{ nodes: number; days: number; per_day: number }>;

const id = (prefix: string, number: string): string => `'${prefix}_' || lpad((${number})::text, 26, '0')`;

/** One row per allocation, numbered by time, and those that are younger than so many days. */
const PAST = `
  create unlogged table past as
    select n, ${id('alc', 'n')} as id, ${id('org', `1 + n % ${TENANTS}`)} as organization_id,
      ${id('prj', `1 + n % ${TENANTS}`)} as project_id, 1 + n % NODES as node, ${id('nod', '1 + n % NODES')} as node_id,
      (n / NODES) % 4 * 2 as slot, 2 + n / (NODES * 4) as turn, 'past-' || n as correlation_id,
      now() - interval '26 hours' - (TOTAL - n) * (interval '1 day' / PER_DAY) as at
    from generate_series(0, TOTAL - 1) n;
  create index on past (at);
  analyze past;`;

const younger = (days: number): string => `past p where p.at > now() - interval '${days} days'`;

/** The steps of one allocation's runs, its host tasks, events and audit rows. */
const STEPS = 7;
const TASKS = ['slice.bundle_lease', 'slice.image_clone', 'slice.vm_start', 'slice.vm_readiness', 'slice.vm_stop'];
const STATES = ['requested', 'provisioning', 'active', 'releasing', 'released'];
const ACTIONS = ['create', 'provision', 'activate', 'release', 'stop', 'prove_cleanup'];
const list = (words: readonly string[]): string => `array['${words.join("','")}']`;

const EVIDENCE = `jsonb_build_object('method', 'nvme_sanitize', 'samples', repeat('0123456789abcdef', 40), 'gpu_reset', '{"is_ok": true}'::jsonb)`;

const INSERTS: readonly string[] = [
  `insert into allocations (id, organization_id, project_id, name, capacity_shape, sku_name, region_name, gpu_count, node_id, state,
      state_since, requested_by, activated_at, release_requested_at, released_at, correlation_id, created_at)
    select p.id, p.organization_id, p.project_id, 'past-' || p.n, 'gpu_slice', '${SLICE_SKU}', '${REGION}', 2, p.node_id, 'released',
      p.at + interval '10 hours', 'usr_bench', p.at + interval '2 minutes', p.at + interval '9 hours', p.at + interval '10 hours',
      p.correlation_id, p.at from past p`,
  `insert into allocation_placements (allocation_id, organization_id, project_id, node_id, slot_ids, gpu_count, gpu_hourly_price_minor,
      currency, scores, created_at)
    select p.id, p.organization_id, p.project_id, p.node_id, '{}', 2, 250, 'USD', '{"binpack": 0.5}', p.at from past p`,
  `insert into wipe_proofs (id, node_id, slot_id, allocation_id, disk_serial, task_id, method, is_verified, evidence, correlation_id,
      sequence, previous_hash, proof_hash, created_at)
    select ${id('wpf', '100000000 + p.n * 2 + s')}, p.node_id, ${id('slt', 'p.node * 8 + p.slot + s')}, p.id, 'serial-' || (p.node * 8 + p.slot + s),
      ${id('tsk', 'p.n * 10 + 9')}, 'nvme_sanitize', true, ${EVIDENCE}, p.correlation_id, p.turn, sha256('before'),
      sha256(convert_to(p.id, 'UTF8')), p.at + interval '10 hours'
    from past p cross join generate_series(0, 1) s`,
  `insert into allocation_resource_claims (id, allocation_id, organization_id, project_id, claim_kind, node_id, slot_id, gpu_count,
      slot_generation, created_at, released_at, wipe_proof_id)
    select ${id('clm', 'p.n * 2 + s')}, p.id, p.organization_id, p.project_id, 'slot', p.node_id, ${id('slt', 'p.node * 8 + p.slot + s')}, 1, 1,
      p.at, p.at + interval '10 hours', ${id('wpf', '100000000 + p.n * 2 + s')}
    from past p cross join generate_series(0, 1) s`,
  `insert into usage_records (id, allocation_id, organization_id, project_id, sku_name, gpu_count, gpu_hourly_price_minor, currency, started_at,
      ended_at, cost_minor, correlation_id, created_at)
    select ${id('usg', 'p.n')}, p.id, p.organization_id, p.project_id, '${SLICE_SKU}', 2, 250, 'USD', p.at + interval '2 minutes',
      p.at + interval '9 hours', 4500, p.correlation_id, p.at from past p`,
  // The cleanup is cited by its proofs; the other tasks are kept as long as runs.
  `insert into node_tasks (id, node_id, allocation_id, kind, params, state, output, correlation_id, created_at, dispatched_at, finished_at,
      expires_at)
    select ${id('tsk', 'p.n * 10 + 9')}, p.node_id, p.id, 'slice.cleanup', '{"slots": []}', 'completed', ${EVIDENCE}, p.correlation_id,
      p.at + interval '9 hours', p.at + interval '9 hours', p.at + interval '10 hours', p.at + interval '20 hours' from past p`,
  `insert into node_tasks (id, node_id, allocation_id, kind, params, state, output, correlation_id, created_at, dispatched_at, finished_at,
      expires_at, workflow_run_id)
    select ${id('tsk', 'p.n * 10 + k')}, p.node_id, p.id, (${list(TASKS)})[k], '{"slots": []}', 'completed', '{}', p.correlation_id,
      p.at, p.at, p.at + interval '1 minute', p.at + interval '1 hour', ${id('wfr', 'p.n * 2 + k / 5')}
    from ${younger(90).replace('past p', `past p cross join generate_series(1, ${TASKS.length}) k`)}`,
  `insert into workflow_runs (id, workflow, workflow_version, subject_id, organization_id, project_id, correlation_id, steps, step, state,
      deadline_ms, deadline_at, step_count, created_at, finished_at, state_since)
    select ${id('wfr', 'p.n * 2 + r')}, (array['provision-slice', 'release-allocation'])[r + 1], 1, p.id, p.organization_id, p.project_id,
      p.correlation_id, '{a,b,c,d,e,f,g}', 'g', 'done', 3600000, p.at + interval '1 hour', ${STEPS}, p.at + r * interval '9 hours',
      p.at + interval '2 minutes' + r * interval '10 hours', p.at + interval '2 minutes' + r * interval '10 hours'
    from ${younger(90).replace('past p', 'past p cross join generate_series(0, 1) r')}`,
  `insert into workflow_steps (run_id, sequence, organization_id, step, attempt, outcome, detail, started_at, finished_at)
    select ${id('wfr', 'p.n * 2 + r')}, k, p.organization_id, chr(96 + k), 1, 'next', 'The host has completed its task.', p.at, p.at + interval '1 minute'
    from ${younger(90).replace('past p', `past p cross join generate_series(0, 1) r cross join generate_series(1, ${STEPS}) k`)}`,
  `insert into outbox_events (id, event_type, organization_id, project_id, subject, data, correlation_id, created_at, sent_at)
    select ${id('evt', 'p.n * 10 + k')}, 'allocation.changed', p.organization_id, p.project_id, p.id,
      jsonb_build_object('allocation_id', p.id, 'state', (${list(STATES)})[k]), p.correlation_id, p.at, p.at
    from ${younger(7).replace('past p', `past p cross join generate_series(1, ${STATES.length}) k`)}`,
  `insert into audit_logs (id, organization_id, project_id, actor_kind, actor_id, action, target_kind, target_id, result, policy, correlation_id,
      metadata, created_at)
    select ${id('aud', 'p.n * 10 + k')}, p.organization_id, p.project_id, 'user', 'usr_bench', 'allocation.' || (${list(ACTIONS)})[k],
      'allocation', p.id, 'success', 'project:member holds allocation.create', p.correlation_id,
      '{"sku_name": "h200-sxm-slice", "gpu_count": 2}', p.at + k * interval '1 minute'
    from ${younger(400).replace('past p', `past p cross join generate_series(1, ${ACTIONS.length}) k`)}`,
  `insert into audit_seals (chain, sequence, audit_log_id, hash, sealed_at)
    select organization_id, row_number() over (partition by organization_id order by id), id, sha256(convert_to(id, 'UTF8')), created_at
    from audit_logs where correlation_id like 'past-%'`,
  `insert into audit_chains (chain, sequence, hash, headed_sequence)
    select chain, max(sequence), sha256('head'), max(sequence) from audit_seals group by chain`,
  `update audit_sealer set sealed_xid = (select xid from audit_logs order by xid desc limit 1), sealed_id = (select max(id) from audit_logs)`,
  `insert into trust_keys (id, purpose, state, public_pem, fingerprint_sha256, sealed_private_key)
    values ('tky_past', 'node_ca', 'active', 'p', repeat('0', 64), '\\x00')`,
  `insert into node_enrollments (id, node_id, token_hash, created_by, correlation_id, created_at, expires_at, used_at)
    select ${id('enr', 'n')}, ${id('nod', 'n')}, sha256(n::text::bytea), 'usr_bench', 'past', now() - interval '700 days', now() - interval '699 days',
      now() - interval '700 days' from generate_series(1, NODES) n`,
  `insert into node_certificates (serial_number, node_id, ca_key_id, enrollment_id, fingerprint_sha256, not_before, not_after, created_at)
    select lpad(to_hex(n * 1000 + k), 16, '0'), ${id('nod', 'n')}, 'tky_past', ${id('enr', 'n')}, lpad(to_hex(n * 1000 + k), 64, '0'),
      now() - k * interval '12 hours', now() + interval '1 day' - k * interval '12 hours', now() - k * interval '12 hours'
    from generate_series(1, NODES) n cross join generate_series(0, 180) k`,
  `insert into node_tasks (id, node_id, kind, params, state, output, correlation_id, created_at, finished_at, expires_at)
    select ${id('tsk', '9000000000 + n * 10 + k')}, ${id('nod', 'n')}, 'slice.topology_discover', '{}', 'completed', '{}', 'past-discovery',
      now() - k * interval '40 days' - interval '2 days', now() - k * interval '40 days' - interval '2 days', now()
    from generate_series(1, NODES) n cross join generate_series(0, 2) k`,
  `insert into topology_discoveries (task_id, node_id, map_hash, facts, map, reboot_required, created_at)
    select t.id, t.node_id, repeat('a', 64), jsonb_build_object('pci', repeat('0000:00:00.0 ', 300)), '{}', false, t.finished_at
    from node_tasks t where t.correlation_id = 'past-discovery'`,
  `insert into topology_candidates (id, task_id, node_id, slot_index, content_hash, content, blockers)
    select 'cnd_' || substr(t.id, 5) || s, t.id, t.node_id, s, repeat('a', 64), '{"gpu_pci_address": "0000:10:00.0"}', '[]'
    from node_tasks t cross join generate_series(0, 7) s where t.correlation_id = 'past-discovery'`,
  `insert into capacity_samples (sampled_at, region_name, gpu_model, delivered_gpus, healthy_gpus, reserved_gpus, active_gpus, free_gpus)
    select date_trunc('hour', now()) - k * interval '5 minutes', '${REGION}', 'H200 SXM', NODES * 8, NODES * 8, 0, 4000, 4000
    from generate_series(300, 90 * 288) k`,
  `insert into log_lines (logged_at, service, host_role, host_name, level, message, correlation_id, fields, origin, number)
    select p.at + k * interval '1 second', 'gpuaas-api', 'platform_control', 'control-1', 'info', 'request completed', p.correlation_id, '{"status": 200}',
      'past', p.n * 100 + k from ${younger(7).replace('past p', 'past p cross join generate_series(1, 30) k')}`,
  `insert into terminal_sessions (id, organization_id, project_id, allocation_id, node_id, kind, is_writable, state, principal_id, principal_kind,
      principal_name, ticket_expires_at, end_reason, correlation_id, created_at, closed_at, expires_at)
    select ${id('ses', 'p.n')}, p.organization_id, p.project_id, p.id, p.node_id, 'ssh', true, 'closed', 'usr_bench', 'user', 'bench', p.at,
      'closed', p.correlation_id, p.at, p.at + interval '1 hour', p.at + interval '1 day' from ${younger(90)}`,
];

/**
 * What stays for years: on the last nodes of the fleet every GPU has an allocation of two years, with runs and grants that
 * ended long ago, and every slot an override that its proof names.
 */
const LASTING_NODES = 300;
const LASTING_RUNS = 5;
const LASTING_GRANTS = 2;
const LASTING = `generate_series((NODES - ${LASTING_NODES}) * 8 + 8, NODES * 8 + 7) n`;
const ofLasting = (prefix: string, number = 'n'): string => id(prefix, `800000000 + ${number}`);
const LASTING_INSERTS: readonly string[] = [
  `insert into allocations (id, organization_id, project_id, name, capacity_shape, sku_name, region_name, gpu_count, node_id, state,
      state_since, requested_by, activated_at, power_state, power_since, correlation_id, created_at)
    select ${ofLasting('alc')}, ${id('org', `1 + n % ${TENANTS}`)}, ${id('prj', `1 + n % ${TENANTS}`)}, 'lasting-' || n, 'gpu_slice', '${SLICE_SKU}',
      '${REGION}', 1, ${id('nod', 'n / 8')}, 'active', now() - interval '700 days', 'usr_bench', now() - interval '700 days', 'on',
      now() - interval '700 days', 'lasting-' || n, now() - interval '700 days' from ${LASTING}`,
  `insert into allocation_placements (allocation_id, organization_id, project_id, node_id, slot_ids, gpu_count, gpu_hourly_price_minor,
      currency, scores, created_at)
    select a.id, a.organization_id, a.project_id, a.node_id, '{}', 1, 250, 'USD', '{"binpack": 0.5}', a.created_at
    from allocations a where a.correlation_id like 'lasting-%'`,
  `insert into allocation_resource_claims (id, allocation_id, organization_id, project_id, claim_kind, node_id, slot_id, gpu_count,
      slot_generation, created_at)
    select ${ofLasting('clm')}, ${ofLasting('alc')}, ${id('org', `1 + n % ${TENANTS}`)}, ${id('prj', `1 + n % ${TENANTS}`)}, 'slot',
      ${id('nod', 'n / 8')}, ${id('slt', 'n')}, 1, 1, now() - interval '700 days' from ${LASTING}`,
  `update node_resource_slots set status = 'in_use', generation = 1 where node_id > ${id('nod', `NODES - ${LASTING_NODES}`)}`,
  `update nodes set occupancy = 'sliced' where id > ${id('nod', `NODES - ${LASTING_NODES}`)}`,
  `update node_placement_summary set occupancy = 'sliced', is_schedulable = false, free_mask = 0, free_count = 0, largest_set = 0, key_1 = null,
      key_2 = null, key_4 = null, key_8 = null, key_node = null where node_id > ${id('nod', `NODES - ${LASTING_NODES}`)}`,
  `insert into usage_records (id, allocation_id, organization_id, project_id, sku_name, gpu_count, gpu_hourly_price_minor, currency, started_at,
      correlation_id, created_at)
    select 'usg_' || substr(a.id, 5), a.id, a.organization_id, a.project_id, '${SLICE_SKU}', 1, 250, 'USD', a.activated_at, a.correlation_id,
      a.created_at from allocations a where a.correlation_id like 'lasting-%'`,
  `insert into workflow_runs (id, workflow, workflow_version, subject_id, organization_id, project_id, correlation_id, steps, step, state,
      deadline_ms, deadline_at, step_count, created_at, finished_at, state_since)
    select ${ofLasting('wfr', `n * ${LASTING_RUNS} + r`)}, 'install-keys', 1, ${ofLasting('alc')}, ${id('org', `1 + n % ${TENANTS}`)},
      ${id('prj', `1 + n % ${TENANTS}`)}, 'lasting-' || n, '{a}', 'a', 'done', 3600000, t.at, 1, t.at, t.at, t.at
    from ${LASTING} cross join generate_series(0, ${LASTING_RUNS - 1}) r
      cross join lateral (select now() - interval '690 days' + r * interval '100 days' as at) t`,
  `insert into workflow_steps (run_id, sequence, organization_id, step, attempt, outcome, detail, started_at, finished_at)
    select r.id, 1, r.organization_id, 'a', 1, 'done', 'The host has completed its task.', r.created_at, r.finished_at
    from workflow_runs r where r.correlation_id like 'lasting-%'`,
  `insert into allocation_access_grants (id, organization_id, project_id, allocation_id, user_id, user_name, ssh_key_id, public_key, fingerprint,
      state, granted_by, correlation_id, created_at, installed_at)
    select ${ofLasting('grt', `n * ${LASTING_GRANTS} + k`)}, ${id('org', `1 + n % ${TENANTS}`)}, ${id('prj', `1 + n % ${TENANTS}`)},
      ${ofLasting('alc')}, 'usr_bench', 'bench', 'key', 'ssh-ed25519 AAAA', 'SHA256:' || n || '-' || k, 'installed', 'usr_bench', 'lasting-' || n,
      now() - interval '600 days', now() - interval '600 days'
    from ${LASTING} cross join generate_series(0, ${LASTING_GRANTS - 1}) k`,
  `insert into slot_overrides (id, slot_id, kind, generation, reason, requested_by, requested_at, expires_at, confirmed_by, confirmed_at)
    select ${ofLasting('ovr')}, ${id('slt', 'n')}, 'mark_wiped', 1, 'A disk of the first delivery.', 'usr_bench', now() - interval '710 days',
      now() - interval '709 days', 'usr_second', now() - interval '709 days' from ${LASTING}`,
];

/** Past triggers and foreign keys, as a dump is loaded; then the statistics that years would have left. */
export const fillHistory = async (url: string, { nodes, days, per_day }: History): Promise<number> => {
  const total = days * per_day;
  const sql = (text: string): string =>
    text.replaceAll('PER_DAY', String(per_day)).replaceAll('TOTAL', String(total)).replaceAll('NODES', String(nodes));
  const owner = new Client({ connectionString: url });
  await owner.connect();
  try {
    await owner.query(
      "set session_replication_role = replica; set maintenance_work_mem = '256MB'; set synchronous_commit = off",
    );
    await owner.query(sql(PAST));
    for (const insert of [...INSERTS, ...LASTING_INSERTS]) await owner.query(sql(insert));
    await owner.query('drop table past');
    await owner.query('vacuum analyze');
    return total;
  } finally {
    await owner.end();
  }
};
