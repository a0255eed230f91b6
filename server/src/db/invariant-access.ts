/** Invariants of projects, sessions and granted keys. */
import type { Invariant } from './invariant-rule.ts';
import { ALLOCATION_HELD, claimIsLive, RUN_LIVE, SESSION_LIVE } from './predicates.ts';

/** Sessions are ended within seconds; one that is still there after this time was forgotten. */
const ENDED = "statement_timestamp() - interval '30 seconds'";

/** An organization is never deleted: it has no such state, and its projects keep its row. */
const DELETED_PROJECT = 'projects p where p.deleted_at is not null';

export const ACCESS_INVARIANTS: readonly Invariant[] = [
  {
    name: 'deleted_project_holds_nothing',
    rule: 'A deleted project has no unreleased claim, no live workflow run and no open session.',
    sql: `select c.project_id as subject_id, 'claim ' || c.id || ' is unreleased' as detail from allocation_resource_claims c
      where ${claimIsLive('c')} and exists (select from ${DELETED_PROJECT} and p.id = c.project_id)
      union all select r.project_id, 'run ' || r.id || ' is ' || r.state from workflow_runs r
      where r.state ${RUN_LIVE} and exists (select from ${DELETED_PROJECT} and p.id = r.project_id)
      union all select s.project_id, 'session ' || s.id || ' is ' || s.state from terminal_sessions s
      where s.state ${SESSION_LIVE} and exists (select from ${DELETED_PROJECT} and p.id = s.project_id)`,
  },
  {
    name: 'session_ends_with_allocation',
    rule: 'No session is open on an ended allocation.',
    sql: `select s.id as subject_id, s.state || ', its allocation is ' || a.state as detail
      from terminal_sessions s join allocations a on a.id = s.allocation_id
      where s.state ${SESSION_LIVE} and not a.state ${ALLOCATION_HELD} and a.state_since < ${ENDED}`,
  },
  {
    name: 'grant_ends_with_allocation',
    rule: 'No key is granted on an ended allocation.',
    sql: `select g.id as subject_id, g.state || ', its allocation is ' || a.state as detail
      from allocation_access_grants g join allocations a on a.id = g.allocation_id
      where g.state <> 'revoked' and not a.state ${ALLOCATION_HELD}`,
  },
];
