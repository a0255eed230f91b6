/** The writes of a placement, in one round trip. */
import type { Tx } from '../client.ts';
import { SET_SUMMARY, SUMMARY_STATE, type SummaryRow } from '../placement.ts';
import { statement } from '../statement.ts';
import type { AllocationPlacements, Allocations } from '../types.gen.ts';
import { type NewRun, RUN_COLUMNS } from '../workflow-run.ts';

export type NewClaimSet = Readonly<
  Pick<
    AllocationPlacements,
    | 'node_id'
    | 'partition_id'
    | 'vm_profile_name'
    | 'vcpu_count'
    | 'memory_mib'
    | 'hugepages'
    | 'numa_policy'
    | 'gpu_hourly_price_minor'
    | 'currency'
  > & {
    allocation: Readonly<
      Pick<
        Allocations,
        | 'id'
        | 'organization_id'
        | 'project_id'
        | 'name'
        | 'capacity_shape'
        | 'sku_name'
        | 'region_name'
        | 'image_name'
        | 'image_digest'
        | 'gpu_count'
        | 'storage'
        | 'network'
        | 'requested_by'
        | 'is_protected'
        | 'max_duration_s'
        | 'correlation_id'
      > & {
        ssh_key_ids: readonly string[];
        tags: Readonly<Record<string, string>>;
        /** The database's time, from the read before. */
        created_at: string;
        /** How long the request may wait for a worker before it counts as overdue. */
        deadline_s: number;
      }
    >;
    /** The locked node already holds slices, and this is one more. */
    is_node_taken: boolean;
    slot_ids: readonly string[];
    claim_ids: readonly string[];
    scores: Readonly<Record<string, number>>;
    summary: SummaryRow;
    /** The run that provisions the allocation; subject, tenant and correlation are the allocation's. */
    run: Pick<NewRun, 'id' | 'workflow' | 'workflow_version' | 'steps' | 'step' | 'deadline_ms'>;
  }
>;

/** What the statement lacked, by the code it raised; undefined for any other error. */
export const claimRefusal = (err: unknown): 'project' | 'quota' | 'capacity' | undefined => {
  if (!(err instanceof Error && 'code' in err && err.code === 'GP409')) return undefined;
  return err.message === 'quota' || err.message === 'project' ? err.message : 'capacity';
};

const PARAMETERS = {
  allocation_id: 'text',
  organization_id: 'text',
  project_id: 'text',
  name: 'text',
  capacity_shape: 'text',
  sku_name: 'text',
  region_name: 'text',
  image_name: 'text | null',
  image_digest: 'text | null',
  gpu_count: 'integer',
  storage: 'text',
  network: 'text | null',
  requested_by: 'text',
  ssh_key_ids: 'text[]',
  tags: 'jsonb',
  is_protected: 'boolean',
  max_duration_s: 'integer | null',
  correlation_id: 'text',
  created_at: 'timestamptz',
  deadline_s: 'float8',
  node_id: 'text',
  slot_ids: 'text[]',
  claim_ids: 'text[]',
  partition_id: 'integer | null',
  vm_profile_name: 'text | null',
  vcpu_count: 'integer | null',
  memory_mib: 'integer | null',
  hugepages: 'text | null',
  numa_policy: 'text | null',
  gpu_hourly_price_minor: 'bigint',
  currency: 'text',
  scores: 'jsonb',
  ...SUMMARY_STATE,
  run_id: 'text',
  workflow: 'text',
  workflow_version: 'integer',
  steps: 'text[]',
  step: 'text',
  deadline_ms: 'bigint',
} as const;

/** Not for a node that is sliced already: the foreign key of its claims keeps its mode. */
export const OCCUPY = `node as (
    update nodes set occupancy = :occupancy, version = version + 1 where id = :node_id and occupancy = 'free'),`;

/** Part of every statement that claims; so are the claims themselves, on slots or on the whole node. */
export const RESERVE_SLOTS = `update node_resource_slots set status = 'reserved', status_since = clock_timestamp(), status_reason = null,
      generation = generation + 1, last_claimed_at = clock_timestamp(), version = version + 1
    where id = any (:slot_ids) and node_id = :node_id and status = 'available' returning id, generation`;
const INSERT_CLAIMS = `insert into allocation_resource_claims
      (id, allocation_id, organization_id, project_id, claim_kind, node_id, slot_id, gpu_count, slot_generation)`;
const SLOT_CLAIMS = `select (:claim_ids)[array_position(:slot_ids, slot.id)], :allocation_id, :organization_id, :project_id,
      'slot', :node_id, slot.id, 1, slot.generation from slot`;
const NODE_CLAIM = `values ((:claim_ids)[1], :allocation_id, :organization_id, :project_id, 'node_exclusive', :node_id, null,
      :gpu_count, null)`;
export const CLAIMS = {
  gpu_slice: `${INSERT_CLAIMS} ${SLOT_CLAIMS}`,
  baremetal: `${INSERT_CLAIMS} ${NODE_CLAIM}`,
} as const;

const claimStatement = (occupy: string, claims: string) =>
  statement(
    PARAMETERS,
    `with project as (
    select 1 from projects where id = :project_id and deleted_at is null for key share),
  allocation as (
    insert into allocations (id, organization_id, project_id, name, capacity_shape, sku_name, region_name, image_name, image_digest, gpu_count, storage, network, node_id,
      state, requested_by, ssh_key_ids, tags, is_protected, max_duration_s, correlation_id, created_at, state_since, state_deadline_at)
    values (:allocation_id, :organization_id, :project_id, :name, :capacity_shape, :sku_name, :region_name, :image_name, :image_digest, :gpu_count, :storage, :network, :node_id,
      'requested', :requested_by, :ssh_key_ids, :tags, :is_protected, :max_duration_s, :correlation_id, :created_at, :created_at,
      :created_at + make_interval(secs => :deadline_s))),
  slot as (
    ${RESERVE_SLOTS}),
  ${occupy}
  claim as (
    ${claims} returning 1),
  placement as (
    insert into allocation_placements (allocation_id, organization_id, project_id, node_id, slot_ids, partition_id, vm_profile_name, vcpu_count,
      memory_mib, hugepages, numa_policy, gpu_count, gpu_hourly_price_minor, currency, scores)
    values (:allocation_id, :organization_id, :project_id, :node_id, :slot_ids, :partition_id, :vm_profile_name, :vcpu_count,
      :memory_mib, :hugepages, :numa_policy, :gpu_count, :gpu_hourly_price_minor, :currency, :scores)),
  quota as (
    insert into quotas (organization_id, project_id, gpu_used)
    values (:organization_id, '', :gpu_count), (:organization_id, :project_id, :gpu_count)
    on conflict (organization_id, project_id) do update set gpu_used = quotas.gpu_used + excluded.gpu_used
    where quotas.gpu_limit is null or quotas.gpu_used + excluded.gpu_used <= quotas.gpu_limit returning 1),
  summary as (${SET_SUMMARY} returning 1),
  run as (
    insert into workflow_runs (${RUN_COLUMNS})
    values (:run_id, :workflow, :workflow_version, :allocation_id, :organization_id, :project_id, :correlation_id, :steps, :step,
      :deadline_ms, :created_at + :deadline_ms * interval '1 millisecond'))
  select require(w.missing is null, w.missing) from (select case
    when not exists (select from project) then 'project'
    when (select count(*) from slot) <> cardinality(:slot_ids) then 'slots'
    when (select count(*) from claim) <> cardinality(:claim_ids) then 'claims'
    when (select count(*) from summary) <> 1 then 'summary'
    when (select count(*) from quota) <> 2 then 'quota' end as missing) w`,
  );

const STATEMENTS = {
  slice: claimStatement(OCCUPY, CLAIMS.gpu_slice),
  slice_beside_others: claimStatement('', CLAIMS.gpu_slice),
  node: claimStatement(OCCUPY, CLAIMS.baremetal),
};

/**
 * All writes of a claim in one statement: allocation, slot states, claims, node occupancy, placement as launched, quota
 * use, the index row and the first run. It blocks deletion of the project: a deletion waits for the commit, or this
 * statement finds the project deleted. Quota is taken by a conditional upsert, organization first, so its lock lasts
 * from here to the commit and no longer. The statement fails the transaction if it does not get everything. It can
 * therefore be sent in one packet with the commit, and the caller counts no rows.
 */
export const insertClaimSet = (tx: Tx, set: NewClaimSet): Promise<unknown> => {
  const { allocation, run, summary, ...placement } = set;
  const isSlice = allocation.capacity_shape === 'gpu_slice';
  const slice = set.is_node_taken ? STATEMENTS.slice_beside_others : STATEMENTS.slice;
  const { id: run_id, ...definition } = run;
  return (isSlice ? slice : STATEMENTS.node).query(tx, {
    ...allocation,
    ...placement,
    ...summary,
    ...definition,
    allocation_id: allocation.id,
    node_id: set.node_id,
    region_name: allocation.region_name,
    occupancy: isSlice ? 'sliced' : 'exclusive',
    run_id,
  });
};
