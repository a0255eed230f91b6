/** The shape of an invariant. */
export type Invariant = Readonly<{
  name: string;
  /** The rule, as a sentence. */
  rule: string;
  /** Returns `subject_id` and `detail` of the violating rows. */
  sql: string;
}>;

/**
 * History is checked this far back; older rows were checked when they were new. The time of the statement, not the
 * clock: an index can be searched for a value that does not change during the search.
 */
export const RECENT = "statement_timestamp() - interval '1 day'";
