/** What keeps a region, SKU or pool from being retired: counts, and the first names. */
import { type CatalogUse, USE_NAMES_MAX } from '../../domain/catalog.ts';
import type { Reader } from '../client.ts';

/** Those that the foreign keys on `is_live` count, see `0042_catalog.sql`. */
const NODES = (column: string): string =>
  `select 'node' as kind, count(*) as count, (array_agg(n.name order by n.name))[1:${USE_NAMES_MAX}] as names
   from nodes n where n.${column} = $1 and n.needs_live having count(*) > 0`;
const ALLOCATIONS = (column: string): string =>
  `select 'allocation' as kind, count(*) as count, (array_agg(a.id order by a.id))[1:${USE_NAMES_MAX}] as names
   from allocations a where a.${column} = $1 and a.needs_live having count(*) > 0`;

const listUses = async (reader: Reader, text: string, key: string): Promise<CatalogUse[]> =>
  (await reader.query<CatalogUse>(text, [key])).rows;

export const listRegionUses = (reader: Reader, name: string): Promise<CatalogUse[]> =>
  listUses(reader, `${NODES('region_name')} union all ${ALLOCATIONS('region_name')}`, name);

export const listSkuUses = (reader: Reader, name: string): Promise<CatalogUse[]> =>
  listUses(reader, ALLOCATIONS('sku_name'), name);

export const listPoolUses = (reader: Reader, id: string): Promise<CatalogUse[]> =>
  listUses(reader, NODES('pool_id'), id);
