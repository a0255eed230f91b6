/**
 * The writes of a release, in two statements: one when it is accepted, one when the wipe is proven. Each fails the
 * transaction if it does not get everything, so it can be sent in one packet with the commit without counting rows
 * first.
 */
import { REASONS } from '../../domain/reasons.ts';
import type { AllocationState } from '../allocation.ts';
import type { Reader, Tx } from '../client.ts';
import { HELD } from '../lifecycle.ts';
import { eventRecords, INSERT_EVENTS, type NewOutboxEvent } from '../outbox.ts';
import { SET_SUMMARY, SUMMARY_STATE, type SummaryRow } from '../placement.ts';
import {
  ALLOCATION_STARTING,
  claimIsLive,
  claimReachesDisk,
  NODE_TO_CLEAN,
  SLOT_TO_CLEAN,
  slotIsFit,
} from '../predicates.ts';
import { statement } from '../statement.ts';
import { INSERT_RUN, type NewRun, RUN_PARAMETERS } from '../workflow-run.ts';

const CANCEL_OWN_RUNS = statement(
  { allocation_id: 'text', workflows: 'text[]', reason: 'text' },
  `update workflow_runs r set cancel_requested_at = coalesce(r.cancel_requested_at, clock_timestamp()),
     cancel_reason = case when r.cancel_requested_at is null then :reason else r.cancel_reason end,
     due_at = case when r.state = 'running' then r.due_at else clock_timestamp() end
   where r.workflow = any (:workflows) and r.subject_id = :allocation_id and r.finished_at is null
     and exists (select from allocations a where a.id = :allocation_id
       and (a.state ${ALLOCATION_STARTING} or a.power_run_id = r.id))`,
);

/**
 * Requests the end of the run that provisions the allocation, if it has not ended, and of the one that changes its
 * power. It may be sent before the allocation is locked, as the lock order requires, and before it is known to be
 * needed. A live run is recognized by `finished_at`, not by its state: by its state the planner reads every live run.
 */
export const cancelOwnRuns = async (
  tx: Tx,
  cancel: Readonly<{ allocation_id: string; workflows: readonly string[]; reason: string }>,
): Promise<void> => {
  await CANCEL_OWN_RUNS.query(tx, cancel);
};

export type CleanupStart = Readonly<{
  allocation_id: string;
  node_id: string;
  from: readonly AllocationState[];
  to: 'releasing' | 'failed';
  reason: string;
  deadline_s: number | null;
  /** Why tasks that no host has started are cancelled. */
  task_reason: string;
  /** Whether it holds a whole node, whose occupancy then changes. */
  is_whole_node: boolean;
  run: NewRun;
  /** Run events are emitted only if the run is new. */
  events: readonly NewOutboxEvent[];
}>;

const CLEAN_NODE = `node as (
       update nodes n set occupancy = 'cleaning', version = n.version + 1 from allocation_resource_claims c
       where c.allocation_id = :allocation_id and c.node_id = :node_id and ${claimIsLive('c')} and c.claim_kind = 'node_exclusive'
         and n.id = c.node_id and n.occupancy ${NODE_TO_CLEAN}),`;

const cleanupStatement = (node: string) =>
  statement(
    {
      allocation_id: 'text',
      node_id: 'text',
      from: 'text[]',
      to: 'text',
      reason: 'text',
      deadline_s: 'float8 | null',
      task_reason: 'text',
      events: 'jsonb',
      ...RUN_PARAMETERS,
    },
    `with moved as (
       update allocations a set state = :to, state_reason = :reason, state_since = t.at, version = a.version + 1,
         state_deadline_at = t.at + make_interval(secs => :deadline_s),
         release_requested_at = case when :to = 'releasing' then coalesce(a.release_requested_at, t.at) else a.release_requested_at end,
         failure_reason = case when :to = 'failed' then :reason else a.failure_reason end
       from (select clock_timestamp() as at) t where a.id = :allocation_id and a.state = any (:from) returning 1),
     task as (
       update node_tasks set state = 'cancelled', state_reason = :task_reason, finished_at = clock_timestamp()
       where allocation_id = :allocation_id and node_id = :node_id and state = 'queued'),
     held as (select s.id ${HELD} where s.status ${SLOT_TO_CLEAN}),
     slot as (
       update node_resource_slots t set status = 'cleaning', status_reason = :reason, status_since = clock_timestamp(), version = t.version + 1
       from held where t.id = held.id),
     ${node}
     run as (${INSERT_RUN} returning r.id),
     event as (${INSERT_EVENTS} where e.subject <> :run_id or exists (select from run))
     select require((select count(*) from moved) = 1, 'allocation')`,
  );

const CLEANUP = { slice: cleanupStatement(''), node: cleanupStatement(CLEAN_NODE) };

/**
 * The allocation, locked before, goes into cleanup: its state, the tasks that no host has started, its holdings, the
 * wipe run unless one is live already, and the events. A bare-metal tenant could write to slots that were never
 * reserved for it, so `available` ones are cleaned too.
 */
export const enterCleanup = (tx: Tx, start: CleanupStart): Promise<unknown> => {
  const { run, events, is_whole_node, ...cleanup } = start;
  const { id: run_id, ...definition } = run;
  return CLEANUP[is_whole_node ? 'node' : 'slice'].query(tx, {
    ...cleanup,
    ...definition,
    run_id,
    events: eventRecords(events),
  });
};

export type Holding = Readonly<{
  claims: readonly Readonly<{ id: string; slot_id: string | null; gpu_count: number }>[];
  /** Whether the node is held by others as well. */
  is_shared: boolean;
  /** Slots of the node that are quarantined when their wipe is proven. */
  suspect_slot_ids: readonly string[];
  /** When each unavailable slot of the node was last claimed. */
  claimed_at_s: Readonly<Record<string, number>>;
  /** Disks that a claim on the whole node reached: those of the newest discovery, and those that an operator excluded meanwhile. */
  disks: readonly Readonly<{ serial: string | null }>[];
}>;

const FIND_HOLDING = statement(
  { allocation_id: 'text', node_id: 'text' },
  `select coalesce((select jsonb_agg(jsonb_build_object('id', c.id, 'slot_id', c.slot_id, 'gpu_count', c.gpu_count) order by c.id)
       from allocation_resource_claims c where c.allocation_id = :allocation_id and c.node_id = :node_id and ${claimIsLive('c')}), '[]') as claims,
     exists (select from allocation_resource_claims o where o.node_id = :node_id and ${claimIsLive('o')}
       and o.allocation_id <> :allocation_id) as is_shared,
     array(select s.id from node_resource_slots s where s.node_id = :node_id and s.quarantine_reason is not null) as suspect_slot_ids,
     coalesce((select jsonb_object_agg(s.id, floor(extract(epoch from s.last_claimed_at))) from node_resource_slots s
       where s.node_id = :node_id and s.status <> 'available' and s.last_claimed_at is not null), '{}') as claimed_at_s,
     coalesce((select jsonb_agg(jsonb_build_object('serial', r.serial) order by r.serial) from (
       select f.serial from nodes n cross join lateral jsonb_to_recordset(n.disks_found) as f (serial text) where n.id = :node_id
       union all select distinct d.serial from disk_ownerships d join allocation_resource_claims c on ${claimReachesDisk('c', 'd')}
         where c.allocation_id = :allocation_id and d.node_id = :node_id and d.wipe_proof_id is null and d.state in ('excluded', 'revoked')
           and not exists (select from nodes n where n.id = d.node_id and n.disks_found @> jsonb_build_array(jsonb_build_object('serial', d.serial)))
       ) r), '[]') as disks`,
);

/** The remaining holdings of the allocation on the node, and the state of the node without it. */
export const findHolding = async (reader: Reader, allocationId: string, nodeId: string): Promise<Holding> => {
  const { rows } = await FIND_HOLDING.query<Holding>(reader, { allocation_id: allocationId, node_id: nodeId });
  return rows[0] ?? { claims: [], is_shared: false, suspect_slot_ids: [], claimed_at_s: {}, disks: [] };
};

export type ProvenRelease = Readonly<{
  allocation: Readonly<{
    id: string;
    organization_id: string;
    project_id: string;
    from: AllocationState;
    to: AllocationState;
    reason: string | null;
  }>;
  node_id: string;
  task_id: string;
  correlation_id: string;
  proofs: readonly Readonly<{ id: string; slot_id: string | null; method: string; evidence: object }>[];
  claims: readonly Readonly<{ id: string; proof_id: string; gpu_count: number }>[];
  /** A slot that is not fit is quarantined. */
  slots: readonly Readonly<{ id: string; generation: number; is_reset: boolean; is_fit: boolean }>[];
  summary: SummaryRow;
  /** A host that the launch left: the allocation and its quota are elsewhere. */
  is_left: boolean;
  events: readonly NewOutboxEvent[];
}>;

const RELEASE = statement(
  {
    allocation_id: 'text',
    organization_id: 'text',
    project_id: 'text',
    from: 'text',
    to: 'text',
    reason: 'text | null',
    node_id: 'text',
    task_id: 'text',
    correlation_id: 'text',
    proofs: 'jsonb',
    claim_ids: 'text[]',
    proof_ids: 'text[]',
    gpu_count: 'integer',
    slot_ids: 'text[]',
    generations: 'integer[]',
    is_fit: 'boolean[]',
    is_reset: 'boolean[]',
    not_reset_reason: 'text',
    unfit_reason: 'text',
    reboot_reason: 'text',
    is_left: 'boolean',
    events: 'jsonb',
    ...SUMMARY_STATE,
  },
  `with proof as (
     insert into wipe_proofs (id, node_id, slot_id, allocation_id, task_id, method, is_verified, evidence, correlation_id)
     select p.id, :node_id, p.slot_id, :allocation_id, :task_id, p.method, true, p.evidence, :correlation_id
     from jsonb_to_recordset(:proofs) as p (id text, slot_id text, method text, evidence jsonb) returning id, slot_id, created_at),
   claim as (
     update allocation_resource_claims c set released_at = clock_timestamp(), wipe_proof_id = proof.id
     from unnest(:claim_ids, :proof_ids) as w (claim_id, proof_id) join proof on proof.id = w.proof_id
     where c.id = w.claim_id and c.allocation_id = :allocation_id and ${claimIsLive('c')} returning 1),
   slot as (
     update node_resource_slots s set wipe_proof_id = proof.id, wiped_at = proof.created_at, version = s.version + 1,
       status = case when w.is_fit then 'available' else 'quarantined' end,
       status_reason = case when w.is_fit then null when not w.is_reset then :not_reset_reason
         else coalesce(s.quarantine_reason, s.status_reason, :unfit_reason) end,
       quarantine_reason = null, status_since = clock_timestamp(),
       health_detail = s.health_detail || jsonb_build_object('allocation_id', :allocation_id, 'event', 'cleaned', 'reason', :reason,
         'at', proof.created_at, 'wipe_proof_id', proof.id)
     from unnest(:slot_ids, :generations, :is_fit, :is_reset) as w (id, generation, is_fit, is_reset) join proof on proof.slot_id = w.id
     where s.id = w.id and s.node_id = :node_id and s.generation = w.generation and s.status in ('cleaning', 'quarantined')
       and w.is_fit = (w.is_reset and s.quarantine_reason is null and ${slotIsFit('s')}) returning 1),
   node as (
     update nodes n set version = n.version + 1, reboot_required = n.reboot_required or not w.is_reset,
       reboot_wanted_at = case when w.is_reset then n.reboot_wanted_at else clock_timestamp() end,
       reboot_reason = case when w.is_reset then n.reboot_reason else :reboot_reason end,
       occupancy = case when w.is_free then 'free' else n.occupancy end
     from (select true = all (:is_reset) as is_reset, :occupancy = 'free' and not exists (select from allocation_resource_claims o
         where o.node_id = :node_id and ${claimIsLive('o')} and o.id <> all (:claim_ids)) as is_free) w
     where n.id = :node_id and (w.is_free and n.occupancy <> 'free' or not w.is_reset)),
   moved as (
     update allocations a set state = :to, state_reason = :reason, state_deadline_at = null, version = a.version + 1,
       state_since = case when a.state = :to then a.state_since else t.at end,
       released_at = case when :to = 'released' then t.at else a.released_at end
     from (select clock_timestamp() as at) t where a.id = :allocation_id and a.state = :from and not :is_left returning 1),
   summary as (${SET_SUMMARY} returning 1),
   event as (${INSERT_EVENTS}),
   organization_quota as (
     update quotas set gpu_used = gpu_used - :gpu_count where organization_id = :organization_id and project_id = '' and not :is_left
       and (select count(*) from slot) + (select count(*) from claim) > 0 returning 1),
   project_quota as (
     update quotas set gpu_used = gpu_used - :gpu_count where organization_id = :organization_id and project_id = :project_id and not :is_left
       and (select count(*) from organization_quota) >= 0)
   select require((select count(*) from claim) = cardinality(:claim_ids), 'claims'),
     require((select count(*) from slot) = cardinality(:slot_ids), 'slots'),
     require((select count(*) from summary) = 1, 'summary'),
     require((select count(*) from moved) = case when :is_left then 0 else 1 end, 'allocation')`,
);

/**
 * The proof frees everything at once: claims, slots, node, quota and the allocation, with the node's index row. Slots
 * are fenced by generation, so a proof can never be about a later tenant's data; the node's index row must be locked,
 * so that no request claims what is read here. Quota comes last, organization first, as when it was taken.
 */
export const releaseClaimSet = (tx: Tx, release: ProvenRelease): Promise<unknown> => {
  const { allocation, claims, slots, summary, node_id, task_id, correlation_id, proofs, events } = release;
  return RELEASE.query(tx, {
    ...summary,
    ...allocation,
    allocation_id: allocation.id,
    node_id,
    task_id,
    correlation_id,
    proofs,
    claim_ids: claims.map((claim) => claim.id),
    proof_ids: claims.map((claim) => claim.proof_id),
    gpu_count: claims.reduce((sum, claim) => sum + claim.gpu_count, 0),
    slot_ids: slots.map((slot) => slot.id),
    generations: slots.map((slot) => slot.generation),
    is_fit: slots.map((slot) => slot.is_fit),
    is_reset: slots.map((slot) => slot.is_reset),
    not_reset_reason: REASONS.gpu_not_reset,
    unfit_reason: REASONS.slot_not_schedulable,
    reboot_reason: REASONS.reboot_for_gpu,
    is_left: release.is_left,
    events: eventRecords(events),
  });
};
