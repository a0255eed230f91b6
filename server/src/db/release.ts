/**
 * What a release writes, in two statements: one when it is accepted, one when the wipe is proven. Each refuses by itself
 * what it does not get in full, by failing the transaction, so it may leave in one packet with the commit and nobody has
 * to count rows first.
 */
import type { AllocationState } from './allocation.ts';
import type { Reader, Tx } from './client.ts';
import { HELD } from './lifecycle.ts';
import { EVENT_COLUMNS, EVENT_RECORD, eventRecords, type NewOutboxEvent } from './outbox.ts';
import type { SummaryRow } from './placement.ts';
import type { NewRun } from './workflow-run.ts';

/**
 * Asks the run that provisions the allocation to end, if provisioning is not over, and the one that changes its power. It may be sent before the allocation
 * is locked, as the order of locks wants it, and before anybody knows that it is needed. A live run is told by its end,
 * not by its state: by its state the planner reads every live run there is.
 */
export const cancelOwnRuns = async (
  tx: Tx,
  cancel: Readonly<{ allocation_id: string; workflows: readonly string[]; reason: string }>,
): Promise<void> => {
  await tx.query(
    `update workflow_runs r set cancel_requested_at = coalesce(r.cancel_requested_at, clock_timestamp()),
       cancel_reason = case when r.cancel_requested_at is null then $3 else r.cancel_reason end,
       due_at = case when r.state = 'running' then r.due_at else clock_timestamp() end
     where r.workflow = any ($2) and r.subject_id = $1 and r.finished_at is null
       and exists (select from allocations a where a.id = $1 and (a.state in ('requested', 'provisioning') or a.power_run_id = r.id))`,
    [cancel.allocation_id, cancel.workflows, cancel.reason],
  );
};

export type CleanupStart = Readonly<{
  allocation_id: string;
  from: readonly AllocationState[];
  to: 'releasing' | 'failed';
  reason: string;
  deadline_s: number | null;
  /** Why tasks that no host has begun are called off. */
  task_reason: string;
  /** Whether it holds a whole node, whose occupancy then says so. */
  is_whole_node: boolean;
  run: NewRun;
  /** Those about the run are told only if it is a new one. */
  events: readonly NewOutboxEvent[];
}>;

const CLEAN_NODE = `node as (
       update nodes n set occupancy = 'cleaning', version = n.version + 1 from allocation_resource_claims c
       where c.allocation_id = $1 and c.released_at is null and c.claim_kind = 'node_exclusive' and n.id = c.node_id
         and n.occupancy in ('exclusive', 'cleanup_blocked')),`;

/**
 * The allocation, locked before, goes into cleanup: its state, the tasks that no host has begun, what it holds, the run
 * that erases unless one is at it already, and the events. A bare-metal tenant could write to slots that were never
 * reserved for it, so `available` ones are cleaned too.
 */
export const enterCleanup = (tx: Tx, start: CleanupStart): Promise<unknown> => {
  const { run } = start;
  const node = start.is_whole_node ? CLEAN_NODE : '';
  return tx.query(
    `with moved as (
       update allocations a set state = $3, state_reason = $4, state_since = t.at, version = a.version + 1,
         state_deadline_at = t.at + make_interval(secs => $5),
         release_requested_at = case when $3 = 'releasing' then coalesce(a.release_requested_at, t.at) else a.release_requested_at end,
         failure_reason = case when $3 = 'failed' then $4 else a.failure_reason end
       from (select clock_timestamp() as at) t where a.id = $1 and a.state = any ($2) returning 1),
     task as (
       update node_tasks set state = 'cancelled', state_reason = $6, finished_at = clock_timestamp()
       where allocation_id = $1 and state = 'queued'),
     held as (select s.id ${HELD} where s.status in ('available', 'reserved', 'in_use', 'cleanup_blocked')),
     slot as (
       update node_resource_slots t set status = 'cleaning', status_reason = $4, status_since = clock_timestamp(), version = t.version + 1
       from held where t.id = held.id),
     ${node}
     run as (
       insert into workflow_runs (id, workflow, workflow_version, subject_id, organization_id, project_id, correlation_id, steps, step, deadline_ms, deadline_at)
       values ($7, $8, $9, $1, $10, $11, $12, $13, $14, $15::bigint, clock_timestamp() + $15::bigint * interval '1 millisecond')
       on conflict (workflow, subject_id) where state in ('pending', 'running', 'waiting') do nothing returning id),
     event as (
       insert into outbox_events (${EVENT_COLUMNS}) select e.* from jsonb_to_recordset($16) as e ${EVENT_RECORD}
       where e.subject <> $7 or exists (select from run))
     select require((select count(*) from moved) = 1, 'allocation')`,
    [
      start.allocation_id,
      start.from,
      start.to,
      start.reason,
      start.deadline_s,
      start.task_reason,
      run.id,
      run.workflow,
      run.workflow_version,
      run.organization_id,
      run.project_id,
      run.correlation_id,
      run.steps,
      run.step,
      run.deadline_ms,
      eventRecords(start.events),
    ],
  );
};

export type Holding = Readonly<{
  claims: readonly Readonly<{ id: string; slot_id: string | null; gpu_count: number }>[];
  /** Whether the node is held by others as well. */
  is_shared: boolean;
  /** When each slot of the node that is not for sale was last claimed. */
  claimed_at_s: Readonly<Record<string, number>>;
}>;

/** What the allocation still holds, and what will be left of the node without it. */
export const findHolding = async (reader: Reader, allocationId: string, nodeId: string): Promise<Holding> => {
  const { rows } = await reader.query<Holding>(
    `select coalesce((select jsonb_agg(jsonb_build_object('id', c.id, 'slot_id', c.slot_id, 'gpu_count', c.gpu_count) order by c.id)
         from allocation_resource_claims c where c.allocation_id = $1 and c.released_at is null), '[]') as claims,
       exists (select from allocation_resource_claims o where o.node_id = $2 and o.released_at is null and o.allocation_id <> $1) as is_shared,
       coalesce((select jsonb_object_agg(s.id, floor(extract(epoch from s.last_claimed_at))) from node_resource_slots s
         where s.node_id = $2 and s.status <> 'available' and s.last_claimed_at is not null), '{}') as claimed_at_s`,
    [allocationId, nodeId],
  );
  return rows[0] ?? { claims: [], is_shared: false, claimed_at_s: {} };
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
  /** A slot that is not fit for sale is kept apart for an operator. */
  slots: readonly Readonly<{ id: string; generation: number; is_reset: boolean; is_fit: boolean }>[];
  summary: SummaryRow;
  events: readonly NewOutboxEvent[];
}>;

const IS_FIT = `(s.status <> 'quarantined' and s.gpu_pci_address is not null
  and s.nvme_serial is not null and s.nvme_device is not null and s.mac_address is not null and s.private_ip is not null
  and s.fabric_claim_mode is not null and s.fabric_vf_pci_address is not null)`;

/**
 * The proof frees everything at once: claims, slots, node, quota and the allocation, with the node's index row. Slots are
 * fenced by generation, so a proof can never be about a later tenant's data; the node's index row must be locked, so that
 * nobody claims what is read here. Quota comes last, organization first, as when it was taken.
 */
export const releaseClaimSet = (tx: Tx, release: ProvenRelease): Promise<unknown> => {
  const { allocation: a, claims, slots, summary: s } = release;
  return tx.query(
    `with proof as (
       insert into wipe_proofs (id, node_id, slot_id, allocation_id, task_id, method, is_verified, evidence, correlation_id)
       select p.id, $7, p.slot_id, $1, $8, p.method, true, p.evidence, $9
       from jsonb_to_recordset($10) as p (id text, slot_id text, method text, evidence jsonb) returning id, slot_id, created_at),
     claim as (
       update allocation_resource_claims c set released_at = clock_timestamp(), wipe_proof_id = proof.id
       from unnest($11::text[], $12::text[]) as w (claim_id, proof_id) join proof on proof.id = w.proof_id
       where c.id = w.claim_id and c.allocation_id = $1 and c.released_at is null returning 1),
     slot as (
       update node_resource_slots s set wipe_proof_id = proof.id, wiped_at = proof.created_at, version = s.version + 1,
         status = case when w.is_fit then 'available' else 'quarantined' end,
         status_reason = case when w.is_fit then null when not w.is_reset then 'The GPU or its fabric function could not be reset; the host needs a reboot.'
           else coalesce(s.status_reason, 'Wiped, but not fit for sale.') end,
         status_since = clock_timestamp(),
         health_detail = s.health_detail || jsonb_build_object('allocation_id', $1::text, 'event', 'cleaned', 'reason', $6::text,
           'at', proof.created_at, 'wipe_proof_id', proof.id)
       from unnest($14::text[], $15::integer[], $16::boolean[], $28::boolean[]) as w (id, generation, is_fit, is_reset) join proof on proof.slot_id = w.id
       where s.id = w.id and s.node_id = $7 and s.generation = w.generation and s.status in ('cleaning', 'quarantined')
         and w.is_fit = (w.is_reset and ${IS_FIT}) returning 1),
     node as (
       update nodes n set version = n.version + 1, reboot_required = n.reboot_required or not w.is_reset,
         reboot_wanted_at = case when w.is_reset then n.reboot_wanted_at else clock_timestamp() end,
         reboot_reason = case when w.is_reset then n.reboot_reason else 'A GPU could not be reset.' end,
         occupancy = case when w.is_free then 'free' else n.occupancy end
       from (select true = all ($28::boolean[]) as is_reset, $17 = 'free' and not exists (select from allocation_resource_claims o
           where o.node_id = $7 and o.released_at is null and o.id <> all ($11)) as is_free) w
       where n.id = $7 and (w.is_free and n.occupancy <> 'free' or not w.is_reset)),
     moved as (
       update allocations a set state = $5, state_reason = $6, state_deadline_at = null, version = a.version + 1,
         state_since = case when a.state = $5 then a.state_since else t.at end,
         released_at = case when $5 = 'released' then t.at else a.released_at end
       from (select clock_timestamp() as at) t where a.id = $1 and a.state = $4 returning 1),
     summary as (
       update node_placement_summary set occupancy = $17, is_schedulable = $18, free_mask = $19, free_count = $20, largest_set = $21,
         key_1 = $22, key_2 = $23, key_4 = $24, key_8 = $25, key_node = $26, updated_at = now() where node_id = $7 returning 1),
     event as (insert into outbox_events (${EVENT_COLUMNS}) select e.* from jsonb_to_recordset($27) as e ${EVENT_RECORD}),
     organization_quota as (
       update quotas set gpu_used = gpu_used - $13 where organization_id = $2 and project_id = ''
         and (select count(*) from slot) + (select count(*) from claim) > 0 returning 1),
     project_quota as (
       update quotas set gpu_used = gpu_used - $13 where organization_id = $2 and project_id = $3
         and (select count(*) from organization_quota) >= 0)
     select require((select count(*) from claim) = cardinality($11), 'claims'),
       require((select count(*) from slot) = cardinality($14), 'slots'),
       require((select count(*) from summary) = 1, 'summary'),
       require((select count(*) from moved) = 1, 'allocation')`,
    [
      a.id,
      a.organization_id,
      a.project_id,
      a.from,
      a.to,
      a.reason,
      release.node_id,
      release.task_id,
      release.correlation_id,
      JSON.stringify(release.proofs),
      claims.map((claim) => claim.id),
      claims.map((claim) => claim.proof_id),
      claims.reduce((sum, claim) => sum + claim.gpu_count, 0),
      slots.map((slot) => slot.id),
      slots.map((slot) => slot.generation),
      slots.map((slot) => slot.is_fit),
      s.occupancy,
      s.is_schedulable,
      s.free_mask,
      s.free_count,
      s.largest_set,
      s.key_1,
      s.key_2,
      s.key_4,
      s.key_8,
      s.key_node,
      eventRecords(release.events),
      slots.map((slot) => slot.is_reset),
    ],
  );
};
