/** Where a day begins: what runs and costs, what needs somebody, what is left of quota and capacity. */
import './overview.css';
import { Button } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { useMe } from '../../api/me.tsx';
import { useRead } from '../../api/read.ts';
import { money } from '../../format/money.ts';
import { count } from '../../format/size.ts';
import { day } from '../../format/time.ts';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page, Section } from '../../ui/page.tsx';
import { useNow } from '../../ui/time.tsx';
import { LaunchButton } from '../allocations/launch-button.tsx';
import { useAllocations } from '../allocations/use-allocations.ts';
import { attentionRows } from './attention.ts';
import { AttentionList } from './attention-list.tsx';
import { CapacityTable } from './capacity-table.tsx';
import { FirstSteps } from './first-steps.tsx';
import { QuotaBars } from './quota-bars.tsx';
import { RunningTable } from './running-table.tsx';
import { Tile } from './tile.tsx';

const AGAIN_MS = 15_000;
const FAILED_SHOWN = 10;

const CostTiles = ({ projectId }: Readonly<{ projectId: string }>) => {
  const summary = useRead('usageSummaryGet', { params: { project_id: projectId } }, { everyMs: AGAIN_MS });
  const { data } = summary;
  if (data === undefined && summary.error !== null)
    return <ErrorPanel error={summary.error} onRetry={() => void summary.refetch()} />;
  return (
    <div className="tiles">
      <Tile
        label="Cost this month"
        value={data === undefined ? '…' : money(data.cost)}
        note={data === undefined ? '' : `since ${day(data.since)} UTC`}
      />
      <Tile
        label="Cost per hour now"
        value={data === undefined ? '…' : money(data.cost_per_hour)}
        note={data === undefined ? '' : `${count(data.running_gpus, 'GPU')} charged`}
      />
      <Tile
        label="Charged now"
        value={data === undefined ? '…' : count(data.running_allocations, 'allocation')}
        note={
          <Link className="link" to="/projects/$projectId/usage" params={{ projectId }}>
            Usage
          </Link>
        }
      />
    </div>
  );
};

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
    isEmpty: !live.isLoading && live.error === null && live.rows.length === 0,
    attention: attentionRows([...(failed.data?.items ?? []), ...live.rows], now),
  };
};

export const OverviewPage = () => {
  const { projectId = '' } = useParams({ strict: false });
  const project = useMe().projects.find(({ id }) => id === projectId);
  const { live, isEmpty, attention } = useOverview(projectId);
  return (
    <Page
      title={project?.name ?? 'Overview'}
      subtitle="What runs, what it costs, and what needs somebody"
      actions={<LaunchButton projectId={projectId}>Launch</LaunchButton>}
    >
      <CostTiles projectId={projectId} />
      {attention.length > 0 && <AttentionList rows={attention} projectId={projectId} />}
      {isEmpty ? (
        <FirstSteps projectId={projectId} />
      ) : (
        <Section
          title="What runs"
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
          {live.isLoading ? <Loading rows={4} /> : <RunningTable rows={live.rows} projectId={projectId} />}
        </Section>
      )}
      <div className="overview-pair">
        <QuotaBars projectId={projectId} />
        <CapacityTable projectId={projectId} />
      </div>
    </Page>
  );
};
