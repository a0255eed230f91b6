/**
 * A table that lives: values change in place, but while the pointer or the focus is in it no row appears above another or
 * goes away, so that nobody clicks on what was somewhere else a moment ago. What is held back is said and shown on demand.
 */
import { Button } from '@mantine/core';
import { type ReactNode, useMemo, useRef, useState } from 'react';
import { TableScroll } from './table-scroll.tsx';

export type Column<T> = Readonly<{
  header: string;
  cell: (row: T) => ReactNode;
  align?: 'right';
  /** Left out on narrow screens. */
  isSecondary?: boolean;
  /** Hides the header from sight, not from screen readers: for columns of buttons. */
  isHeaderHidden?: boolean;
}>;

export type DataTableProps<T> = Readonly<{
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => string;
  hasMore?: boolean;
  isLoadingMore?: boolean;
  onMore?: () => void;
}>;

/** The rows in the order last shown, as long as somebody is in the table; rows that are gone meanwhile stay as they were. */
const useHeldRows = <T,>(rows: readonly T[], rowKey: (row: T) => string) => {
  const [isHeld, setHeld] = useState(false);
  const shown = useRef<readonly T[]>(rows);
  const held = useMemo(() => {
    if (!isHeld) {
      shown.current = rows;
      return { rows, waiting: 0 };
    }
    const fresh = new Map(rows.map((row) => [rowKey(row), row]));
    const keys = new Set(shown.current.map(rowKey));
    const firstNew = rows.findIndex((row) => !keys.has(rowKey(row)));
    // What comes at the end moves nothing, so it may come.
    const lastKnown = rows.findLastIndex((row) => keys.has(rowKey(row)));
    const appended = rows.filter((row, index) => index > lastKnown && !keys.has(rowKey(row)));
    const waiting =
      firstNew === -1 ? 0 : rows.filter((row, index) => index < lastKnown && !keys.has(rowKey(row))).length;
    return { rows: [...shown.current.map((row) => fresh.get(rowKey(row)) ?? row), ...appended], waiting };
  }, [rows, isHeld, rowKey]);
  const hold = (value: boolean) => {
    if (value && !isHeld) shown.current = rows;
    setHeld(value);
  };
  return { ...held, hold };
};

export const DataTable = <T,>({ label, columns, rows, rowKey, hasMore, isLoadingMore, onMore }: DataTableProps<T>) => {
  const held = useHeldRows(rows, rowKey);
  return (
    <div>
      <TableScroll label={label} onPointerEnter={() => held.hold(true)} onPointerLeave={() => held.hold(false)}>
        <table className="table">
          <thead>
            <tr>
              {columns.map(({ header, align, isSecondary, isHeaderHidden }) => (
                <th key={header} scope="col" data-align={align} className={isSecondary ? 'secondary' : undefined}>
                  {isHeaderHidden ? <span className="visually-hidden">{header}</span> : header}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {held.rows.map((row) => (
              <tr key={rowKey(row)}>
                {columns.map(({ header, cell, align, isSecondary }) => (
                  <td key={header} data-align={align} className={isSecondary ? 'secondary' : undefined}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </TableScroll>
      {held.waiting > 0 && (
        <Button variant="subtle" size="xs" onClick={() => held.hold(false)}>
          {held.waiting} new, show
        </Button>
      )}
      {hasMore && (
        <Button variant="subtle" fullWidth loading={isLoadingMore ?? false} onClick={onMore}>
          Show more
        </Button>
      )}
    </div>
  );
};
