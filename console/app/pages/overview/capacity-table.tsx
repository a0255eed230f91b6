/** What could be launched now, by SKU and region. */
import { Link } from '@tanstack/react-router';
import { type ItemOf, useAll } from '../../api/read.ts';
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
        className="link"
        to="/projects/$projectId/launch"
        params={{ projectId }}
        search={{ sku: sku_name, region: region_name }}
      >
        {sku_name}
      </Link>
    ),
  },
  { header: 'Region', cell: ({ region_name }) => region_name },
  { header: 'Free GPUs', align: 'right', cell: ({ available_gpus }) => available_gpus },
  {
    header: 'Largest set',
    align: 'right',
    cell: ({ largest_set }) => (largest_set === 0 ? 'none' : largest_set),
  },
];

export const CapacityTable = ({ projectId }: Readonly<{ projectId: string }>) => (
  <Section title="Capacity now" flush>
    <Async of={useAll('capacityList', { params: { project_id: projectId } }, { everyMs: AGAIN_MS })} rows={3}>
      {(rows) =>
        rows.length === 0 ? (
          <p className="muted" style={{ padding: '0 16px' }}>
            No region has machines yet.
          </p>
        ) : (
          <DataTable label="Capacity by SKU and region" columns={columns(projectId)} rows={rows} rowKey={rowKey} />
        )
      }
    </Async>
  </Section>
);
