/** The charges: one record from activation to the accepted release. */
import type { Allocation, UsageRecord } from '@gpuaas/sdk';
import { Stack } from '@mantine/core';
import { useAll } from '../../api/read.ts';
import { money } from '../../format/money.ts';
import { span } from '../../format/time.ts';
import { Async } from '../../ui/async.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { EmptyState, Facts, Section } from '../../ui/page.tsx';
import { Exact, useNow } from '../../ui/time.tsx';
import { isCharged, pricePerHour } from './cost.ts';

const EVERY_MS = 15_000;

const Lasted = ({ row }: Readonly<{ row: UsageRecord }>) => {
  const now = useNow();
  const until = row.ended_at === null ? now : Date.parse(row.ended_at);
  return <span className="tabular">{span(until - Date.parse(row.started_at))}</span>;
};

const columns: readonly Column<UsageRecord>[] = [
  { header: 'From', cell: ({ started_at }) => <Exact at={started_at} /> },
  { header: 'To', cell: ({ ended_at }) => (ended_at === null ? 'running' : <Exact at={ended_at} />) },
  { header: 'Time', align: 'right', cell: (row) => <Lasted row={row} /> },
  { header: 'GPUs', align: 'right', cell: ({ gpu_count }) => gpu_count },
  {
    header: 'Price per GPU-hour',
    align: 'right',
    isSecondary: true,
    cell: ({ gpu_hourly_price }) => money(gpu_hourly_price),
  },
  { header: 'Cost', align: 'right', cell: ({ cost }) => <strong className="tabular">{money(cost)}</strong> },
];

export const UsageTab = ({ allocation }: Readonly<{ allocation: Allocation }>) => {
  const { project_id, id, placement } = allocation;
  const records = useAll(
    'usageList',
    { params: { project_id }, query: { allocation_id: id } },
    { everyMs: isCharged(allocation) ? EVERY_MS : false },
  );
  return (
    <Stack gap="md">
      <Section title="Price">
        <Facts
          facts={[
            ['Per GPU-hour', money(placement.gpu_hourly_price)],
            ['Per hour', money(pricePerHour(allocation))],
            ['Charged', 'Per second, from activation until the release is accepted, powered on or off.'],
            ['Not charged', 'Launch, cleanup and failed launches.'],
          ]}
        />
      </Section>
      <Section title="Records" flush>
        <Async of={records} rows={2}>
          {(rows) =>
            rows.length === 0 ? (
              <EmptyState title="No charges">A record starts when the allocation becomes active.</EmptyState>
            ) : (
              <DataTable label="Usage records" columns={columns} rows={rows} rowKey={(row) => row.id} />
            )
          }
        </Async>
      </Section>
    </Stack>
  );
};
