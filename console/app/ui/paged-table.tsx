/** A table that is read page by page, in its four states: loading, failed, empty, shown. */
import type { ReactNode } from 'react';
import { Async } from './async.tsx';
import { type Column, DataTable } from './data-table.tsx';
import type { ShownError } from './error-panel.tsx';

type Pages<T> = Readonly<{
  items: readonly T[];
  isLoading: boolean;
  error: ShownError | null;
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore(): void;
  refetch(): void;
}>;

export const PagedTable = <T extends Readonly<{ id: string }>>({
  pages,
  label,
  columns,
  empty,
  list,
  rows,
}: Readonly<{
  pages: Pages<T>;
  label: string;
  columns: readonly Column<T>[];
  /** In place of the table if there are no rows. */
  empty: ReactNode;
  list?: string;
  /** Height while it loads. */
  rows?: number;
}>) => {
  const { items, isLoading, error, refetch } = pages;
  // A list that could not be read is not an empty one.
  const data = isLoading || (error !== null && items.length === 0) ? undefined : items;
  return (
    <Async of={{ data, error, refetch }} label={label} {...(rows === undefined ? {} : { rows })}>
      {(shown) =>
        shown.length === 0 ? (
          empty
        ) : (
          <DataTable
            label={label}
            columns={columns}
            rows={shown}
            rowKey={({ id }) => id}
            hasMore={pages.hasMore}
            isLoadingMore={pages.isLoadingMore}
            onMore={pages.loadMore}
            {...(list === undefined ? {} : { list })}
          />
        )
      }
    </Async>
  );
};
