/** The writes of a launch's move, in one round trip. */
import type { Tx } from '../client.ts';
import { HELD } from '../lifecycle.ts';
import { eventRecords, INSERT_EVENTS, type NewOutboxEvent } from '../outbox.ts';
import { ALLOCATION_STARTING, claimIsLive } from '../predicates.ts';
import { statement } from '../statement.ts';
import { INSERT_RUN, type NewRun, RUN_PARAMETERS } from '../workflow-run.ts';
import { CLAIMS, OCCUPY, RESERVE_SLOTS } from './claim.ts';

export type LaunchMove = Readonly<{
  id: string;
  allocation_id: string;
  organization_id: string;
  project_id: string;
  capacity_shape: 'baremetal' | 'gpu_slice';
  gpu_count: number;
  number: number;
  from_node_id: string;
  /** The host task that failed, and why the launch moves. */
  task_id: string;
  reason: string;
  /** The new placement. */
  node_id: string;
  slot_ids: readonly string[];
  claim_ids: readonly string[];
  partition_id: number | null;
  scores: Readonly<Record<string, number>>;
  /** The run that cleans up the host that is left. */
  run: NewRun;
  events: readonly NewOutboxEvent[];
}>;

const ON_LEFT_NODE = HELD.replaceAll(':node_id', ':from_node_id');

const moveStatement = (claims: string) =>
  statement(
    {
      move_id: 'text',
      allocation_id: 'text',
      gpu_count: 'integer',
      number: 'integer',
      from_node_id: 'text',
      task_id: 'text',
      reason: 'text',
      node_id: 'text',
      slot_ids: 'text[]',
      claim_ids: 'text[]',
      partition_id: 'integer | null',
      scores: 'jsonb',
      events: 'jsonb',
      occupancy: 'text',
      ...RUN_PARAMETERS,
    },
    `with move as (
       insert into allocation_moves (id, allocation_id, organization_id, project_id, number, from_node_id, to_node_id, slot_ids, partition_id,
         scores, task_id, reason)
       values (:move_id, :allocation_id, :organization_id, :project_id, :number, :from_node_id, :node_id, :slot_ids, :partition_id,
         :scores, :task_id, :reason)),
     moved as (
       update allocations a set node_id = :node_id, state_reason = :reason, version = a.version + 1
       where a.id = :allocation_id and a.node_id = :from_node_id and a.state ${ALLOCATION_STARTING} returning 1),
     task as (
       update node_tasks set state = 'cancelled', state_reason = :reason, finished_at = clock_timestamp()
       where allocation_id = :allocation_id and node_id = :from_node_id and state = 'queued'),
     held as (select s.id ${ON_LEFT_NODE} where s.status in ('available', 'reserved', 'in_use')),
     left_slot as (
       update node_resource_slots t set status = 'cleaning', status_reason = :reason, status_since = clock_timestamp(), version = t.version + 1
       from held where t.id = held.id),
     left_node as (
       update nodes n set occupancy = 'cleaning', version = n.version + 1 where n.id = :from_node_id and n.occupancy = 'exclusive'),
     left_claim as (
       update allocation_resource_claims c set move_id = :move_id
       where c.allocation_id = :allocation_id and c.node_id = :from_node_id and ${claimIsLive('c')} and c.move_id is null
       returning c.gpu_count),
     slot as (${RESERVE_SLOTS}),
     ${OCCUPY}
     claim as (${claims} returning 1),
     run as (${INSERT_RUN} returning r.id),
     event as (${INSERT_EVENTS})
     select require(w.missing is null, w.missing) from (select case
       when (select count(*) from moved) <> 1 then 'allocation'
       when (select coalesce(sum(gpu_count), 0) from left_claim) <> :gpu_count then 'left claims'
       when (select count(*) from slot) <> cardinality(:slot_ids) then 'slots'
       when (select count(*) from claim) <> cardinality(:claim_ids) then 'claims'
       when (select count(*) from run) <> 1 then 'run' end as missing) w`,
  );

const STATEMENTS = { gpu_slice: moveStatement(CLAIMS.gpu_slice), baremetal: moveStatement(CLAIMS.baremetal) };

/**
 * The launch, locked before, moves from one node to another: the new claims, slot states and node occupancy, the old
 * claims with the move that left them, their slots and the run that cleans them up, the allocation and the events. It
 * takes no quota and no price: both stay as launched. The new node's index row must be locked, and both are refreshed
 * afterwards. The statement fails the transaction if it does not get everything.
 */
export const moveClaimSet = (tx: Tx, move: LaunchMove): Promise<unknown> => {
  const { id, capacity_shape, run, events, ...rest } = move;
  const { id: run_id, ...definition } = run;
  return STATEMENTS[capacity_shape].query(tx, {
    ...rest,
    ...definition,
    node_id: move.node_id,
    occupancy: capacity_shape === 'gpu_slice' ? 'sliced' : 'exclusive',
    move_id: id,
    run_id,
    organization_id: move.organization_id,
    project_id: move.project_id,
    events: eventRecords(events),
  });
};
