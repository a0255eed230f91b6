/** Charges: the sum of this month, every record as the API returns it, and exports. */
import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { Link, useParams } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useMe } from '../../api/me.tsx';
import { type ItemOf, usePages, useRead } from '../../api/read.ts';
import { money } from '../../format/money.ts';
import { command } from '../../format/shell.ts';
import { CliCommand } from '../../ui/cli-command.tsx';
import { Id } from '../../ui/copy.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { Loading } from '../../ui/loading.tsx';
import { EmptyState, Page, Section } from '../../ui/page.tsx';
import { Exact } from '../../ui/time.tsx';
import { LaunchButton } from '../allocations/launch-button.tsx';
import { CostTiles } from '../overview/cost-tiles.tsx';
import { useExport } from './use-export.ts';

type UsageRecord = ItemOf<'usageList'>;
const AGAIN_MS = 15_000;
/** As many names as one request returns; an older record shows its allocation's ID. */
const NAMES = 200;
const rowKey = ({ id }: UsageRecord): string => id;

const When = ({ at }: Readonly<{ at: string }>) => (
  <span style={{ whiteSpace: 'nowrap' }}>
    <Exact at={at} />
  </span>
);

const columns = (projectId: string, names: ReadonlyMap<string, string>): readonly Column<UsageRecord>[] => [
  {
    header: 'Allocation',
    cell: ({ allocation_id }) => {
      const name = names.get(allocation_id);
      const params = { projectId, allocationId: allocation_id };
      return name === undefined ? (
        <Id id={allocation_id} label="allocation ID" />
      ) : (
        <Link className="link" to="/projects/$projectId/allocations/$allocationId" params={params}>
          {name}
        </Link>
      );
    },
  },
  { header: 'SKU', isSecondary: true, cell: ({ sku_name }) => sku_name },
  { header: 'GPUs', align: 'right', cell: ({ gpu_count }) => gpu_count },
  {
    header: 'Per GPU-hour',
    align: 'right',
    isSecondary: true,
    cell: ({ gpu_hourly_price }) => money(gpu_hourly_price),
  },
  { header: 'From', cell: ({ started_at }) => <When at={started_at} /> },
  { header: 'To', cell: ({ ended_at }) => (ended_at === null ? 'still charged' : <When at={ended_at} />) },
  { header: 'Cost', align: 'right', cell: ({ cost }) => <span className="tabular">{money(cost)}</span> },
];

const Records = ({ projectId }: Readonly<{ projectId: string }>) => {
  const params = { project_id: projectId };
  const records = usePages('usageList', { params }, { everyMs: AGAIN_MS });
  const allocations = useRead('allocationList', { params, query: { limit: NAMES } });
  const names = useMemo(
    () => new Map((allocations.data?.items ?? []).map(({ id, name }) => [id, name] as const)),
    [allocations.data],
  );
  // Names that arrive later would shift every row.
  if (records.isLoading || allocations.isLoading) return <Loading rows={6} />;
  if (records.error !== null && records.items.length === 0)
    return <ErrorPanel error={records.error} onRetry={records.refetch} />;
  if (records.items.length === 0)
    return (
      <EmptyState title="No charges" action={<LaunchButton projectId={projectId}>Launch</LaunchButton>}>
        A record starts when an allocation becomes active and ends when its release is accepted.
      </EmptyState>
    );
  return (
    <DataTable
      label="Usage records"
      columns={columns(projectId, names)}
      rows={records.items}
      rowKey={rowKey}
      hasMore={records.hasMore}
      isLoadingMore={records.isLoadingMore}
      onMore={records.loadMore}
    />
  );
};

export const UsagePage = () => {
  const { projectId = '' } = useParams({ strict: false });
  const project = useMe().projects.find(({ id }) => id === projectId);
  const { run, running, error } = useExport(projectId, project?.name ?? 'project');
  const buttonOf = (format: 'csv' | 'json') => (
    <Button
      variant="default"
      leftSection={<IconDownload size={16} aria-hidden />}
      loading={running === format}
      onClick={() => void run(format)}
    >
      {format.toUpperCase()}
    </Button>
  );
  return (
    <Page
      title="Usage"
      subtitle="Charged per second from activation to release. Before tax; months in UTC."
      actions={
        <>
          {buttonOf('csv')}
          {buttonOf('json')}
        </>
      }
    >
      {error !== null && <ErrorPanel error={error} />}
      <CostTiles projectId={projectId} />
      <CliCommand
        command={command(
          ['usage', 'list'],
          [
            ['project', projectId],
            ['json', true],
          ],
        )}
      />
      <Section title="Records, newest first" flush>
        <Records projectId={projectId} />
      </Section>
    </Page>
  );
};
