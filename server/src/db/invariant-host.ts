/**
 * Invariants between host reports and claims. A report is slightly older than the claims it is compared with, so
 * changes within minutes count for neither side.
 */
import type { Invariant } from './invariant-rule.ts';
import { claimIsLive, NODE_OVER, taskIsHeldByRestore } from './predicates.ts';

const A_WHILE = "statement_timestamp() - interval '5 minutes'";

export const HOST_INVARIANTS: readonly Invariant[] = [
  {
    name: 'vm_has_claim_or_finding',
    rule: 'Every managed VM on a host has an unreleased claim there, or an orphan finding.',
    sql: `select i.node_id as subject_id, 'VM ' || (m ->> 'name') || ' has no claim and no finding' as detail
      from node_inventories i cross join lateral jsonb_array_elements(i.content -> 'vms') m
      where i.received_at > ${A_WHILE} and (m ->> 'is_managed')::boolean
        and not exists (select from allocation_resource_claims c where c.allocation_id = m ->> 'allocation_id'
          and c.node_id = i.node_id and (${claimIsLive('c')} or c.released_at > ${A_WHILE}))
        and not exists (select from jsonb_array_elements(i.findings) f
          where f ->> 'code' = 'orphan_vm' and f ->> 'vm' = m ->> 'name')
        and not exists (select from allocation_resource_claims c where c.node_id = i.node_id and c.claim_kind = 'node_exclusive'
          and (${claimIsLive('c')} or c.released_at > ${A_WHILE}))`,
  },
  {
    name: 'held_tasks_are_not_sent',
    rule: 'After a restore, no task that destroys data or installs keys is sent to a host before an operator released it.',
    sql: `select t.id as subject_id, t.kind || ' was sent at ' || t.dispatched_at as detail
      from nodes n join restores r on r.id = n.restore_hold_id join node_tasks t on t.node_id = n.id
      where t.dispatched_at > r.began_at and ${taskIsHeldByRestore('t')}`,
  },
  {
    name: 'host_has_live_node',
    rule: 'A retired or deleted node has no host, and a node whose host has ended is not schedulable before it has another.',
    sql: `select n.id as subject_id, case when h.ended_at is null then 'the node is ' || n.state || ' and keeps its host'
        else 'schedulable, and its last host ended at ' || h.ended_at end as detail
      from nodes n join lateral (select * from node_hosts e where e.node_id = n.id
        order by e.ended_at is null desc, e.ended_at desc limit 1) h on true left join node_placement_summary s on s.node_id = n.id
      where h.ended_at is null and n.state ${NODE_OVER} or h.ended_at is not null and s.is_schedulable`,
  },
  {
    name: 'unclaimed_vm_blocks_slots',
    rule: 'A slot whose devices belong to a VM without a claim is not schedulable.',
    sql: `select s.id as subject_id, 'schedulable, and VM ' || (f ->> 'vm') || ' has its devices' as detail
      from node_inventories i cross join lateral jsonb_array_elements(i.findings) f
      join node_resource_slots s on s.node_id = i.node_id and f -> 'slot_ids' ? s.id and s.status = 'available'
        and s.status_since < i.received_at
      where i.findings <> '[]' and f ->> 'code' in ('orphan_vm', 'unknown_vm')`,
  },
];
