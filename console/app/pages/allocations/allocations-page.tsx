/** The allocations of a project: live ones, their cost and progress. Filters are part of the URL. */
import './allocations.css';
import type { Allocation } from '@gpuaas/sdk';
import { Button, CloseButton, Group, Select, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { useMay } from '../../api/me.tsx';
import { whyNot } from '../../ui/action-button.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { Loading } from '../../ui/loading.tsx';
import { EmptyState, Page } from '../../ui/page.tsx';
import { useReturnFocus } from '../../ui/return-focus.ts';
import { releaseRefusal } from './actions.ts';
import { allocationColumns } from './allocation-row.tsx';
import { usePeople } from './hooks.ts';
import { LaunchButton } from './launch-button.tsx';
import { FILTER_CHOICES, filterOf } from './list.ts';
import { ReleaseDialog } from './release-dialog.tsx';
import { useAllocations } from './use-allocations.ts';

const ROUTE = '/console/projects/$projectId/allocations';

const Nothing = ({
  isFiltered,
  projectId,
  onClear,
}: Readonly<{ isFiltered: boolean; projectId: string; onClear(): void }>) =>
  isFiltered ? (
    <EmptyState
      title="No matching allocations"
      action={
        <Button variant="default" onClick={onClear}>
          Show live allocations
        </Button>
      }
    >
      Select “All” to include released and failed allocations. The name filter matches any part of a name.
    </EmptyState>
  ) : (
    <EmptyState title="No allocations" action={<LaunchButton projectId={projectId}>Launch GPUs</LaunchButton>}>
      An allocation holds GPUs until you release it: a slice of a node with its own VM, or a bare-metal node. The launch
      form shows price and availability first.
    </EmptyState>
  );

export const AllocationsPage = () => {
  const { projectId } = useParams({ from: ROUTE });
  const search = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: '/projects/$projectId/allocations' });
  const may = useMay();
  const [releasing, setReleasing] = useState<Allocation | null>(null);
  const { leave, comeBack } = useReturnFocus();
  const ask = (row: Allocation) => {
    leave();
    setReleasing(row);
  };
  const close = () => {
    setReleasing(null);
    comeBack();
  };
  const filter = filterOf(search.state);
  const text = search.q ?? '';
  const list = useAllocations(projectId, filter, text);
  const { rows } = list;
  const nameOf = usePeople(
    projectId,
    rows.map(({ requested_by }) => requested_by),
  );

  const change = (next: Readonly<{ state?: string | undefined; q?: string | undefined }>) =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true });

  // Costs count on from when these rows came.
  // biome-ignore lint/correctness/useExhaustiveDependencies: new rows are what makes it a new moment.
  const readAtMs = useMemo(
    () => Date.now(),
    [rows.map(({ id, cost_so_far }) => `${id}${cost_so_far.amount_minor}`).join()],
  );
  const role = may('allocation.release', { project: projectId });
  const columns = allocationColumns({
    readAtMs,
    nameOf,
    refusalOf: (row) =>
      releaseRefusal(row, { release: whyNot(row.actions, 'release'), update: whyNot(row.actions, 'update'), role }),
    onRelease: ask,
  });

  return (
    <Page title="Allocations" actions={<LaunchButton projectId={projectId}>Launch</LaunchButton>}>
      <Group gap="sm" align="flex-end">
        <Select
          label="State"
          w={180}
          data={FILTER_CHOICES.map(({ value, label }) => ({ value, label }))}
          value={filter}
          allowDeselect={false}
          onChange={(value) => change({ state: value === 'live' || value === null ? undefined : value })}
        />
        <TextInput
          label="Name"
          w={240}
          placeholder="Any part of the name"
          leftSection={<IconSearch size={15} aria-hidden />}
          rightSection={
            text === '' ? undefined : (
              <CloseButton aria-label="Clear name filter" onClick={() => change({ q: undefined })} />
            )
          }
          value={text}
          onChange={(event) => change({ q: event.currentTarget.value || undefined })}
        />
      </Group>
      {list.error !== null && <ErrorPanel error={list.error} onRetry={list.refetch} />}
      <section className="card" aria-label="Allocations">
        {list.isLoading ? (
          <Loading rows={6} label="Loading allocations" />
        ) : rows.length === 0 && list.error === null ? (
          <Nothing
            isFiltered={filter !== 'live' || text !== ''}
            projectId={projectId}
            onClear={() => change({ state: undefined, q: undefined })}
          />
        ) : (
          <DataTable
            label="Allocations"
            columns={columns}
            rows={rows}
            rowKey={({ id }) => id}
            list={`${filter} ${text}`}
            hasMore={list.hasMore}
            isLoadingMore={list.isLoadingMore}
            onMore={list.loadMore}
          />
        )}
      </section>
      {releasing !== null && <ReleaseDialog allocation={releasing} isOpen onClose={close} />}
    </Page>
  );
};
