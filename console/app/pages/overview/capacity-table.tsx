/** Launchable capacity by SKU and region. */
import { Link } from '@tanstack/react-router';
import { type ItemOf, useAll } from '../../api/read.ts';
import { minute } from '../../format/time.ts';
import { Async } from '../../ui/async.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Section } from '../../ui/page.tsx';

type Row = ItemOf<'capacityList'>;
const AGAIN_MS = 15_000;
const rowKey = ({ region_name, sku_name }: Row): string => `${region_name} ${sku_name}`;

const columns = (projectId: string): readonly Column<Row>[] => [
  {
    header: 'SKU',
    cell: ({ sku_name, region_name }) => (
      <Link
        className="link nowrap"
        to="/projects/$projectId/launch"
        params={{ projectId }}
        search={{ sku: sku_name, region: region_name }}
      >
        {sku_name}
      </Link>
    ),
  },
  { header: 'Region', cell: ({ region_name }) => <span className="nowrap">{region_name}</span> },
  {
    header: 'Free GPUs',
    align: 'right',
    cell: ({ available_gpus, expected }) => (
      <>
        {available_gpus}
        {expected !== null && <div className="muted">{`+${expected.gpus} by ${minute(expected.at)}`}</div>}
      </>
    ),
  },
  {
    header: 'Largest set',
    align: 'right',
    cell: ({ largest_set }) => (largest_set === 0 ? 'none' : largest_set),
  },
];

/** Regions without launchable capacity are named once, with the reason, instead of row by row. */
const Closed = ({ regions }: Readonly<{ regions: readonly ItemOf<'regionList'>[] }>) =>
  regions.length > 0 && (
    <ul className="closed-regions muted">
      {regions.map(({ name, display_name, disabled_reason }) => (
        <li key={name}>
          {display_name}: {disabled_reason ?? 'disabled.'}
        </li>
      ))}
    </ul>
  );

export const CapacityTable = ({ projectId }: Readonly<{ projectId: string }>) => {
  const capacity = useAll('capacityList', { params: { project_id: projectId } }, { everyMs: AGAIN_MS });
  const regions = useAll('regionList', {});
  const closed = (regions.data ?? []).filter(({ enabled }) => !enabled);
  const isClosed = (name: string): boolean => closed.some((region) => region.name === name);
  return (
    <Section title="Capacity" flush>
      <Async of={capacity} rows={3}>
        {(all) => (
          <>
            <DataTable
              label="Capacity by SKU and region"
              columns={columns(projectId)}
              rows={all.filter(({ region_name }) => !isClosed(region_name))}
              rowKey={rowKey}
            />
            <Closed regions={closed} />
          </>
        )}
      </Async>
    </Section>
  );
};
