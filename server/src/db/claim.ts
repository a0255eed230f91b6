/** What a placement writes, in one round trip. */
import type { Tx } from './client.ts';
import type { SummaryRow } from './placement.ts';
import type { NewRun } from './workflow-run.ts';

export type NewClaimSet = Readonly<{
  allocation: Readonly<{
    id: string;
    organization_id: string;
    project_id: string;
    name: string;
    capacity_shape: 'baremetal' | 'gpu_slice';
    sku_name: string;
    region_name: string;
    image_name: string | null;
    image_digest: string | null;
    gpu_count: number;
    requested_by: string;
    ssh_key_ids: readonly string[];
    tags: Readonly<Record<string, string>>;
    is_protected: boolean;
    max_duration_s: number | null;
    correlation_id: string;
    /** The database's time, from the read before. */
    created_at: string;
    /** How long the request may wait for a worker before it counts as too long. */
    deadline_s: number;
  }>;
  node_id: string;
  /** The node, as it was locked, holds slices already, and this is one more. */
  is_node_taken: boolean;
  slot_ids: readonly string[];
  claim_ids: readonly string[];
  partition_id: number | null;
  scores: Readonly<Record<string, number>>;
  vm_profile_name: string | null;
  vcpu_count: number | null;
  memory_mib: number | null;
  gpu_hourly_price_minor: number;
  currency: string;
  summary: SummaryRow;
  /** What provisions the allocation; subject, tenant and correlation are the allocation's. */
  run: Pick<NewRun, 'id' | 'workflow' | 'workflow_version' | 'steps' | 'step' | 'deadline_ms'>;
}>;

/** What the statement found wanting, by the word it raised; undefined for any other error. */
export const claimRefusal = (err: unknown): 'project' | 'quota' | 'capacity' | undefined => {
  if (!(err instanceof Error && 'code' in err && err.code === 'GP409')) return undefined;
  return err.message === 'quota' || err.message === 'project' ? err.message : 'capacity';
};

/** Not for a node that is sliced already: the claims' own key sees to it that it stays so. */
const OCCUPY = `node as (update nodes set occupancy = $19, version = version + 1 where id = $10 and occupancy = 'free'),`;

const SLOT_CLAIMS = `select ($20::text[])[array_position($18::text[], slot.id)], $1, $2, $3, 'slot', $10, slot.id, 1, slot.generation from slot`;
const NODE_CLAIM = `values (($20::text[])[1], $1, $2, $3, 'node_exclusive', $10, null, $9, null)`;

const claimText = (occupy: string, claims: string): string => `with project as (
    select 1 from projects where id = $3 and deleted_at is null for key share),
  allocation as (
    insert into allocations (id, organization_id, project_id, name, capacity_shape, sku_name, region_name, image_name, image_digest, gpu_count, node_id,
      state, requested_by, ssh_key_ids, tags, is_protected, max_duration_s, correlation_id, created_at, state_since, state_deadline_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $44, $9, $10, 'requested', $11, $12, $13, $14, $15, $16, $37, $37, $37::timestamptz + make_interval(secs => $17))),
  slot as (
    update node_resource_slots set status = 'reserved', status_since = clock_timestamp(), status_reason = null,
      generation = generation + 1, last_claimed_at = clock_timestamp(), version = version + 1
    where id = any ($18) and node_id = $10 and status = 'available' returning id, generation),
  ${occupy}
  claim as (
    insert into allocation_resource_claims (id, allocation_id, organization_id, project_id, claim_kind, node_id, slot_id, gpu_count, slot_generation)
    ${claims} returning 1),
  placement as (
    insert into allocation_placements (allocation_id, organization_id, project_id, node_id, slot_ids, partition_id, vm_profile_name, vcpu_count,
      memory_mib, gpu_count, gpu_hourly_price_minor, currency, scores)
    values ($1, $2, $3, $10, $18, $21, $22, $23, $24, $9, $25, $26, $27)),
  quota as (
    insert into quotas (organization_id, project_id, gpu_used) values ($2, '', $9), ($2, $3, $9)
    on conflict (organization_id, project_id) do update set gpu_used = quotas.gpu_used + excluded.gpu_used
    where quotas.gpu_limit is null or quotas.gpu_used + excluded.gpu_used <= quotas.gpu_limit returning 1),
  summary as (
    update node_placement_summary set occupancy = $19, is_schedulable = $28, free_mask = $29, free_count = $30, largest_set = $31,
      key_1 = $32, key_2 = $33, key_4 = $34, key_8 = $35, key_node = $36, updated_at = now() where node_id = $10 returning 1),
  run as (
    insert into workflow_runs (id, workflow, workflow_version, subject_id, organization_id, project_id, correlation_id, steps, step, deadline_ms, deadline_at)
    values ($38, $39, $40, $1, $2, $3, $16, $41, $42, $43::bigint, $37::timestamptz + $43::bigint * interval '1 millisecond'))
  select require(w.wanting is null, w.wanting) from (select case
    when not exists (select from project) then 'project'
    when (select count(*) from slot) <> cardinality($18::text[]) then 'slots'
    when (select count(*) from claim) <> cardinality($20::text[]) then 'claims'
    when (select count(*) from summary) <> 1 then 'summary'
    when (select count(*) from quota) <> 2 then 'quota' end as wanting) w`;

/** Made once: a text of this length, put together for every launch, would cost more than its values. */
const TEXTS = {
  slice: claimText(OCCUPY, SLOT_CLAIMS),
  slice_beside_others: claimText('', SLOT_CLAIMS),
  node: claimText(OCCUPY, NODE_CLAIM),
};

/**
 * Everything a claim is, in one statement: allocation, slot states, claims, node mode, placement as sold, quota use,
 * the index row and the first run. It holds the project open, so a deletion waits for the commit or this finds the
 * project deleted. Quota is taken by a conditional upsert, organization first, so its lock lasts from here to the
 * commit and no longer. What it does not get in full it refuses itself, by failing the transaction: it may leave in
 * one packet with the commit, and nobody has to count rows first.
 */
export const insertClaimSet = (tx: Tx, set: NewClaimSet): Promise<unknown> => {
  const { allocation: a, summary: s, run: r } = set;
  const isSlice = a.capacity_shape === 'gpu_slice';
  const sliceText = set.is_node_taken ? TEXTS.slice_beside_others : TEXTS.slice;
  return tx.query(isSlice ? sliceText : TEXTS.node, [
    a.id,
    a.organization_id,
    a.project_id,
    a.name,
    a.capacity_shape,
    a.sku_name,
    a.region_name,
    a.image_name,
    a.gpu_count,
    set.node_id,
    a.requested_by,
    a.ssh_key_ids,
    JSON.stringify(a.tags),
    a.is_protected,
    a.max_duration_s,
    a.correlation_id,
    a.deadline_s,
    set.slot_ids,
    isSlice ? 'sliced' : 'exclusive',
    set.claim_ids,
    set.partition_id,
    set.vm_profile_name,
    set.vcpu_count,
    set.memory_mib,
    set.gpu_hourly_price_minor,
    set.currency,
    JSON.stringify(set.scores),
    s.is_schedulable,
    s.free_mask,
    s.free_count,
    s.largest_set,
    s.key_1,
    s.key_2,
    s.key_4,
    s.key_8,
    s.key_node,
    a.created_at,
    r.id,
    r.workflow,
    r.workflow_version,
    r.steps,
    r.step,
    r.deadline_ms,
    a.image_digest,
  ]);
};
