/** The shape of an invariant. */
export type Invariant = Readonly<{
  name: string;
  /** What holds, as a sentence. */
  rule: string;
  /** Gives `subject_id` and `detail` of whoever breaks it. */
  sql: string;
}>;

/** History is looked at this far back; older rows were looked at when they were young. */
export const RECENT = "clock_timestamp() - interval '35 days'";
