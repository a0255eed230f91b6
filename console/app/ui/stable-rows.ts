/**
 * The rows of a live table while the pointer or focus is in it: rows keep their places and show current values. A
 * removed row stays and is marked. New rows wait, unless they are at the end, where they move nothing.
 */
export type HeldRow<T> = Readonly<{ row: T; isGone: boolean }>;
export type HeldRows<T> = Readonly<{ rows: readonly HeldRow<T>[]; waiting: number }>;

export const heldRows = <T>(
  /** The rows when the pointer or focus entered; null while neither is in the table. */
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
