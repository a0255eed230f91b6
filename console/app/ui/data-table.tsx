/**
 * A live table. Values change in place, but no row moves while the pointer or focus is in the table, so that a click
 * hits the intended row. New rows are counted and shown on demand.
 */
import { Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { heldRows } from './stable-rows.ts';
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
  /** The identity of the list, such as its filter: another list is shown at once. */
  list?: string;
  hasMore?: boolean;
  isLoadingMore?: boolean;
  onMore?: () => void;
}>;

/** Keeps the rows from the moment the pointer or focus enters until it leaves or the list changes. */
const useHeldRows = <T,>(rows: readonly T[], rowKey: (row: T) => string, list: string) => {
  const [held, setHeld] = useState<Readonly<{ shown: readonly T[]; list: string }> | null>(null);
  const shown = held?.list === list ? held.shown : null;
  return {
    ...heldRows(shown, rows, rowKey),
    hold: () => {
      if (shown === null) setHeld({ shown: rows, list });
    },
    letGo: () => setHeld(null),
  };
};

export const DataTable = <T,>({
  label,
  columns,
  rows,
  rowKey,
  list = '',
  hasMore,
  isLoadingMore,
  onMore,
}: DataTableProps<T>) => {
  const held = useHeldRows(rows, rowKey, list);
  return (
    <div>
      <TableScroll
        label={label}
        onPointerEnter={held.hold}
        onPointerLeave={held.letGo}
        // Only for keyboard users: a clicked button keeps the focus long after the user has left.
        onFocus={({ target }) => {
          if (target.matches(':focus-visible')) held.hold();
        }}
        onBlur={({ currentTarget, relatedTarget }) => {
          if (!currentTarget.contains(relatedTarget)) held.letGo();
        }}
      >
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
            {held.rows.map(({ row, isGone }) => (
              <tr
                key={rowKey(row)}
                inert={isGone}
                {...(isGone ? { 'data-gone': true, title: 'No longer in this list' } : {})}
              >
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
        <Button variant="subtle" size="xs" onClick={held.letGo}>
          {held.waiting} new: show
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
