/**
 * Handles every row that is due, page by page. The next page starts after the last row of the one before, so rows that
 * fail cannot keep later ones from their turn.
 */
export type EachRow<Row> = Readonly<{
  /** The next rows in a fixed order, after this one; the first rows without one. */
  list(after: Row | undefined): Promise<readonly Row[]>;
  /** False when there was nothing left to do. */
  handle(row: Row): Promise<boolean>;
  /** What could not be done, for the error. */
  failed: string;
  signal?: AbortSignal | undefined;
}>;

const FAILURES_KEPT = 10;

/** Returns how many rows were handled. Throws after the last one if any failed. */
export const eachRow = async <Row>({ list, handle, failed, signal }: EachRow<Row>): Promise<number> => {
  const failures: unknown[] = [];
  let handled = 0;
  let [listed, failedCount] = [0, 0];
  for (let after: Row | undefined; ; ) {
    const rows = await list(after);
    for (const row of rows) {
      if (signal?.aborted) return handled;
      try {
        if (await handle(row)) handled += 1;
      } catch (err) {
        failedCount += 1;
        if (failures.length < FAILURES_KEPT) failures.push(err);
      }
    }
    listed += rows.length;
    after = rows.at(-1);
    if (after === undefined) break;
  }
  if (failedCount > 0) throw new AggregateError(failures, `${failedCount} of ${listed} ${failed}`);
  return handled;
};
