/**
 * The cost of the project this month and per hour. The tiles are shown before their numbers, so that the layout does
 * not shift.
 */
import './overview.css';
import type { ReactNode } from 'react';
import { useRead } from '../../api/read.ts';
import { moneys } from '../../format/money.ts';
import { count } from '../../format/size.ts';
import { day } from '../../format/time.ts';
import { ErrorPanel } from '../../ui/error-panel.tsx';

const AGAIN_MS = 15_000;
/** A placeholder for a line. */
const WAITING = '\u00a0';

const Tile = ({ label, value, note }: Readonly<{ label: string; value: string; note: ReactNode }>) => (
  <div className="card cost-tile">
    <div className="muted">{label}</div>
    <div className="cost-tile-value tabular">{value}</div>
    <div className="muted">{note}</div>
  </div>
);

export const CostTiles = ({ projectId, link }: Readonly<{ projectId: string; link?: ReactNode }>) => {
  const summary = useRead('usageSummaryGet', { params: { project_id: projectId } }, { everyMs: AGAIN_MS });
  const { data, error } = summary;
  if (data === undefined && error !== null) return <ErrorPanel error={error} onRetry={() => void summary.refetch()} />;
  return (
    <div className="cost-tiles">
      <Tile
        label="Cost this month"
        value={data === undefined ? '…' : moneys(data.costs)}
        note={data === undefined ? WAITING : `since ${day(data.since)}`}
      />
      <Tile
        label="Cost per hour now"
        value={data === undefined ? '…' : moneys(data.costs_per_hour)}
        note="until released"
      />
      <Tile
        label="Charged now"
        value={data === undefined ? '…' : count(data.running_gpus, 'GPU')}
        note={
          data === undefined ? (
            WAITING
          ) : (
            <>
              {count(data.running_allocations, 'allocation')}
              {link !== undefined && <div>{link}</div>}
            </>
          )
        }
      />
    </div>
  );
};
