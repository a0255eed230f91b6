/** Capacity: delivered, working and used, by region and SKU, now and over time. */
import { Group, SegmentedControl, Select, Stack } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { type ItemOf, useAll, useRead } from '../../api/read.ts';
import { Async } from '../../ui/async.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Loading } from '../../ui/loading.tsx';
import { EmptyState, Page, Section } from '../../ui/page.tsx';
import { Ago } from '../../ui/time.tsx';
import { CapacityBar } from './capacity-bar.tsx';
import { SPANS, seriesOf, sinceOf, spanOf } from './history.ts';

const HistoryChart = lazy(() => import('./history-chart.tsx').then(({ HistoryChart: Chart }) => ({ default: Chart })));

type Fleet = ItemOf<'adminCapacityList'>;
type SkuRow = Fleet['skus'][number];
const FLOOR_MS = 10_000;

const COLUMNS: readonly Column<SkuRow>[] = [
  { header: 'SKU', cell: ({ sku_name }) => <span className="mono">{sku_name}</span> },
  { header: 'Delivered', align: 'right', cell: ({ delivered_gpus }) => delivered_gpus },
  { header: 'Healthy', align: 'right', cell: ({ healthy_gpus }) => healthy_gpus },
  { header: 'Active', align: 'right', cell: ({ active_gpus }) => active_gpus },
  { header: 'Reserved', align: 'right', cell: ({ reserved_gpus }) => reserved_gpus },
  { header: 'Free now', align: 'right', cell: ({ free_gpus }) => free_gpus },
  { header: 'Unapproved', align: 'right', cell: ({ unapproved_gpus }) => unapproved_gpus },
  { header: 'Blocked', align: 'right', cell: ({ blocked_gpus }) => blocked_gpus },
  { header: 'Largest set', align: 'right', cell: ({ largest_set }) => largest_set },
];

const FleetSection = ({ fleet }: Readonly<{ fleet: Fleet }>) => (
  <Section
    title={`${fleet.gpu_model} in ${fleet.region_name}`}
    actions={
      <span className="muted">
        counted <Ago at={fleet.counted_at} />
      </span>
    }
  >
    <Stack gap="sm">
      <CapacityBar fleet={fleet} />
      <div>
        {fleet.nodes} nodes, {fleet.empty_nodes} of them empty; {fleet.fragmentation}.
      </div>
      <DataTable
        label={`By SKU in ${fleet.region_name}`}
        columns={COLUMNS}
        rows={fleet.skus}
        rowKey={({ sku_name }) => sku_name}
      />
      <span className="muted">
        Delivered GPUs are reserved, free, unapproved or blocked. GPUs of a node in flexible mode count in the row of
        each shape; one in use by, or held for, the other shape is blocked.
      </span>
    </Stack>
  </Section>
);

const History = ({ fleets }: Readonly<{ fleets: readonly Fleet[] }>) => {
  const search = useSearch({ from: '/console/platform/capacity' });
  const navigate = useNavigate({ from: '/platform/capacity' });
  const span = spanOf(search.span);
  const region = search.region ?? fleets[0]?.region_name;
  const model = search.model ?? fleets.find(({ region_name }) => region_name === region)?.gpu_model;
  const history = useRead(
    'adminCapacityHistoryList',
    { query: { region_name: region, gpu_model: model, since: sinceOf(span, Date.now()) } },
    { everyMs: 60_000, keepPrevious: true },
  );
  const set = (change: Readonly<Record<string, string>>) =>
    void navigate({ search: { ...search, ...change }, replace: true });
  const places = [...new Set(fleets.map(({ region_name }) => region_name))];
  const models = [
    ...new Set(fleets.filter(({ region_name }) => region_name === region).map(({ gpu_model }) => gpu_model)),
  ];
  return (
    <Section
      title="History"
      actions={
        <Group gap="xs">
          <Select
            aria-label="Region"
            size="xs"
            w={150}
            data={places}
            value={region ?? null}
            allowDeselect={false}
            onChange={(value) => value !== null && set({ region: value })}
          />
          <Select
            aria-label="GPU model"
            size="xs"
            w={130}
            data={models}
            value={model ?? null}
            allowDeselect={false}
            onChange={(value) => value !== null && set({ model: value })}
          />
          <SegmentedControl
            aria-label="Span"
            size="xs"
            data={SPANS.map(({ name }) => name)}
            value={span.name}
            onChange={(value) => set({ span: value })}
          />
        </Group>
      }
    >
      <Async of={history} rows={8}>
        {({ items }) =>
          items.length < 2 ? (
            <EmptyState title="No samples yet">Samples are taken every 5 minutes and kept for 90 days.</EmptyState>
          ) : (
            <Suspense fallback={<Loading rows={8} />}>
              <HistoryChart series={seriesOf(items)} />
            </Suspense>
          )
        }
      </Async>
    </Section>
  );
};

export const CapacityPage = () => {
  const fleets = useAll('adminCapacityList', {}, { everyMs: FLOOR_MS });
  return (
    <Page title="Capacity" subtitle="Delivered GPUs: reserved, free, unapproved or blocked.">
      <Async of={fleets} rows={8}>
        {(items) =>
          items.length === 0 ? (
            <EmptyState title="No capacity">
              Capacity appears after you add a node, enroll its agent, run discovery and approve slots.
            </EmptyState>
          ) : (
            <>
              {items.map((fleet) => (
                <FleetSection key={`${fleet.region_name} ${fleet.gpu_model}`} fleet={fleet} />
              ))}
              <History fleets={items} />
            </>
          )
        }
      </Async>
    </Page>
  );
};
