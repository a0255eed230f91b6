/** SKUs with their current price and VM profiles. Prices and profiles have files of their own. */
import type { Reader, Tx } from './client.ts';
import type { Page } from './page.ts';
import { currentPrice, skuHasDefaultImage, skuHasImage, skuHasVmProfile } from './predicates.ts';
import { statement } from './statement.ts';
import type { Regions, SkuCatalog, SkuVmProfiles } from './types.gen.ts';

type VmProfile = Readonly<Pick<SkuVmProfiles, 'name' | 'gpu_count' | 'vcpu_count' | 'memory_mib' | 'is_default'>>;

export type SkuRow = Readonly<
  Omit<SkuCatalog, 'is_live'> & {
    /** Null without a current price. */
    gpu_hourly_price_minor: number | null;
    currency: string | null;
    /** A VM profile, an image in use, and one that a launch gets which names none; bare metal needs none of them. */
    has_vm_profile: boolean;
    has_image: boolean;
    has_default_image: boolean;
    vm_profiles: VmProfile[];
    regions: Readonly<{ name: string; fabric_isolation: Regions['fabric_isolation'] }>[];
  }
>;
export type SkuValues = Omit<
  SkuRow,
  | 'retired_at'
  | 'version'
  | 'gpu_hourly_price_minor'
  | 'currency'
  | 'has_vm_profile'
  | 'has_image'
  | 'has_default_image'
  | 'vm_profiles'
  | 'regions'
>;

const SKU = `s.name, s.display_name, s.vendor, s.gpu_model, s.gpu_ids, s.capacity_shape, s.gpus_per_node, s.allowed_gpu_counts, s.enabled, s.disabled_reason,
  s.retired_at, s.version, c.gpu_hourly_price_minor, c.currency, ${skuHasVmProfile('s')} as has_vm_profile, ${skuHasImage('s')} as has_image,
  ${skuHasDefaultImage('s')} as has_default_image,
  coalesce((select jsonb_agg(jsonb_build_object('name', p.name, 'gpu_count', p.gpu_count, 'vcpu_count', p.vcpu_count,
    'memory_mib', p.memory_mib, 'is_default', p.is_default) order by p.gpu_count, p.name)
    from sku_vm_profiles p where p.sku_name = s.name and p.retired_at is null), '[]') as vm_profiles,
  (select coalesce(jsonb_agg(jsonb_build_object('name', r.name, 'fabric_isolation', r.fabric_isolation) order by r.name), '[]')
    from regions r where r.retired_at is null) as regions
  from sku_catalog s left join lateral (${currentPrice('s.name')}) c on true`;

export const listSkus = async (
  reader: Reader,
  page: Page,
  filter: Readonly<{ shape?: string | null; include_retired?: boolean }> = {},
): Promise<SkuRow[]> =>
  (
    await reader.query<SkuRow>(
      `select ${SKU} where ($1::text is null or s.name > $1) and ($2::text is null or s.capacity_shape = $2)
         and ($4 or s.retired_at is null) order by s.name limit $3`,
      [page.after, filter.shape ?? null, page.limit, filter.include_retired ?? false],
    )
  ).rows;

/** Also a retired one. */
export const findSku = async (reader: Reader, name: string): Promise<SkuRow | undefined> =>
  (await reader.query<SkuRow>(`select ${SKU} where s.name = $1`, [name])).rows[0];

/** Keeps launches of the SKU waiting until the commit, where `for update`; a change of prices only keeps others waiting. */
export const lockSku = async (
  tx: Tx,
  name: string,
  strength: 'update' | 'no key update',
): Promise<SkuRow | undefined> => {
  await tx.query(`select from sku_catalog where name = $1 for ${strength}`, [name]);
  return findSku(tx, name);
};

/** Every SKU, in the order in which `lockSkusOfImage` locks those of an image. */
export const lockSkus = async (tx: Tx): Promise<void> => {
  await tx.query('select from sku_catalog order by name for no key update');
};

/** Orders what depends on which images the SKUs have. */
export const lockSkusOfImage = async (tx: Tx, imageName: string): Promise<void> => {
  await tx.query(
    `select from sku_catalog k where k.name in (select x.sku_name from os_image_skus x where x.image_name = $1)
     order by k.name for no key update`,
    [imageName],
  );
};

const COLUMNS = {
  name: 'text',
  display_name: 'text',
  vendor: 'text',
  gpu_model: 'text',
  gpu_ids: 'text[]',
  capacity_shape: 'text',
  gpus_per_node: 'integer',
  allowed_gpu_counts: 'integer[]',
  enabled: 'boolean',
  disabled_reason: 'text | null',
} as const;

const INSERT = statement(
  COLUMNS,
  `insert into sku_catalog as s (name, display_name, vendor, gpu_model, gpu_ids, capacity_shape, gpus_per_node, allowed_gpu_counts, enabled, disabled_reason)
   values (:name, :display_name, :vendor, :gpu_model, :gpu_ids, :capacity_shape, :gpus_per_node, :allowed_gpu_counts, :enabled, :disabled_reason)
   on conflict (name) do update set display_name = excluded.display_name, vendor = excluded.vendor, gpu_model = excluded.gpu_model, gpu_ids = excluded.gpu_ids,
     capacity_shape = excluded.capacity_shape, gpus_per_node = excluded.gpus_per_node, allowed_gpu_counts = excluded.allowed_gpu_counts,
     enabled = excluded.enabled, disabled_reason = excluded.disabled_reason, retired_at = null, version = s.version + 1
   where s.retired_at is not null`,
);

/** False where a SKU of this name is in use; a retired one comes back with these values. */
export const insertSku = async (tx: Tx, row: SkuValues): Promise<boolean> =>
  (await INSERT.query(tx, row)).rowCount === 1;

export const updateSku = async (
  tx: Tx,
  version: number,
  row: Readonly<
    Pick<SkuValues, 'name' | 'display_name' | 'gpu_ids' | 'allowed_gpu_counts' | 'enabled' | 'disabled_reason'>
  >,
): Promise<boolean> =>
  (
    await tx.query(
      `update sku_catalog set display_name = $3, allowed_gpu_counts = $4, enabled = $5, disabled_reason = $6, gpu_ids = $7,
         version = version + 1
       where name = $1 and version = $2 and retired_at is null`,
      [row.name, version, row.display_name, row.allowed_gpu_counts, row.enabled, row.disabled_reason, row.gpu_ids],
    )
  ).rowCount === 1;

export const retireSku = async (tx: Tx, name: string): Promise<void> => {
  await tx.query('update sku_catalog set retired_at = clock_timestamp(), version = version + 1 where name = $1', [
    name,
  ]);
};

/** The SKUs that name GPUs by their PCI IDs. */
export const listNamingSkus = async (
  reader: Reader,
): Promise<Readonly<Pick<SkuCatalog, 'name' | 'gpu_model' | 'gpu_ids'>>[]> =>
  (
    await reader.query<Readonly<Pick<SkuCatalog, 'name' | 'gpu_model' | 'gpu_ids'>>>(
      "select name, gpu_model, gpu_ids from sku_catalog where gpu_ids <> '{}' and retired_at is null order by name",
    )
  ).rows;

/** The nodes of a GPU model: their rows of the placement index depend on whether a SKU offers it. */
export const listModelNodes = async (reader: Reader, gpuModel: string): Promise<string[]> =>
  (
    await reader.query<{ id: string }>("select id from nodes where gpu_model = $1 and state <> 'deleted' order by id", [
      gpuModel,
    ])
  ).rows.map(({ id }) => id);
