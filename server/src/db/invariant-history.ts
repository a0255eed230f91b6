/**
 * Invariants of the traces of changes: events, audit rows and host results. Traces are many and never change, so only
 * those of the last hour are read, by indexes on their time; the reconciler checks each sixty times.
 */
import { ALLOCATION_STATES } from '@gpuaas/contract';
import { allocationMoves } from '../domain/allocation.ts';
import type { Invariant } from './invariant-rule.ts';

/** Stable within a statement, unlike the clock, so that indexes on time can be used. */
const FRESH = "statement_timestamp() - interval '1 hour'";
/** Rows written with a change carry a time slightly before or after the change's own. */
const AROUND = "statement_timestamp() - interval '61 minutes'";

const MOVES = Object.entries(allocationMoves)
  .flatMap(([from, targets]) => targets.map((to) => `('${from}', '${to}')`))
  .join(', ');

/** Progress of a VM needs no actor; a decision by a user, a failure or a proof does. */
const ANSWERED_FOR = "('requested', 'releasing', 'release_failed', 'released', 'failed')";

const UNRELEASED = ALLOCATION_STATES.flatMap((state) => (state === 'released' ? [] : [`'${state}'`])).join(', ');

/** Recently changed allocations. A state is never older than its allocation, so new ones are among them. */
const CHANGED = `(select a.* from allocations a where a.state in (${UNRELEASED})
    and a.state_since > ${FRESH}
  union all select a.* from allocations a where a.released_at > ${FRESH}) a`;

const EMITTED = `emitted as materialized (select e.subject, e.id, coalesce(e.writer_xid, e.xid) as xid, e.created_at, e.correlation_id, e.data ->> 'state' as state
  from outbox_events e where e.event_type = 'allocation.changed' and e.created_at > ${AROUND})`;

/**
 * Where two sets of traces are compared they are stacked and grouped, not joined: the planner cannot know how many rows
 * the platform's scope sees, and a join chosen for a handful takes minutes for a busy hour.
 */
export const HISTORY_INVARIANTS: readonly Invariant[] = [
  {
    name: 'change_has_event',
    rule: 'Every state change of an allocation has an event in the same transaction.',
    sql: `with ${EMITTED}
      select x.id as subject_id, 'no event for ' || x.state as detail from (
        select a.id, a.state, false as is_event from ${CHANGED} union all select subject, state, true from emitted) x
      group by x.id, x.state having bool_and(not x.is_event)`,
  },
  {
    name: 'change_is_audited',
    rule: 'Every launch, release, failure and proof has an audit row in the transaction of its event.',
    sql: `with ${EMITTED}
      select x.id as subject_id, min(x.state) || ' without an audit row' as detail from (
        select subject as id, xid, state from emitted where state in ${ANSWERED_FOR} and created_at > ${FRESH}
        union all select l.target_id, l.xid, null from audit_logs l
          where l.created_at > ${AROUND} and l.target_kind = 'allocation' and l.result = 'success') x
      group by x.id, x.xid having bool_and(x.state is not null)`,
  },
  {
    name: 'states_follow_the_graph',
    rule: 'An allocation starts as requested, follows the state graph, and every state change has a correlation ID.',
    sql: `with ${EMITTED}, moved as (
        select emitted.*, lag(emitted.state) over (partition by emitted.subject order by emitted.created_at, emitted.id) as before from emitted)
      select m.subject as subject_id, case when m.correlation_id = '' then m.state || ' without a correlation id'
        else 'from ' || coalesce(m.before, 'nothing') || ' to ' || m.state end as detail
      from moved m where m.correlation_id = ''
        or m.before <> m.state and (m.before, m.state) not in (${MOVES})
        or m.before is null and m.state <> 'requested' and exists (select from allocations a where a.id = m.subject and a.created_at > ${FRESH})`,
  },
  {
    name: 'late_results_do_not_count',
    rule: 'A result is accepted only for the current attempt, before it expires.',
    sql: `select t.id as subject_id, case when t.state in ('expired', 'unknown', 'cancelled') then 'has output though ' || t.state
        when t.finished_at > t.expires_at then 'result accepted after expiry' else 'result accepted after another attempt had started' end as detail
      from node_tasks t where t.finished_at > ${FRESH} and t.kept_until is null and case when t.state in ('expired', 'unknown', 'cancelled') then t.output is not null
        else t.finished_at > t.expires_at or exists (select from node_tasks n
          where n.allocation_id = t.allocation_id and n.node_id = t.node_id and n.kind = t.kind and n.attempt > t.attempt and n.created_at < t.finished_at) end`,
  },
  {
    name: 'proof_is_of_its_task',
    rule: 'A slot or node is freed only by the current cleanup task of its own generation.',
    // From the proofs on: the planner would read every claim.
    sql: `with fresh as materialized (select * from wipe_proofs where created_at > ${FRESH})
      select p.id as subject_id, case when t.id is null then 'no task ' || p.task_id when t.state <> 'completed' then 'its task is ' || t.state
        when t.allocation_id is distinct from p.allocation_id or t.node_id <> p.node_id then 'its task has another target'
        when t.finished_at > p.created_at then 'its task finished after it'
        when n.id is not null then 'attempt ' || n.attempt || ' had started' else 'its task wiped another generation of the slot' end as detail
      from fresh p join allocation_resource_claims c on c.allocation_id = p.allocation_id and c.wipe_proof_id = p.id left join node_tasks t on t.id = p.task_id
      left join node_tasks n on n.allocation_id = t.allocation_id and n.node_id = t.node_id and n.kind = t.kind and n.attempt > t.attempt and n.created_at < p.created_at
      where (t.id is null or t.state <> 'completed' or t.allocation_id is distinct from p.allocation_id
        or t.node_id <> p.node_id or t.finished_at > p.created_at or n.id is not null
        or c.slot_id is not null and not exists (
          select from jsonb_to_recordset(coalesce(t.params -> 'slots', '[]')) as s (slot_id text, generation integer)
          where s.slot_id = c.slot_id and s.generation = coalesce(c.adopted_generation, c.slot_generation)))`,
  },
];
