/** Regions and SKUs. Inserts do not change existing rows. */
import type { Reader, Tx } from './client.ts';
import { statement } from './statement.ts';
import type { Regions, SkuCatalog, SkuVmProfiles } from './types.gen.ts';

export type RegionRow = Readonly<Regions>;

type VmProfile = Readonly<Pick<SkuVmProfiles, 'name' | 'gpu_count' | 'vcpu_count' | 'memory_mib' | 'is_default'>>;

export type SkuRow = Readonly<
  SkuCatalog & {
    vm_profiles: VmProfile[];
  }
>;

type Page = Readonly<{ after: string | null; limit: number }>;

const SKU = `s.*, coalesce((select jsonb_agg(jsonb_build_object('name', p.name, 'gpu_count', p.gpu_count, 'vcpu_count', p.vcpu_count,
  'memory_mib', p.memory_mib, 'is_default', p.is_default) order by p.gpu_count, p.name) from sku_vm_profiles p where p.sku_name = s.name), '[]') as vm_profiles`;

export const listRegions = async (reader: Reader, page: Page): Promise<RegionRow[]> =>
  (
    await reader.query<RegionRow>(
      'select * from regions where ($1::text is null or name > $1) order by name limit $2',
      [page.after, page.limit],
    )
  ).rows;

export const findRegion = async (reader: Reader, name: string): Promise<RegionRow | undefined> =>
  (await reader.query<RegionRow>('select * from regions where name = $1', [name])).rows[0];

export const updateRegion = async (
  tx: Tx,
  name: string,
  version: number,
  change: Pick<RegionRow, 'enabled' | 'disabled_reason' | 'wipe_minimum' | 'allows_wipe_override'>,
) =>
  (
    await tx.query<RegionRow>(
      `update regions set enabled = $3, disabled_reason = $4, wipe_minimum = $5, allows_wipe_override = $6, version = version + 1
       where name = $1 and version = $2 returning *`,
      [name, version, change.enabled, change.disabled_reason, change.wipe_minimum, change.allows_wipe_override],
    )
  ).rows[0];

export const listSkus = async (reader: Reader, page: Page, shape: string | null): Promise<SkuRow[]> =>
  (
    await reader.query<SkuRow>(
      `select ${SKU} from sku_catalog s where ($1::text is null or s.name > $1) and ($2::text is null or s.capacity_shape = $2) order by s.name limit $3`,
      [page.after, shape, page.limit],
    )
  ).rows;

export const findSku = async (reader: Reader, name: string): Promise<SkuRow | undefined> =>
  (await reader.query<SkuRow>(`select ${SKU} from sku_catalog s where s.name = $1`, [name])).rows[0];

type SkuChange = Readonly<{ gpu_hourly_price_minor: number; enabled: boolean; disabled_reason: string | null }>;

export const updateSku = async (tx: Tx, name: string, version: number, change: SkuChange): Promise<boolean> =>
  (
    await tx.query(
      'update sku_catalog set gpu_hourly_price_minor = $3, enabled = $4, disabled_reason = $5, version = version + 1 where name = $1 and version = $2',
      [name, version, change.gpu_hourly_price_minor, change.enabled, change.disabled_reason],
    )
  ).rowCount === 1;

export const isRegion = async (reader: Reader, name: string): Promise<boolean> =>
  (await reader.query('select 1 as one from regions where name = $1', [name])).rowCount === 1;

export const insertRegion = (
  tx: Tx,
  row: Readonly<{ name: string; display_name: string; disabled_reason: string | null }>,
) =>
  tx.query(
    'insert into regions (name, display_name, enabled, disabled_reason) values ($1, $2, $3::text is null, $3) on conflict do nothing',
    [row.name, row.display_name, row.disabled_reason],
  );

type NewSku = Readonly<
  Pick<
    SkuCatalog,
    'name' | 'display_name' | 'vendor' | 'gpu_model' | 'gpus_per_node' | 'gpu_hourly_price_minor' | 'currency'
  > & {
    capacity_shape: string;
    allowed_gpu_counts: readonly number[];
    profiles: readonly VmProfile[];
  }
>;

const INSERT_SKU = statement(
  {
    name: 'text',
    display_name: 'text',
    vendor: 'text',
    gpu_model: 'text',
    capacity_shape: 'text',
    gpus_per_node: 'integer',
    allowed_gpu_counts: 'integer[]',
    gpu_hourly_price_minor: 'bigint',
    currency: 'text',
  },
  `insert into sku_catalog (name, display_name, vendor, gpu_model, capacity_shape, gpus_per_node, allowed_gpu_counts,
     gpu_hourly_price_minor, currency)
   values (:name, :display_name, :vendor, :gpu_model, :capacity_shape, :gpus_per_node, :allowed_gpu_counts, :gpu_hourly_price_minor,
     :currency) on conflict do nothing`,
);

export const insertSku = async (tx: Tx, sku: NewSku): Promise<void> => {
  await INSERT_SKU.query(tx, sku);
  for (const profile of sku.profiles)
    await tx.query(
      'insert into sku_vm_profiles (name, sku_name, gpu_count, vcpu_count, memory_mib, is_default) values ($1, $2, $3, $4, $5, $6) on conflict do nothing',
      [profile.name, sku.name, profile.gpu_count, profile.vcpu_count, profile.memory_mib, profile.is_default],
    );
};
