/** The shape of an invariant. */
export type Invariant = Readonly<{
  name: string;
  /** What holds, as a sentence. */
  rule: string;
  /** Gives `subject_id` and `detail` of whoever breaks it. */
  sql: string;
}>;

/**
 * History is looked at this far back; older rows were looked at when they were young. The time of the statement, not
 * the clock: an index can be searched for what does not change while it is searched.
 */
export const RECENT = "statement_timestamp() - interval '1 day'";
