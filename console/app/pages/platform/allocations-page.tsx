/** Allocations of all tenants and their nodes: for operators, who may also release or clean up on a tenant's behalf. */

import { type AdminAllocation, ALLOCATION_STATES } from '@gpuaas/sdk';
import { Group, SegmentedControl } from '@mantine/core';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { usePages } from '../../api/read.ts';
import { money } from '../../format/money.ts';
import { stateWord } from '../../format/state.ts';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { Loading } from '../../ui/loading.tsx';
import { EmptyState, Page, Section } from '../../ui/page.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { Ago } from '../../ui/time.tsx';
import { ForceButtons, ForceDialog, type ForceRequest } from './force-dialog.tsx';

const FLOOR_MS = 5_000;

const columns = (ask: (asked: ForceRequest) => void): readonly Column<AdminAllocation>[] => [
  {
    header: 'Allocation',
    cell: ({ allocation }) => (
      <Link className="link" to="/platform/trace" search={{ id: allocation.id }} title={allocation.id}>
        {allocation.name}
      </Link>
    ),
  },
  {
    header: 'State',
    cell: ({ allocation }) => (
      <StateBadge kind="allocation" state={allocation.state} title={allocation.state_reason ?? undefined} />
    ),
  },
  { header: 'GPUs', align: 'right', cell: ({ allocation }) => allocation.gpu_count },
  {
    header: 'Node',
    cell: ({ node_id }) =>
      node_id === null ? (
        'none'
      ) : (
        <Link className="link" to="/platform/nodes/$nodeId" params={{ nodeId: node_id }} title={node_id}>
          …{node_id.slice(-6)}
        </Link>
      ),
  },
  {
    header: 'Organization',
    cell: ({ organization_id }) => (
      <span className="mono" title={organization_id} style={{ whiteSpace: 'nowrap' }}>
        …{organization_id.slice(-6)}
      </span>
    ),
    isSecondary: true,
  },
  { header: 'Cost', align: 'right', cell: ({ allocation }) => money(allocation.cost_so_far), isSecondary: true },
  { header: 'Since', cell: ({ allocation }) => <Ago at={allocation.state_since} />, isSecondary: true },
  { header: 'Actions', isHeaderHidden: true, align: 'right', cell: (row) => <ForceButtons row={row} onAsk={ask} /> },
];

export const PlatformAllocationsPage = () => {
  const search = useSearch({ from: '/console/platform/allocations' });
  const navigate = useNavigate({ from: '/platform/allocations' });
  const [asked, setAsked] = useState<ForceRequest | null>(null);
  const state = ALLOCATION_STATES.find((one) => one === search.state);
  const rows = usePages(
    'adminAllocationList',
    { query: { state, node_id: search.node, organization_id: search.organization } },
    { everyMs: FLOOR_MS, keepPrevious: true },
  );
  return (
    <Page title="All allocations">
      <Group>
        <SegmentedControl
          aria-label="State"
          value={state ?? 'all'}
          onChange={(value) => {
            const { state: _, ...rest } = search;
            void navigate({ search: value === 'all' ? rest : { ...rest, state: value }, replace: true });
          }}
          data={[
            { value: 'all', label: 'All' },
            ...ALLOCATION_STATES.map((one) => ({ value: one, label: stateWord('allocation', one).word })),
          ]}
          style={{ maxWidth: '100%', overflowX: 'auto' }}
        />
      </Group>
      {rows.error !== null && <ErrorPanel error={rows.error} onRetry={rows.refetch} />}
      <Section title="Allocations" flush>
        {rows.isLoading ? (
          <Loading rows={8} />
        ) : rows.items.length === 0 ? (
          <EmptyState title="No matching allocations">
            This list shows allocations of every organization, newest first.
          </EmptyState>
        ) : (
          <DataTable
            label="All allocations"
            columns={columns(setAsked)}
            rows={rows.items}
            rowKey={({ allocation }) => allocation.id}
            list={JSON.stringify(search)}
            hasMore={rows.hasMore}
            isLoadingMore={rows.isLoadingMore}
            onMore={rows.loadMore}
          />
        )}
      </Section>
      <ForceDialog asked={asked} onClose={() => setAsked(null)} />
    </Page>
  );
};
