/** Allocation rows: reading them, and moving them between states with the from-states in the `where`. */
import type { ALLOCATION_STATES, POWER_STATES } from '@gpuaas/contract';
import { type NoticeFacts, WHOLE_HOST } from '../domain/notice.ts';
import type { Reader, Tx } from './client.ts';
import type { RequestedInstall } from './install.ts';
import { queryByIndex } from './plan.ts';
import { claimIsLive } from './predicates.ts';
import { statement } from './statement.ts';
import type { AllocationPlacements, Allocations, Regions, WorkflowSteps } from './types.gen.ts';

export type AllocationState = (typeof ALLOCATION_STATES)[number];
export type PowerState = (typeof POWER_STATES)[number];

export type AllocationRow = Readonly<
  // Columns that only serve foreign keys, and the end of the charge, which the usage record has.
  Omit<Allocations, 'claimable_as' | 'needs_live' | 'charge_until'> &
    Pick<
      AllocationPlacements,
      | 'vm_profile_name'
      | 'vcpu_count'
      | 'memory_mib'
      | 'hugepages'
      | 'numa_policy'
      | 'gpu_hourly_price_minor'
      | 'currency'
    > & {
      tags: Record<string, string>;
    }
>;

/** With what only its views need. */
export type ShownAllocation = AllocationRow &
  Readonly<{
    fabric_isolation: Regions['fabric_isolation'];
    /** Closed usage so far, and the start of the open record. */
    closed_cost_minor: number;
    open_since: string | null;
    /** Alerts about its devices or its whole host that have a text for the tenant. */
    notices: NoticeFacts[];
  }>;

/**
 * A slice gets notices of its own slots and of the whole host, a whole node of every part. No other allocation's devices are
 * read, so that a tenant learns nothing of its neighbors.
 */
const NOTICES = `(select coalesce(jsonb_agg(jsonb_build_object('message', f.alert ->> 'tenant_message', 'since', f.alert ->> 'since',
    'hidden', jsonb_build_array(f.name, f.alert ->> 'target'))), '[]')
  from (
    select n.name, e.alert from nodes n cross join lateral jsonb_array_elements(n.health_detail -> 'alerts') e (alert)
    where n.id = a.node_id and (a.capacity_shape = 'baremetal' or e.alert ->> 'target' = '${WHOLE_HOST}')
    union all
    select n.name, e.alert from allocation_resource_claims c join nodes n on n.id = c.node_id
    join node_resource_slots s on s.node_id = c.node_id and (s.id = c.slot_id or c.slot_id is null)
    cross join lateral jsonb_array_elements(s.health_detail -> 'alerts') e (alert)
    where c.allocation_id = a.id and ${claimIsLive('c')}) f
  where a.state = 'active' and f.alert ->> 'tenant_message' is not null) as notices`;

const COLUMNS =
  'a.*, p.vm_profile_name, p.vcpu_count, p.memory_mib, p.hugepages, p.numa_policy, p.gpu_hourly_price_minor, p.currency';
const SHOWN = `${COLUMNS}, ${NOTICES},
  (select r.fabric_isolation from regions r where r.name = a.region_name) as fabric_isolation,
  coalesce((select sum(u.cost_minor) from usage_records u where u.allocation_id = a.id), 0)::bigint as closed_cost_minor,
  (select u.started_at from usage_records u where u.allocation_id = a.id and u.ended_at is null) as open_since`;
const PLACED = 'from allocations a join allocation_placements p on p.allocation_id = a.id';

export const findAllocation = async (reader: Reader, id: string): Promise<AllocationRow | undefined> =>
  (await reader.query<AllocationRow>(`select ${COLUMNS} ${PLACED} where a.id = $1`, [id])).rows[0];

export const findShownAllocation = async (reader: Reader, id: string): Promise<ShownAllocation | undefined> =>
  (await reader.query<ShownAllocation>(`select ${SHOWN} ${PLACED} where a.id = $1`, [id])).rows[0];

export const findProjectAllocation = async (
  reader: Reader,
  projectId: string,
  id: string,
): Promise<ShownAllocation | undefined> =>
  (
    await reader.query<ShownAllocation>(`select ${SHOWN} ${PLACED} where a.project_id = $1 and a.id = $2`, [
      projectId,
      id,
    ])
  ).rows[0];

export type AllocationNotices = Readonly<
  Pick<ShownAllocation, 'id' | 'organization_id' | 'project_id' | 'name' | 'notices'>
>;

/** The notices of every active allocation on the node. */
export const listNoticesOfNode = async (reader: Reader, nodeId: string): Promise<AllocationNotices[]> =>
  (
    await reader.query<AllocationNotices>(
      `select a.id, a.organization_id, a.project_id, a.name, ${NOTICES}
       from allocations a where a.node_id = $1 and a.state = 'active' order by a.id`,
      [nodeId],
    )
  ).rows;

/** Locks the row against every other state change. */
export const lockAllocation = async (tx: Tx, id: string): Promise<AllocationRow | undefined> =>
  (await tx.query<AllocationRow>(`select ${COLUMNS} ${PLACED} where a.id = $1 for update of a`, [id])).rows[0];

export type AllocationFilter = Readonly<{
  project_id: string | null;
  organization_id: string | null;
  node_id: string | null;
  state: string | null;
  name: string | null;
  before: string | null;
  limit: number;
}>;

const LISTED_BY: Readonly<Record<Exclude<keyof AllocationFilter, 'limit'>, string>> = {
  project_id: 'a.project_id =',
  organization_id: 'a.organization_id =',
  node_id: 'a.node_id =',
  state: 'a.state =',
  name: 'a.name =',
  before: 'a.id <',
};

/**
 * Newest first. The text contains only the requested conditions, so that each combination gets its own plan. The page is
 * taken before anything is joined, in the order of an index: a project may have years of allocations.
 */
export const listAllocations = async (reader: Reader, filter: AllocationFilter): Promise<ShownAllocation[]> => {
  const given = Object.entries(LISTED_BY).flatMap(([name, sql]) => {
    const value = filter[name as keyof typeof LISTED_BY];
    return value === null ? [] : [{ sql, value }];
  });
  const where = given.map(({ sql }, index) => `${sql} $${index + 2}`).join(' and ') || 'true';
  const { rows } = await queryByIndex<ShownAllocation>(
    reader,
    `select ${SHOWN} from (select * from allocations a where ${where} order by a.id desc limit $1) a
     join lateral (select * from allocation_placements x where x.allocation_id = a.id limit 1) p on true order by a.id desc`,
    [filter.limit, ...given.map(({ value }) => value)],
  );
  return rows;
};

export type AllocationMove = Readonly<{
  id: string;
  from: readonly AllocationState[];
  to: AllocationState;
  reason: string | null;
  /** How long the new state may last before it counts as overdue; null for final states. */
  deadline_s?: number | null;
}>;

/** True when the row was in one of the from-states and is now in the new one. */
export const moveAllocation = async (tx: Tx, move: AllocationMove): Promise<boolean> =>
  (
    await tx.query(
      `update allocations a set state = $3, state_reason = $4, state_since = t.at,
         state_deadline_at = t.at + make_interval(secs => $5), version = a.version + 1,
         activated_at = case when $3 = 'active' then t.at else activated_at end,
         release_at = case when $3 = 'active' and max_duration_s is not null then t.at + make_interval(secs => max_duration_s) else release_at end,
         release_requested_at = case when $3 = 'releasing' then coalesce(release_requested_at, t.at) else release_requested_at end,
         released_at = case when $3 = 'released' then t.at else released_at end,
         failure_reason = case when $3 = 'failed' then $4 else failure_reason end
       from (select clock_timestamp() as at) t where a.id = $1 and a.state = any ($2)`,
      [move.id, move.from, move.to, move.reason, move.deadline_s ?? null],
    )
  ).rowCount === 1;

export type AllocationChange = Readonly<{
  name: string | null;
  tags: Readonly<Record<string, string>> | null;
  is_protected: boolean | null;
  /** Undefined keeps the limit; null removes it. */
  max_duration_s: number | null | undefined;
}>;

const UPDATE_ALLOCATION = statement(
  {
    project_id: 'text',
    id: 'text',
    version: 'integer',
    name: 'text | null',
    tags: 'jsonb | null',
    is_protected: 'boolean | null',
    changes_duration: 'boolean',
    max_duration_s: 'integer | null',
  },
  `update allocations set name = coalesce(:name, name), tags = coalesce(:tags, tags), is_protected = coalesce(:is_protected, is_protected),
     max_duration_s = case when :changes_duration then :max_duration_s else max_duration_s end,
     release_at = case when not :changes_duration then release_at when :max_duration_s is null then null
       when activated_at is not null then activated_at + make_interval(secs => :max_duration_s) end,
     version = version + 1
   where project_id = :project_id and id = :id and version = :version`,
);

export const updateAllocation = async (
  tx: Tx,
  projectId: string,
  id: string,
  version: number,
  change: AllocationChange,
): Promise<boolean> =>
  (
    await UPDATE_ALLOCATION.query(tx, {
      ...change,
      project_id: projectId,
      id,
      version,
      changes_duration: change.max_duration_s !== undefined,
      max_duration_s: change.max_duration_s ?? null,
    })
  ).rowCount === 1;

export type TimelineRow = Readonly<
  Pick<
    WorkflowSteps,
    'run_id' | 'sequence' | 'step' | 'attempt' | 'outcome' | 'detail' | 'started_at' | 'finished_at'
  > & {
    workflow: string;
  }
>;

/** Steps of every run about the allocation, in the order they were taken. */
export const listTimeline = async (
  reader: Reader,
  allocationId: string,
  page: Readonly<{ after: readonly [string, number] | null; limit: number }>,
): Promise<TimelineRow[]> =>
  (
    await reader.query<TimelineRow>(
      `select r.id as run_id, r.workflow, s.sequence, s.step, s.attempt, s.outcome, s.detail, s.started_at, s.finished_at
       from workflow_runs r join workflow_steps s on s.run_id = r.id
       where r.subject_id = $1 and ($2::text is null or (r.id, s.sequence) > ($2, $3)) order by r.id, s.sequence limit $4`,
      [allocationId, page.after?.[0] ?? null, page.after?.[1] ?? 0, page.limit],
    )
  ).rows;

/** Allocations by live state: how many, and how many of them are overdue. */
export const countAllocationsByState = async (
  reader: Reader,
): Promise<readonly Readonly<{ state: string; count: number; overdue: number }>[]> =>
  (
    await reader.query<{ state: string; count: number; overdue: number }>(
      `select state, count(*) as count, count(*) filter (where state_deadline_at < now()) as overdue
       from allocations where state <> 'released' group by state`,
    )
  ).rows;

export type PowerMove = Readonly<{
  id: string;
  from: readonly PowerState[];
  to: PowerState;
  reason: string | null;
  /** The run that is working on it until the next transition; null in a stable state. */
  run_id: string | null;
  grace_s: number | null;
}>;

const MOVE_POWER = statement(
  { id: 'text', from: 'text[]', to: 'text', reason: 'text | null', run_id: 'text | null', grace_s: 'integer | null' },
  `update allocations set power_state = :to, power_reason = :reason, power_run_id = :run_id, power_grace_s = :grace_s,
     power_since = clock_timestamp(), version = version + 1
   where id = :id and state = 'active' and power_state = any (:from)`,
);

/** True when it was in one of the from-states and is now in the new one. */
export const movePower = async (tx: Tx, move: PowerMove): Promise<boolean> =>
  (await MOVE_POWER.query(tx, move)).rowCount === 1;

/** Sets the reason without a state change: `failed` stays `failed` during cleanup. */
export const noteAllocation = async (
  tx: Tx,
  id: string,
  note: Readonly<{ reason: string | null; deadline_s: number | null }>,
): Promise<void> => {
  await tx.query(
    `update allocations set state_reason = $2, version = version + 1,
       state_deadline_at = clock_timestamp() + make_interval(secs => $3) where id = $1`,
    [id, note.reason, note.deadline_s],
  );
};

/** The allocation has this install from now on. */
export const applyInstall = async (tx: Tx, id: string, install: RequestedInstall): Promise<void> => {
  await tx.query(
    `update allocations set install_number = $2, image_name = $3, image_digest = $4, ssh_key_ids = $5, version = version + 1
     where id = $1`,
    [id, install.install_number, install.image_name, install.image_digest, install.ssh_key_ids],
  );
};

/** An operator found that its host had ended it by then, before the database was restored from a backup. */
export const setChargeUntil = async (tx: Tx, id: string, until: string): Promise<void> => {
  await tx.query('update allocations set charge_until = $2::timestamptz, version = version + 1 where id = $1', [
    id,
    until,
  ]);
};
