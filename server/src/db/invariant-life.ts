/** Invariants of allocations through their states, of host tasks, and of their cost. */
import { type Invariant, RECENT } from './invariant-rule.ts';
import {
  ALLOCATION_HELD,
  ALLOCATION_MOVING,
  ALLOCATION_STARTING,
  claimCounts,
  claimIsLive,
  RUN_LIVE,
  TASK_OPEN,
} from './predicates.ts';

/** A run that has just ended or begun is not a missing owner. */
const SETTLED = "statement_timestamp() - interval '5 minutes'";

export const LIFECYCLE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'claims_end_with_allocation',
    rule: 'The claims of an allocation are released exactly when the allocation is released, except those its launch left.',
    sql: `select a.id as subject_id, a.state || ' with ' || count(*) filter (where ${claimIsLive('c')}) || ' unreleased and '
        || count(*) filter (where c.released_at is not null) || ' released claims' as detail
      from allocations a join allocation_resource_claims c on c.allocation_id = a.id and c.move_id is null
      where a.state ${ALLOCATION_HELD} or a.released_at > ${RECENT} group by a.id
      having case when a.state = 'released' then bool_or(${claimIsLive('c')}) else bool_or(c.released_at is not null) end`,
  },
  {
    name: 'allocation_is_whole',
    rule: 'An allocation has its claims and its placement from its creation.',
    sql: `select a.id as subject_id, case when p.allocation_id is null then 'no placement' else 'no claim' end as detail
      from allocations a left join allocation_placements p on p.allocation_id = a.id
      where a.state <> 'released' and (p.allocation_id is null
        or not exists (select from allocation_resource_claims c where c.allocation_id = a.id))`,
  },
  {
    name: 'change_has_deadline_and_owner',
    rule: 'An allocation in transition has a deadline and a workflow run, or a reason.',
    sql: `select a.id as subject_id, case when a.state in ('failed', 'release_failed') then 'no reason'
        when a.state_deadline_at is null then 'no deadline' else 'no workflow run' end as detail
      from allocations a where a.state <> 'released' and a.state_since < ${SETTLED} and case
        when a.state in ('failed', 'release_failed') then a.state_reason is null
        when a.state ${ALLOCATION_MOVING} then a.state_deadline_at is null or not exists (
          select from workflow_runs r where r.subject_id = a.id and (r.state ${RUN_LIVE} or r.state = 'stuck'))
        else false end`,
  },
  {
    name: 'power_change_has_run',
    rule: 'A power change has a live run of the allocation; a stable power state has none.',
    sql: `select a.id as subject_id, coalesce(a.power_state, 'no power') || coalesce(' by run ' || a.power_run_id, '') || ', which '
        || case when r.id is null then 'is not its own' else 'is ' || r.state end as detail
      from allocations a left join workflow_runs r on r.id = a.power_run_id and r.subject_id = a.id
      where a.power_run_id is not null and (r.finished_at is not null or r.id is null)
        or a.state = 'active' and a.power_run_id is null and a.power_state not in ('on', 'off', 'unknown')`,
  },
  {
    name: 'power_is_of_active_slices',
    rule: 'A slice has a power state exactly while it is active; an unknown power state has a reason.',
    sql: `select a.id as subject_id, a.capacity_shape || ', ' || a.state || ', power ' || coalesce(a.power_state, 'none') as detail
      from allocations a where a.state <> 'released' and ((a.power_state is not null) <> (a.state = 'active' and a.capacity_shape = 'gpu_slice')
        or a.power_state = 'unknown' and a.power_reason is null)`,
  },
  {
    name: 'state_matches_times',
    rule: 'The timestamps of an allocation match its state, and it has a correlation ID.',
    sql: `select a.id as subject_id, 'state ' || a.state || ' contradicts its times' as detail from allocations a
      where (a.state <> 'released' or a.released_at > ${RECENT}) and (a.correlation_id = ''
        or (a.state = 'active') and (a.activated_at is null or a.release_requested_at is not null)
        or a.state ${ALLOCATION_STARTING} and (a.activated_at is not null or a.release_requested_at is not null)
        or a.state in ('releasing', 'release_failed', 'released') and a.release_requested_at is null
        or (a.state = 'released') <> (a.released_at is not null) or a.released_at < a.release_requested_at)`,
  },
  {
    name: 'one_task_per_slot',
    rule: 'At most one task runs on a slot, with the generation of its claim.',
    sql: `with task as materialized (
        select t.id, t.state, s.slot_id, s.generation from node_tasks t cross join lateral (
          select t.slot_id, t.slot_generation as generation where t.slot_id is not null
          union all select x.slot_id, x.generation
          from jsonb_to_recordset(coalesce(t.params -> 'slots', '[]')) as x (slot_id text, generation integer)) s
        where t.state ${TASK_OPEN})
      select t.slot_id as subject_id, count(*) || ' tasks run: ' || string_agg(t.id, ', ' order by t.id) as detail from task t
      where t.state <> 'queued' group by t.slot_id having count(*) > 1
      union all
      select t.id, 'generation ' || t.generation || ', the slot has ' || s.generation from task t
      join node_resource_slots s on s.id = t.slot_id where t.generation <> s.generation`,
  },
];

export const MONEY_INVARIANTS: readonly Invariant[] = [
  {
    name: 'usage_never_overlaps',
    rule: 'The charged intervals of an allocation do not overlap and are not negative.',
    sql: `select u.allocation_id as subject_id, case when u.ended_at < u.started_at then 'record ' || u.id || ' ends before it starts'
        else 'records ' || u.id || ' and ' || u.next_id end as detail
      from (select r.*, lead(r.id) over following as next_id, lead(r.started_at) over following as next_at from usage_records r
        where r.ended_at is null or r.ended_at > ${RECENT} window following as (partition by r.allocation_id order by r.started_at, r.id)) u
      where u.ended_at < u.started_at or u.next_at = u.started_at or u.next_at < coalesce(u.ended_at, 'infinity')`,
  },
  {
    name: 'charged_by_one_record',
    rule: 'One usage record charges an allocation; rerunning billing adds none.',
    sql: `select u.allocation_id as subject_id, count(*) || ' records' as detail from usage_records u
      where u.ended_at is null or u.ended_at > ${RECENT} group by u.allocation_id having count(*) > 1`,
  },
  {
    name: 'charged_time_is_active_time',
    rule: 'Charged time is the time from active to the accepted release, or to the end that an operator found after a restore, to the second, and runs only while active.',
    sql: `select x.id as subject_id, max(x.state) || ', charged ' || round(sum(x.charged), 3) || ' s, active ' || round(max(x.lived), 3) || ' s' as detail
      from (select a.id, a.state, coalesce(extract(epoch from coalesce(a.charge_until, a.release_requested_at, now()) - a.activated_at), 0) as lived,
          a.activated_at as from_at, a.release_requested_at as to_at, 0::numeric as charged, null::boolean as is_open
        from allocations a where (a.state <> 'released' or a.released_at > ${RECENT})
          and (a.release_requested_at is null or coalesce(a.charge_until, a.release_requested_at) > ${RECENT})
        union all select u.allocation_id, null, null, u.started_at + interval '1 second', u.ended_at - interval '1 second',
          extract(epoch from coalesce(u.ended_at, now()) - u.started_at), u.ended_at is null
        from usage_records u where u.ended_at is null or u.ended_at > ${RECENT} - interval '1 minute') x
      group by x.id having max(x.state) is not null and (abs(sum(x.charged) - max(x.lived)) > 1
        or coalesce(bool_or(x.is_open), false) <> (max(x.state) = 'active')
        or min(x.from_at) filter (where x.is_open is not null) < min(x.from_at) filter (where x.is_open is null)
        or max(x.to_at) filter (where x.is_open is not null) > max(x.to_at) filter (where x.is_open is null))`,
  },
  {
    name: 'closed_cost_is_right',
    rule: 'A closed record costs GPUs times price times hours, rounded half up once.',
    sql: `select u.id as subject_id, 'cost ' || u.cost_minor || ', computed ' || computed.cost as detail from usage_records u
      cross join lateral (select round(u.gpu_count * u.gpu_hourly_price_minor * extract(epoch from u.ended_at - u.started_at)::numeric / 3600) as cost) computed
      where u.ended_at > ${RECENT} and u.cost_minor is distinct from computed.cost`,
  },
  {
    name: 'price_matches_launch',
    rule: 'Usage is charged with the price, currency and GPU count of the launch.',
    sql: `select u.id as subject_id, u.gpu_count || ' x ' || u.gpu_hourly_price_minor || ' ' || u.currency || ' charged, '
        || p.gpu_count || ' x ' || p.gpu_hourly_price_minor || ' ' || p.currency || ' at launch' as detail
      from usage_records u join allocation_placements p on p.allocation_id = u.allocation_id
      where (u.ended_at is null or u.ended_at > ${RECENT})
        and (u.gpu_count, u.gpu_hourly_price_minor, u.currency) <> (p.gpu_count, p.gpu_hourly_price_minor, p.currency)`,
  },
  {
    name: 'quota_matches_claims',
    rule: 'Used quota is the sum of unreleased claims, at both levels, without those that a launch left.',
    sql: `select coalesce(nullif(coalesce(q.project_id, held.project_id), ''), q.organization_id, held.organization_id) as subject_id,
        'used ' || coalesce(q.gpu_used, 0) || ', claims hold ' || coalesce(held.gpus, 0) as detail
      from quotas q full join (
        select c.organization_id, level.project_id, sum(c.gpu_count) as gpus from allocation_resource_claims c
        cross join lateral (values (''), (c.project_id)) level (project_id) where ${claimCounts('c')} group by 1, 2) held
        on held.organization_id = q.organization_id and held.project_id = q.project_id
      where coalesce(q.gpu_used, 0) <> coalesce(held.gpus, 0)`,
  },
  {
    name: 'organization_has_gpu_limit',
    rule: 'Every organization has a row with its GPU limit, also where the limit is none.',
    sql: `select o.id as subject_id, 'no GPU limit row' as detail from organizations o
      where not exists (select from quotas q where q.organization_id = o.id and q.project_id = '')`,
  },
];
