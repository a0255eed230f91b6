/**
 * What a live table shows while somebody is in it: the rows that stood there, in their places, with the values of now. A row
 * that is gone keeps its place and is marked; what is new waits, unless it comes at the end, where it moves nothing.
 */
export type HeldRow<T> = Readonly<{ row: T; isGone: boolean }>;
export type HeldRows<T> = Readonly<{ rows: readonly HeldRow<T>[]; waiting: number }>;

export const heldRows = <T>(
  /** As they stood when somebody came; null while nobody is there. */
  shown: readonly T[] | null,
  rows: readonly T[],
  rowKey: (row: T) => string,
): HeldRows<T> => {
  if (shown === null) return { rows: rows.map((row) => ({ row, isGone: false })), waiting: 0 };
  const fresh = new Map(rows.map((row) => [rowKey(row), row]));
  const keys = new Set(shown.map(rowKey));
  const lastKnown = rows.findLastIndex((row) => keys.has(rowKey(row)));
  const isNew = (row: T): boolean => !keys.has(rowKey(row));
  return {
    rows: [
      ...shown.map((row) => ({ row: fresh.get(rowKey(row)) ?? row, isGone: !fresh.has(rowKey(row)) })),
      ...rows.slice(lastKnown + 1).map((row) => ({ row, isGone: false })),
    ],
    waiting: rows.slice(0, lastKnown + 1).filter(isNew).length,
  };
};
