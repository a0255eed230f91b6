/**
 * A list of resources with the changes of each, from one declaration: table, forms, retirement, and the way back of a
 * retired one. A change that the user may not make is shown with the reason.
 */
import type { Permission } from '@gpuaas/sdk';
import { Switch } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { RequestOf } from '../api/call.ts';
import { useMay } from '../api/me.tsx';
import { type PageId, type PagesResult, usePages } from '../api/read.ts';
import { ActionButton } from '../ui/action-button.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { ErrorPanel } from '../ui/error-panel.tsx';
import { Loading } from '../ui/loading.tsx';
import { EmptyState, Section } from '../ui/page.tsx';
import type { Form, Values } from './form.ts';
import './resource.css';
import { type Asked, ResourceDialog } from './resource-form.tsx';

const ROWS_PER_PAGE = 100;

export type Resource<Row> = Readonly<{
  title: string;
  /** What it is, if there is none. */
  empty: Readonly<{ title: string; text: string }>;
  list: Readonly<{
    operation: PageId;
    query?: Readonly<Record<string, unknown>>;
    hasRetired?: boolean;
    everyMs?: number;
  }>;
  keyOf(row: Row): string;
  /** For the names of buttons. */
  nameOf(row: Row): string;
  columns: readonly Column<Row>[];
  create?: Form<null>;
  /** Of a row that is not retired. */
  changes: readonly Form<Row>[];
  retiredAt?: (row: Row) => string | null;
}>;

type AnyAsked<Row> = Asked<Row> | Asked<null>;

const useRows = <Row,>({ list }: Resource<Row>, isRetiredShown: boolean): PagesResult<Row> => {
  const query = { ...list.query, limit: ROWS_PER_PAGE, ...(isRetiredShown ? { include_retired: true } : {}) };
  return usePages(list.operation, { query } as RequestOf<PageId>, {
    keepPrevious: true,
    everyMs: list.everyMs ?? false,
  }) as unknown as PagesResult<Row>;
};

type RowButtonsProps<Row> = Readonly<{
  row: Row;
  resource: Pick<Resource<Row>, 'changes' | 'create' | 'nameOf' | 'retiredAt'>;
  may(permission: Permission): string | null;
  onAsk(asked: AnyAsked<Row>): void;
}>;

/** The changes of one resource. A retired one can only come back. */
const RowButtons = <Row,>({ row, resource, may, onAsk }: RowButtonsProps<Row>) => {
  const { changes, create, nameOf, retiredAt } = resource;
  const isRetired = (retiredAt?.(row) ?? null) !== null;
  const button = (label: string, refusal: string | null, asked: AnyAsked<Row>) => (
    <ActionButton
      key={label}
      size="compact-sm"
      variant="default"
      aria-label={`${label} ${nameOf(row)}`}
      disabledReason={refusal}
      onClick={() => onAsk(asked)}
    >
      {label}
    </ActionButton>
  );
  return (
    <div className="row-actions">
      {isRetired
        ? create !== undefined &&
          button('Bring back', may(create.permission), {
            form: { ...create, title: `Bring back ${nameOf(row)}`, submit: 'Bring back' },
            row: null,
            from: row,
          })
        : changes.map((form) => button(form.label, may(form.permission) ?? form.refusal?.(row) ?? null, { form, row }))}
    </div>
  );
};

export const ResourceSection = <Row,>({
  resource,
  extra,
  filter,
  top,
}: Readonly<{
  resource: Resource<Row>;
  /** Beside the button that creates. */
  extra?: ReactNode;
  /** Above the table. */
  filter?: ReactNode;
  /** Above the fields of the form that creates. */
  top?: (fill: (values: Values) => void) => ReactNode;
}>) => {
  const { title, empty, list, keyOf, columns, create, changes } = resource;
  const may = useMay();
  const [isRetiredShown, setRetiredShown] = useState(false);
  const [open, setOpen] = useState<AnyAsked<Row> | null>(null);
  const rows = useRows(resource, isRetiredShown);
  const all: readonly Column<Row>[] =
    changes.length === 0 && create === undefined
      ? columns
      : [
          ...columns,
          {
            header: 'Actions',
            isHeaderHidden: true,
            align: 'right',
            cell: (row) => <RowButtons row={row} resource={resource} may={may} onAsk={setOpen} />,
          },
        ];
  const table = () => {
    if (rows.error !== null && rows.items.length === 0) return <ErrorPanel error={rows.error} onRetry={rows.refetch} />;
    if (rows.isLoading) return <Loading rows={4} label={title} />;
    if (rows.items.length === 0) return <EmptyState title={empty.title}>{empty.text}</EmptyState>;
    return (
      <DataTable
        label={title}
        columns={all}
        rows={rows.items}
        rowKey={keyOf}
        list={JSON.stringify([list.query, isRetiredShown])}
        hasMore={rows.hasMore}
        isLoadingMore={rows.isLoadingMore}
        onMore={rows.loadMore}
      />
    );
  };
  return (
    <Section
      title={title}
      flush
      actions={
        <>
          {list.hasRetired && (
            <Switch
              size="xs"
              label="Retired"
              aria-label={`Show retired ${title.toLowerCase()}`}
              checked={isRetiredShown}
              onChange={(event) => setRetiredShown(event.currentTarget.checked)}
            />
          )}
          {extra}
          {create !== undefined && (
            <ActionButton disabledReason={may(create.permission)} onClick={() => setOpen({ form: create, row: null })}>
              {create.label}
            </ActionButton>
          )}
        </>
      }
    >
      {filter}
      {table()}
      <ResourceDialog
        asked={open as Asked<Row | null> | null}
        top={open?.form.send.operation === create?.send.operation ? top : undefined}
        onClose={() => setOpen(null)}
      />
    </Section>
  );
};

/** The changes of a resource that has a page of its own. */
export const ResourceChanges = <Row,>({ row, resource }: Pick<RowButtonsProps<Row>, 'row' | 'resource'>) => {
  const may = useMay();
  const [open, setOpen] = useState<AnyAsked<Row> | null>(null);
  return (
    <>
      <RowButtons row={row} resource={resource} may={may} onAsk={setOpen} />
      <ResourceDialog asked={open as Asked<Row | null> | null} onClose={() => setOpen(null)} />
    </>
  );
};
