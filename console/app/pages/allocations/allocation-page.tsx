/** One allocation: state, cost, access and history. The tab is part of the URL. */
import './allocations.css';
import type { Allocation, TimelineEntry } from '@gpuaas/sdk';
import { Tabs } from '@mantine/core';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useAll, useRead } from '../../api/read.ts';
import { NotFoundPage } from '../../shell/not-found.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { TabList } from '../../ui/tab-list.tsx';
import { AllocationActions } from './allocation-actions.tsx';
import { AllocationStatus } from './allocation-status.tsx';
import { AuditTab } from './audit-tab.tsx';
import { ConnectTab } from './connect-tab.tsx';
import { DetailsTab } from './details-tab.tsx';
import { FailurePanel } from './failure-panel.tsx';
import { HostNotices } from './host-notices.tsx';
import { shapeWords } from './list.ts';
import { NetworkTab } from './network-tab.tsx';
import { OffNotice } from './off-notice.tsx';
import { workNow } from './progress.ts';
import { ProgressPanel } from './progress-panel.tsx';
import { TimelineTab } from './timeline-tab.tsx';
import { UsageTab } from './usage-tab.tsx';
import { WipeTab } from './wipe-tab.tsx';

const ROUTE = '/console/projects/$projectId/allocations/$allocationId';
const MOVING_MS = 1_000;
const QUIET_MS = 10_000;

type Tab = Readonly<{ value: string; label: string; panel: (of: TabProps) => ReactNode }>;
type TabProps = Readonly<{ allocation: Allocation; timeline: readonly TimelineEntry[] | undefined }>;

const TABS: readonly Tab[] = [
  { value: 'connect', label: 'Connect', panel: ({ allocation }) => <ConnectTab allocation={allocation} /> },
  {
    value: 'timeline',
    label: 'Timeline',
    panel: ({ allocation, timeline }) => <TimelineTab allocation={allocation} timeline={timeline} />,
  },
  { value: 'network', label: 'Network', panel: ({ allocation }) => <NetworkTab allocation={allocation} /> },
  { value: 'usage', label: 'Usage', panel: ({ allocation }) => <UsageTab allocation={allocation} /> },
  { value: 'audit', label: 'Audit', panel: ({ allocation }) => <AuditTab allocation={allocation} /> },
  { value: 'details', label: 'Details', panel: ({ allocation }) => <DetailsTab allocation={allocation} /> },
  { value: 'wipe', label: 'Wipe certificate', panel: ({ allocation }) => <WipeTab allocation={allocation} /> },
];

const TAB_NAMES = TABS.map(({ value, label }) => [value, label] as const);

/** The default tab: Connect while active, Timeline while work is in progress, Wipe certificate after release. */
const firstTab = ({ state }: Allocation): string => {
  if (state === 'released') return 'wipe';
  return state === 'active' ? 'connect' : 'timeline';
};

const Loaded = ({ allocation, readAtMs }: Readonly<{ allocation: Allocation; readAtMs: number }>) => {
  const { project_id, id } = allocation;
  const search = useSearch({ from: ROUTE });
  const navigate = useNavigate({ from: '/projects/$projectId/allocations/$allocationId' });
  const params = { project_id, allocation_id: id };
  const work = workNow(allocation);
  const timeline = useAll('allocationTimeline', { params }, { everyMs: work === null ? false : 2 * MOVING_MS });
  const openTab = (tab: string | null) =>
    void navigate({ search: (before) => ({ ...before, tab: tab ?? undefined }), replace: true });
  // Chosen once, so that the open tab does not change with the state.
  const [first] = useState(() => firstTab(allocation));
  const current = TABS.find(({ value }) => value === search.tab)?.value ?? first;
  return (
    <Page
      title={allocation.name}
      subtitle={`${shapeWords(allocation)} of ${allocation.sku_name} in ${allocation.region_name}`}
      actions={<AllocationActions allocation={allocation} onConnect={() => openTab('connect')} />}
    >
      <AllocationStatus allocation={allocation} readAtMs={readAtMs} />
      <FailurePanel allocation={allocation} timeline={timeline.data} />
      <OffNotice allocation={allocation} />
      <HostNotices allocation={allocation} />
      {work !== null && <ProgressPanel allocation={allocation} work={work} />}
      {timeline.error !== null && <ErrorPanel error={timeline.error} onRetry={() => void timeline.refetch()} />}
      <Tabs value={current} onChange={openTab} keepMounted={false}>
        <TabList current={current} tabs={TAB_NAMES} />
        {TABS.map(({ value, panel }) => (
          <Tabs.Panel key={value} value={value}>
            {panel({ allocation, timeline: timeline.data })}
          </Tabs.Panel>
        ))}
      </Tabs>
    </Page>
  );
};

export const AllocationPage = () => {
  const { projectId, allocationId } = useParams({ from: ROUTE });
  const params = { project_id: projectId, allocation_id: allocationId };
  const known = useRead('allocationGet', { params });
  const isMoving = known.data !== undefined && workNow(known.data) !== null;
  // The same query as above, so it is sent once; its interval depends on the response.
  const { data, error, refetch, dataUpdatedAt } = useRead(
    'allocationGet',
    { params },
    { everyMs: isMoving ? MOVING_MS : QUIET_MS },
  );
  if (error?.code === 'not_found') return <NotFoundPage />;
  if (data === undefined)
    return (
      <Page title="Allocation">
        {error === null ? <Loading rows={8} /> : <ErrorPanel error={error} onRetry={() => void refetch()} />}
      </Page>
    );
  return (
    <>
      {error !== null && <ErrorPanel error={error} onRetry={() => void refetch()} />}
      <Loaded key={data.id} allocation={data} readAtMs={dataUpdatedAt} />
    </>
  );
};
