/** What must hold of those who are connected, and of the keys that were granted. */
import type { Invariant } from './invariant-rule.ts';
import { ALLOCATION_HELD } from './predicates.ts';

/** Sessions are ended within seconds; one that is still there after these is forgotten. */
const ENDED = "statement_timestamp() - interval '30 seconds'";

export const ACCESS_INVARIANTS: readonly Invariant[] = [
  {
    name: 'session_ends_with_allocation',
    rule: 'No session is open on an ended allocation.',
    sql: `select s.id as subject_id, s.state || ', its allocation is ' || a.state as detail
      from terminal_sessions s join allocations a on a.id = s.allocation_id
      where s.state in ('opening', 'open') and not a.state ${ALLOCATION_HELD} and a.state_since < ${ENDED}`,
  },
  {
    name: 'grant_ends_with_allocation',
    rule: 'No key is granted on an ended allocation.',
    sql: `select g.id as subject_id, g.state || ', its allocation is ' || a.state as detail
      from allocation_access_grants g join allocations a on a.id = g.allocation_id
      where g.state <> 'revoked' and not a.state ${ALLOCATION_HELD}`,
  },
];
