/** Live allocations of the project: state, cost so far, price and time left. */
import type { Allocation } from '@gpuaas/sdk';
import { Link } from '@tanstack/react-router';
import { money } from '../../format/money.ts';
import { until } from '../../format/time.ts';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { StateBadge } from '../../ui/state-badge.tsx';
import { useNow } from '../../ui/time.tsx';
import { endWords, isCharged, pricePerHour } from '../allocations/cost.ts';
import { shapeWords } from '../allocations/list.ts';

const rowKey = ({ id }: Allocation): string => id;

const TimeLeft = ({ allocation }: Readonly<{ allocation: Allocation }>) => {
  const now = useNow();
  return <span className="tabular">{endWords(allocation, (at) => until(at, now))}</span>;
};

const columns = (projectId: string): readonly Column<Allocation>[] => [
  {
    header: 'Name',
    cell: ({ id, name }) => (
      <Link
        className="link"
        to="/projects/$projectId/allocations/$allocationId"
        params={{ projectId, allocationId: id }}
      >
        {name}
      </Link>
    ),
  },
  {
    header: 'State',
    cell: ({ state, power, progress }) => (
      <>
        <StateBadge kind="allocation" state={state} />
        {power !== null && power.state !== 'on' && <StateBadge kind="power" state={power.state} />}
        {progress !== null && <span className="muted tabular"> {progress.overall_percent} %</span>}
      </>
    ),
  },
  { header: 'Shape', isSecondary: true, cell: shapeWords },
  { header: 'Cost so far', align: 'right', cell: ({ cost_so_far }) => money(cost_so_far) },
  {
    header: 'Per hour',
    align: 'right',
    cell: (allocation) => (isCharged(allocation) ? money(pricePerHour(allocation)) : 'not charged'),
  },
  { header: 'Time left', isSecondary: true, cell: (allocation) => <TimeLeft allocation={allocation} /> },
];

export const RunningTable = ({ rows, projectId }: Readonly<{ rows: readonly Allocation[]; projectId: string }>) => (
  <DataTable label="Running allocations" columns={columns(projectId)} rows={rows} rowKey={rowKey} />
);
