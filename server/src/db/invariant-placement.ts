/**
 * Invariants of slots, claims, nodes and the placement index, independent of the code above. Each is a query that
 * returns the violating rows; most repeat a constraint on purpose, because a constraint can be dropped or added too
 * late.
 */
import { type Invariant, RECENT } from './invariant-rule.ts';
import {
  claimHoldsSlot,
  claimIsLive,
  claimReachesDisk,
  RUN_LIVE,
  runtimeIsValidated,
  slotIsComplete,
  slotIsUsable,
  takesLaunches,
  unapprovedDiskCount,
} from './predicates.ts';

const LIVE = `allocation_resource_claims c where ${claimIsLive('c')}`;

/**
 * Each binding with its scope of uniqueness and its column. One grouping each: together they would sort a million rows.
 */
const BINDINGS = [
  ['GPU', 'node_id', 'gpu_pci_address'],
  ['fabric function', 'node_id', 'fabric_vf_pci_address'],
  ['NVMe serial', 'region_name', 'nvme_serial'],
  ['MAC', 'region_name', 'mac_address'],
  ['IP', 'network_id', 'private_ip'],
] as const;

export const PLACEMENT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'one_claim_per_slot',
    rule: 'No slot has two unreleased claims.',
    sql: `select c.slot_id as subject_id, 'claims ' || string_agg(c.id, ', ' order by c.id) as detail
      from ${LIVE} and c.slot_id is not null group by c.slot_id having count(*) > 1`,
  },
  {
    name: 'claim_released_with_proof',
    rule: 'A claim is released only by a verified proof of its own allocation, node and slot.',
    sql: `select c.id as subject_id, case when p.id is null then 'no proof' when p.outcome <> 'verified' then 'the proof is not verified'
        else 'the proof has another target' end as detail
      from allocation_resource_claims c left join wipe_proofs p on p.id = c.wipe_proof_id
      where c.released_at > ${RECENT} and (p.id is null or p.outcome <> 'verified' or p.allocation_id <> c.allocation_id
        or p.node_id <> c.node_id or p.slot_id is distinct from c.slot_id or p.created_at < c.created_at)`,
  },
  {
    name: 'available_slot_is_unclaimed',
    rule: 'A schedulable slot has no unreleased claim, and neither has its node.',
    sql: `select s.id as subject_id, 'held by claim ' || c.id as detail from node_resource_slots s
      join allocation_resource_claims c on ${claimHoldsSlot('c', 's')}
      where s.status = 'available'`,
  },
  {
    name: 'available_slot_is_complete',
    rule: 'A schedulable slot has its GPU, disk, addresses and a dedicated fabric function.',
    sql: `select s.id as subject_id, 'a binding is missing' as detail from node_resource_slots s where s.status = 'available'
      and not ${slotIsComplete('s')}`,
  },
  {
    // Proof by proof: the planner would walk all proofs of years.
    name: 'available_slot_is_wiped',
    rule: 'A schedulable slot has a verified wipe of its disk and its GPU since their last claim anywhere; an override counts only where the region allows it.',
    sql: `select s.id as subject_id, case when p.id is null then 'no proof' when p.outcome = 'overridden' then 'the region does not allow overrides'
        when p.outcome <> 'verified' then 'the proof is not verified' else 'the proof is older than the last claim' end as detail
      from node_resource_slots s left join lateral (select * from wipe_proofs x where x.id = s.wipe_proof_id and x.slot_id = s.id limit 1) p on true
      where s.status = 'available' and (p.id is null or p.created_at < s.last_claimed_at or s.wiped_at < s.last_claimed_at
        or p.outcome <> 'verified' and not (p.outcome = 'overridden'
          and exists (select from regions r where r.name = s.region_name and r.allows_wipe_override)))
      union all select s.id, case when coalesce(p.disk_serial, p.evidence ->> 'serial') is distinct from s.nvme_serial
          then 'the proof is of another disk' else 'the GPU was not reset' end
      from (select * from wipe_proofs where created_at > ${RECENT} offset 0) p
      join node_resource_slots s on s.id = p.slot_id and s.wipe_proof_id = p.id
      where s.status = 'available' and (coalesce(p.disk_serial, p.evidence ->> 'serial') is distinct from s.nvme_serial
        or p.outcome = 'verified' and p.evidence -> 'gpu_reset' -> 'is_ok' is distinct from 'true')
      ${['nvme_serial', 'gpu_uuid']
        .map(
          (device) => `union all select s.id, 'claimed later in slot ' || o.id from node_resource_slots s
        join node_resource_slots o on o.${device} = s.${device} and o.id <> s.id where s.status = 'available' and o.last_claimed_at > s.wiped_at`,
        )
        .join(' ')}
      union all select s.id, 'claimed later as a data disk of ' || n.id from nodes n
        cross join lateral jsonb_to_recordset(n.data_disks) as d (serial text) join node_resource_slots s on s.nvme_serial = d.serial
        join allocation_resource_claims c on c.node_id = n.id and c.claim_kind = 'node_exclusive'
          and (c.created_at > s.wiped_at or ${claimIsLive('c')})
        where s.status = 'available'
      union all select s.id, 'claimed later with the whole node ' || d.node_id || ', where the disk is ' || d.state from disk_ownerships d
        join node_resource_slots s on s.nvme_serial = d.serial join allocation_resource_claims c on ${claimReachesDisk('c', 'd')}
          and (c.created_at > s.wiped_at or ${claimIsLive('c')})
        where s.status = 'available'`,
  },
  {
    name: 'proof_is_in_its_chain',
    rule: 'A wipe proof of the last hour matches its hash and follows the previous proof.',
    sql: `select p.id as subject_id, case when p.proof_hash <> wipe_proof_hash(p) then 'the proof does not match its hash'
        else 'the proof does not follow the previous one' end as detail
      from wipe_proofs p left join wipe_proofs b on b.target_id = p.target_id and b.sequence = p.sequence - 1
      where p.created_at > statement_timestamp() - interval '1 hour' and (p.proof_hash <> wipe_proof_hash(p)
        or p.previous_hash <> case when p.sequence = 1 then wipe_chain_genesis(p.target_id) else coalesce(b.proof_hash, (
          select c.proof_hash from wipe_chain_cuts c where c.target_id = p.target_id and c.sequence = p.sequence - 1), '') end)`,
  },
  {
    name: 'taken_slot_has_claim',
    rule: 'A slot that is reserved, in use, being cleaned or blocked has an unreleased claim.',
    sql: `select s.id as subject_id, 'status ' || s.status || ' without a claim' as detail from node_resource_slots s
      where s.status in ('reserved', 'in_use', 'cleaning', 'cleanup_blocked') and not exists (select from ${LIVE} and c.node_id = s.node_id
        and (c.slot_id = s.id or c.claim_kind = 'node_exclusive'))`,
  },
  {
    name: 'claims_match_allocation',
    rule: 'All claims of an allocation are on one node, match its shape and add up to its GPUs, except those its launch left.',
    sql: `select a.id as subject_id, count(*) || ' claims of ' || sum(c.gpu_count) || ' GPUs on ' || count(distinct c.node_id) || ' nodes for '
        || a.gpu_count || ' GPUs as ' || a.capacity_shape as detail
      from allocations a join allocation_resource_claims c on c.allocation_id = a.id and c.move_id is null
      where a.state <> 'released' or a.released_at > ${RECENT} group by a.id
      having count(distinct c.node_id) > 1 or sum(c.gpu_count) <> a.gpu_count or max(c.node_id) is distinct from a.node_id
        or bool_or((c.claim_kind = 'node_exclusive') <> (a.capacity_shape = 'baremetal'))`,
  },
  {
    name: 'left_host_is_cleaned',
    rule: 'What a launch left is unschedulable, on another node than its allocation, and has a cleanup run until a wipe is proven.',
    sql: `select c.target_id as subject_id, case when a.node_id = c.node_id then 'the allocation is still there' when s.id is not null then 'slot ' || s.status
        else 'no cleanup run' end as detail
      from allocation_resource_claims c join allocations a on a.id = c.allocation_id
      left join node_resource_slots s on ${claimHoldsSlot('c', 's')} and s.status in ('available', 'reserved', 'in_use')
      where ${claimIsLive('c')} and c.move_id is not null and (a.node_id = c.node_id or s.id is not null or not exists (
        select from workflow_runs r where r.subject_id = c.move_id and r.workflow = 'clean-left-host'
          and (r.state ${RUN_LIVE} or r.state = 'stuck' or r.state_since > statement_timestamp() - interval '5 minutes')))`,
  },
  {
    name: 'slice_is_legal_set',
    rule: 'On a board with a fabric, the GPUs of a slice form one partition.',
    sql: `select held.allocation_id as subject_id, 'modules ' || array_to_string(held.modules, ', ') as detail
      from (select c.allocation_id, c.node_id, array_agg(s.module_id order by s.module_id) as modules from allocation_resource_claims c
        join node_resource_slots s on s.id = c.slot_id where ${claimIsLive('c')} group by c.allocation_id, c.node_id) held
      where exists (select from node_fabric_partitions f where f.node_id = held.node_id)
        and not exists (select from node_fabric_partitions f where f.node_id = held.node_id
          and cardinality(f.module_ids) = cardinality(held.modules) and f.module_ids @> held.modules)`,
  },
  {
    name: 'exclusive_excludes_slots',
    rule: 'A claim on a whole node excludes every other claim on it.',
    sql: `select c.node_id as subject_id, count(*) || ' claims beside a claim on the whole node' as detail from ${LIVE}
      group by c.node_id having count(*) > 1 and bool_or(c.claim_kind = 'node_exclusive')`,
  },
  {
    name: 'occupancy_matches_claims',
    rule: 'A node is in the mode that its unreleased claims need, and free without any.',
    sql: `select n.id as subject_id, 'occupancy ' || n.occupancy || ', claims: ' || coalesce(held.kinds, 'none') as detail from nodes n
      left join (select c.node_id, string_agg(distinct c.claim_kind, ', ') as kinds from ${LIVE} group by c.node_id) held on held.node_id = n.id
      where case n.occupancy when 'free' then null when 'sliced' then 'slot' else 'node_exclusive' end is distinct from held.kinds`,
  },
  {
    name: 'bindings_are_unique',
    rule: 'No two approved slots share a device of their node or site, or an address of their network.',
    sql: BINDINGS.map(
      ([
        name,
        place,
        column,
      ]) => `select min(id) as subject_id, '${name} ' || ${column} || ' is bound ' || count(*) || ' times' as detail
        from node_resource_slots where approval = 'approved' and ${column} is not null group by ${place}, ${column} having count(*) > 1`,
    ).join(' union all '),
  },
  {
    name: 'approval_is_named',
    rule: 'Every approved slot is on a compute host and names its operator and its discovery.',
    sql: `select s.id as subject_id, case when n.host_role <> 'worker_compute' then 'on a ' || n.host_role || ' host'
        else 'without operator or discovery' end as detail
      from node_resource_slots s join nodes n on n.id = s.node_id
      where s.approval <> 'disabled' and (s.approved_by is null or s.approved_at is null or s.discovery_task_id is null
        or n.host_role <> 'worker_compute')`,
  },
  {
    name: 'index_has_every_node',
    rule: 'Every node has one row in the placement index, in its region; no row belongs to a deleted node.',
    sql: `select coalesce(n.id, m.node_id) as subject_id, case when m.node_id is null then 'no row in the index' when n.id is null then 'no such node'
        else 'indexed as ' || m.gpu_model || ' in ' || m.region_name end as detail
      from nodes n full join node_placement_summary m on m.node_id = n.id
      where m.node_id is null or n.id is null or m.region_name <> n.region_name or m.gpu_model <> n.gpu_model`,
  },
  {
    name: 'index_matches_slots',
    rule: 'The placement index counts exactly the slots that are approved, available, healthy and complete.',
    sql: `select m.node_id as subject_id, 'index mask ' || m.free_mask || ', slots give ' || coalesce(s.mask, 0) as detail
      from node_placement_summary m left join (
        select s.node_id, sum(1::bigint << s.slot_index) as mask, count(*) as free from node_resource_slots s
        where ${slotIsUsable('s')} and ${slotIsComplete('s')} group by s.node_id) s
        on s.node_id = m.node_id
      where m.free_mask <> coalesce(s.mask, 0) or m.free_count <> coalesce(s.free, 0)`,
  },
  {
    name: 'index_offers_ready_nodes',
    rule: 'The placement index offers only active, healthy, unheld compute nodes with GPUs of their model, in a matching capacity mode, and whole ones only where a release wipes every disk that no operator excluded.',
    sql: `select m.node_id as subject_id, 'offered though ' || n.state || ', ' || n.health || ', ' || n.occupancy || ', ' || n.capacity_mode as detail
      from node_placement_summary m join nodes n on n.id = m.node_id cross join lateral (select
        coalesce(m.key_1, m.key_2, m.key_4, m.key_8) is not null as slices, m.key_node is not null as whole) offered
      where (offered.slices or offered.whole) and (not ${takesLaunches('n')} or n.health <> 'ok' or n.host_role <> 'worker_compute'
          or n.occupancy in ('exclusive', 'cleaning', 'cleanup_blocked') or m.occupancy <> n.occupancy or m.capacity_mode <> n.capacity_mode)
        or offered.slices and (n.capacity_mode = 'baremetal' or n.is_held or not ${runtimeIsValidated('n')})
        or offered.whole and (n.capacity_mode = 'slice' or n.occupancy <> 'free' or ${unapprovedDiskCount('n')} > 0)`,
  },
];
