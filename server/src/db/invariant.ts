/**
 * The invariants as one set of read-only queries: run by an operator, every minute by a reconciler, and at the end of
 * integration tests. Each statement sees one snapshot, so a change that commits as a whole is never seen in part.
 */
import type { Reader } from './client.ts';
import { ACCESS_INVARIANTS } from './invariant-access.ts';
import { HISTORY_INVARIANTS } from './invariant-history.ts';
import { HOST_INVARIANTS } from './invariant-host.ts';
import { LIFECYCLE_INVARIANTS, MONEY_INVARIANTS } from './invariant-life.ts';
import { PLACEMENT_INVARIANTS } from './invariant-placement.ts';
import type { Invariant } from './invariant-rule.ts';

export const INVARIANTS: readonly Invariant[] = [
  ...PLACEMENT_INVARIANTS,
  ...LIFECYCLE_INVARIANTS,
  ...HISTORY_INVARIANTS,
  ...HOST_INVARIANTS,
  ...ACCESS_INVARIANTS,
  ...MONEY_INVARIANTS,
];

export type Violation = Readonly<{ invariant: string; subject_id: string; detail: string }>;

/**
 * A violated rule reports its first rows; thousands add nothing. They are found before they are sorted: otherwise the
 * planner walks a whole table in that order, hoping to finish early.
 */
const VIOLATIONS_MAX = 100;

export const listViolations = async (reader: Reader, invariant: Invariant): Promise<Violation[]> => {
  const { rows } = await reader.query<Omit<Violation, 'invariant'>>(
    `with violation as materialized (${invariant.sql}) select subject_id, detail from violation order by 1, 2 limit ${VIOLATIONS_MAX}`,
  );
  return rows.map((row) => ({ invariant: invariant.name, ...row }));
};
