/** Regions. A retired one stays, because nodes and allocations of the past name it. */
import type { Reader, Tx } from './client.ts';
import type { Page } from './page.ts';
import type { Regions } from './types.gen.ts';

export type RegionRow = Readonly<Omit<Regions, 'is_live'>>;
export type RegionValues = Omit<RegionRow, 'retired_at' | 'version'>;

const REGION =
  'r.name, r.display_name, r.enabled, r.disabled_reason, r.wipe_minimum, r.allows_wipe_override, r.fabric_isolation, r.retired_at, r.version';

export const listRegions = async (reader: Reader, page: Page, includeRetired = false): Promise<RegionRow[]> =>
  (
    await reader.query<RegionRow>(
      `select ${REGION} from regions r where ($1::text is null or r.name > $1) and ($3 or r.retired_at is null) order by r.name limit $2`,
      [page.after, page.limit, includeRetired],
    )
  ).rows;

/** Also a retired one. */
export const findRegion = async (reader: Reader, name: string): Promise<RegionRow | undefined> =>
  (await reader.query<RegionRow>(`select ${REGION} from regions r where r.name = $1`, [name])).rows[0];

/** Keeps launches and new nodes of the region waiting until the commit. */
export const lockRegion = async (tx: Tx, name: string): Promise<RegionRow | undefined> =>
  (await tx.query<RegionRow>(`select ${REGION} from regions r where r.name = $1 for update`, [name])).rows[0];

export const isRegion = async (reader: Reader, name: string): Promise<boolean> =>
  (await reader.query('select from regions where name = $1 and retired_at is null', [name])).rowCount === 1;

const valuesOf = (row: RegionValues) => [
  row.name,
  row.display_name,
  row.enabled,
  row.disabled_reason,
  row.wipe_minimum,
  row.allows_wipe_override,
  row.fabric_isolation,
];

/** False where a region of this name is in use; a retired one comes back with these values. */
export const insertRegion = async (tx: Tx, row: RegionValues): Promise<boolean> =>
  (
    await tx.query(
      `insert into regions as r (name, display_name, enabled, disabled_reason, wipe_minimum, allows_wipe_override, fabric_isolation)
       values ($1, $2, $3, $4, $5, $6, $7)
       on conflict (name) do update set display_name = excluded.display_name, enabled = excluded.enabled, disabled_reason = excluded.disabled_reason,
         wipe_minimum = excluded.wipe_minimum, allows_wipe_override = excluded.allows_wipe_override, fabric_isolation = excluded.fabric_isolation, retired_at = null, version = r.version + 1
       where r.retired_at is not null`,
      valuesOf(row),
    )
  ).rowCount === 1;

export const updateRegion = async (tx: Tx, version: number, row: RegionValues): Promise<RegionRow | undefined> =>
  (
    await tx.query<RegionRow>(
      `update regions r set display_name = $2, enabled = $3, disabled_reason = $4, wipe_minimum = $5, allows_wipe_override = $6, fabric_isolation = $7, version = version + 1
       where name = $1 and version = $8 and retired_at is null returning ${REGION}`,
      [...valuesOf(row), version],
    )
  ).rows[0];

export const retireRegion = async (tx: Tx, name: string): Promise<void> => {
  await tx.query('update regions set retired_at = clock_timestamp(), version = version + 1 where name = $1', [name]);
};
