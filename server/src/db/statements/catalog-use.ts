/** What uses a region, SKU or pool and keeps it from being retired: counts, and the first names. */
import { type CatalogUse, USE_NAMES_MAX } from '../../domain/catalog.ts';
import type { Reader } from '../client.ts';
import { ALLOCATION_ENDED } from '../predicates.ts';

/** Those that the foreign keys on `is_live` count, see `0042_catalog.sql`. */
const NODES = (column: string): string =>
  `select 'node' as kind, count(*) as count, (array_agg(n.name order by n.name))[1:${USE_NAMES_MAX}] as names
   from nodes n where n.${column} = $1 and n.needs_live having count(*) > 0`;
const ALLOCATIONS = (column: string): string =>
  `select 'allocation' as kind, count(*) as count, (array_agg(a.id order by a.id))[1:${USE_NAMES_MAX}] as names
   from allocations a where a.${column} = $1 and a.state not ${ALLOCATION_ENDED} having count(*) > 0`;

const listUses = async (reader: Reader, text: string, key: string): Promise<CatalogUse[]> =>
  (await reader.query<CatalogUse>(text, [key])).rows;

export const listRegionUses = (reader: Reader, name: string): Promise<CatalogUse[]> =>
  listUses(reader, `${NODES('region_name')} union all ${ALLOCATIONS('region_name')}`, name);

export const listSkuUses = (reader: Reader, name: string): Promise<CatalogUse[]> =>
  listUses(reader, ALLOCATIONS('sku_name'), name);

export const listPoolUses = (reader: Reader, id: string): Promise<CatalogUse[]> =>
  listUses(reader, NODES('pool_id'), id);

/** The same allocations of each of these regions or SKUs: reads those that have not ended, once, whatever their number. */
export const withAllocationCounts = async <Row extends Readonly<{ name: string }>>(
  reader: Reader,
  column: 'region_name' | 'sku_name',
  rows: readonly Row[],
): Promise<(Row & Readonly<{ allocation_count: number }>)[]> => {
  const found = await reader.query<{ name: string; count: number }>(
    `select a.${column} as name, count(*) as count from allocations a
     where a.${column} = any ($1) and a.state not ${ALLOCATION_ENDED} group by a.${column}`,
    [rows.map(({ name }) => name)],
  );
  const counts = new Map(found.rows.map(({ name, count }) => [name, count]));
  return rows.map((row) => ({ ...row, allocation_count: counts.get(row.name) ?? 0 }));
};
