/** The project overview: running allocations, costs, items that need attention, quota and capacity. */
import './overview.css';
import { Button } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { useMe } from '../../api/me.tsx';
import { useRead } from '../../api/read.ts';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page, Section } from '../../ui/page.tsx';
import { useNow } from '../../ui/time.tsx';
import { LaunchButton } from '../allocations/launch-button.tsx';
import { useAllocations } from '../allocations/use-allocations.ts';
import { attentionRows } from './attention.ts';
import { AttentionList } from './attention-list.tsx';
import { CapacityTable } from './capacity-table.tsx';
import { CostTiles } from './cost-tiles.tsx';
import { FirstSteps } from './first-steps.tsx';
import { QuotaBars } from './quota-bars.tsx';
import { RunningTable } from './running-table.tsx';

const AGAIN_MS = 15_000;
const FAILED_SHOWN = 10;

const useOverview = (projectId: string) => {
  const live = useAllocations(projectId, 'live', '');
  const failed = useRead(
    'allocationList',
    { params: { project_id: projectId }, query: { state: 'failed', limit: FAILED_SHOWN } },
    { everyMs: AGAIN_MS },
  );
  const now = useNow();
  return {
    live,
    isLoading: live.isLoading || failed.isLoading,
    isEmpty: live.error === null && live.rows.length === 0,
    attention: attentionRows([...(failed.data?.items ?? []), ...live.rows], now),
  };
};

type SummaryProps = Readonly<{ projectId: string }> & Omit<ReturnType<typeof useOverview>, 'isLoading'>;

/** Rendered at once, so that content that arrives later does not shift what is being read. */
const Summary = ({ projectId, live, isEmpty, attention }: SummaryProps) => (
  <>
    {attention.length > 0 && <AttentionList rows={attention} projectId={projectId} />}
    {isEmpty ? (
      <FirstSteps projectId={projectId} />
    ) : (
      <Section
        title="Running allocations"
        flush
        actions={
          <Button
            variant="subtle"
            size="xs"
            renderRoot={(props) => <Link to="/projects/$projectId/allocations" params={{ projectId }} {...props} />}
          >
            All allocations
          </Button>
        }
      >
        {live.error !== null && <ErrorPanel error={live.error} onRetry={live.refetch} />}
        <RunningTable rows={live.rows} projectId={projectId} />
      </Section>
    )}
    <div className="overview-pair">
      <QuotaBars projectId={projectId} />
      <CapacityTable projectId={projectId} />
    </div>
  </>
);

export const OverviewPage = () => {
  const { projectId = '' } = useParams({ strict: false });
  const project = useMe().projects.find(({ id }) => id === projectId);
  const { isLoading, ...summary } = useOverview(projectId);
  return (
    <Page
      title={project?.name ?? 'Overview'}
      subtitle="Running allocations, costs and items that need attention"
      actions={<LaunchButton projectId={projectId}>Launch</LaunchButton>}
    >
      <CostTiles
        projectId={projectId}
        link={
          <Link className="link" to="/projects/$projectId/usage" params={{ projectId }}>
            Usage
          </Link>
        }
      />
      {isLoading ? <Loading rows={12} /> : <Summary projectId={projectId} {...summary} />}
    </Page>
  );
};
