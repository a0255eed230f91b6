/** Images and their versions. The newest version that is not retired is the one a launch gets; see `0002_catalog.sql`. */
import type { BootKind } from '@gpuaas/contract/node';
import type { ImageRegion } from '../domain/image-default.ts';
import type { Reader, Tx } from './client.ts';
import { imageIsAvailable, NODE_OVER, regionHasHost } from './predicates.ts';
import { statement } from './statement.ts';
import type { OsImages, OsImageVersions, SkuCatalog } from './types.gen.ts';

export type OsImageVersionRow = Readonly<
  Pick<
    OsImageVersions,
    | 'digest'
    | 'format'
    | 'size_bytes'
    | 'boot_kind'
    | 'driver_strategy'
    | 'readiness_checks'
    | 'source'
    | 'digest_authority'
    | 'registered_at'
    | 'retired_at'
    | 'retired_reason'
  >
>;

export type OsImageRow = Readonly<
  OsImages & {
    sku_names: string[];
    /** The enabled ones, with what their hosts have shown. */
    regions: ImageRegion[];
    /** Those that are not retired first, then the newest. */
    versions: OsImageVersionRow[];
  }
>;

/** The version for a launch, of an image called `i`. */
export const currentVersion = (and: string): string =>
  `select v.* from os_image_versions v where v.image_name = i.name and v.retired_at is null and ${and}
  order by v.registered_at desc, v.digest limit 1`;
export const CURRENT_VERSION = currentVersion('true');

/** By region, whether a version can be fetched; a failure is that of the newest version. */
const REGIONS = `(select coalesce(jsonb_agg(jsonb_build_object('region_name', g.name, 'has_host', ${regionHasHost('g.name')}, 'is_available', exists (select from os_image_versions v
      where v.image_name = i.name and v.retired_at is null and ${imageIsAvailable('v', 'g.name')}),
    'failure', f.failure, 'node_name', n.name) order by g.name), '[]')
  from regions g left join lateral (${CURRENT_VERSION}) c on true
    left join os_image_availability f on f.image_name = i.name and f.digest = c.digest and f.region_name = g.name and f.failed_at is not null
    left join nodes n on n.id = f.node_id
  where g.enabled and g.retired_at is null)`;

const VERSIONS_SHOWN = 20;
const IMAGE = `i.*, array(select k.sku_name from os_image_skus k where k.image_name = i.name order by 1) as sku_names, ${REGIONS} as regions,
  (select jsonb_agg(to_jsonb(v) - 'image_name') from (select * from os_image_versions x where x.image_name = i.name
    order by x.retired_at is not null, x.registered_at desc, x.digest limit ${VERSIONS_SHOWN}) v) as versions`;

export const listOsImages = async (
  reader: Reader,
  page: Readonly<{ after: string | null; limit: number }>,
  skuName: string | null,
  includeRetired = false,
): Promise<OsImageRow[]> =>
  (
    await reader.query<OsImageRow>(
      `select ${IMAGE} from os_images i where ($1::text is null or i.name > $1)
         and ($4 or i.retired_at is null) and ($2::text is null or exists (select from os_image_skus k where k.image_name = i.name and k.sku_name = $2)) order by i.name limit $3`,
      [page.after, skuName, page.limit, includeRetired],
    )
  ).rows;

export const findOsImage = async (reader: Reader, name: string): Promise<OsImageRow | undefined> =>
  (await reader.query<OsImageRow>(`select ${IMAGE} from os_images i where i.name = $1`, [name])).rows[0];

export type BootHost = Readonly<{
  node_id: string;
  node_name: string;
  boot_kinds: readonly BootKind[];
  sku_names: readonly string[];
}>;

/** Hosts of these SKUs' GPU models that have reported how VMs can start on them. Bare metal boots no image. */
export const listBootHosts = async (reader: Reader, skuNames: readonly string[]): Promise<BootHost[]> =>
  (
    await reader.query<BootHost>(
      `select n.id as node_id, n.name as node_name, n.host_boot_kinds as boot_kinds, array_agg(k.name) as sku_names
       from sku_catalog k join nodes n on n.gpu_model = k.gpu_model
       where k.name = any ($1) and k.capacity_shape = 'gpu_slice' and n.host_boot_kinds is not null and n.state not ${NODE_OVER}
       group by n.id order by n.name`,
      [skuNames],
    )
  ).rows;

export type NewOsImage = Readonly<
  Pick<OsImageRow, 'name' | 'display_name' | 'os_family' | 'os_version' | 'channel' | 'trust'> &
    Omit<OsImageVersionRow, 'registered_at' | 'retired_at' | 'retired_reason' | 'readiness_checks'>
> &
  Readonly<{ readiness_checks: readonly string[]; sku_names: readonly string[] }>;

/** Its names for people are those of the newest version. An image whose name differs in case only is a unique violation. */
export const upsertOsImage = (tx: Tx, image: NewOsImage) =>
  tx.query(
    `insert into os_images as i (name, display_name, os_family, os_version, channel, trust) values ($1, $2, $3, $4, $5, $6)
     on conflict (name) do update set display_name = excluded.display_name, os_family = excluded.os_family, os_version = excluded.os_version,
       channel = excluded.channel, trust = excluded.trust, retired_at = null, version = i.version + 1`,
    [image.name, image.display_name, image.os_family, image.os_version, image.channel, image.trust],
  );

export const updateOsImage = async (
  tx: Tx,
  version: number,
  row: Readonly<Pick<OsImageRow, 'name' | 'display_name' | 'channel' | 'trust'>>,
): Promise<boolean> =>
  (
    await tx.query(
      `update os_images set display_name = $3, channel = $4, trust = $5, version = version + 1
       where name = $1 and version = $2 and retired_at is null`,
      [row.name, version, row.display_name, row.channel, row.trust],
    )
  ).rowCount === 1;

export const retireOsImage = async (tx: Tx, name: string): Promise<boolean> =>
  (
    await tx.query(
      'update os_images set retired_at = clock_timestamp(), version = version + 1 where name = $1 and retired_at is null',
      [name],
    )
  ).rowCount === 1;

const INSERT_OS_IMAGE_VERSION = statement(
  {
    name: 'text',
    digest: 'text',
    format: 'text',
    size_bytes: 'bigint',
    boot_kind: 'text',
    driver_strategy: 'text',
    readiness_checks: 'text[]',
    source: 'text',
    digest_authority: 'text',
  },
  `insert into os_image_versions (image_name, digest, format, size_bytes, boot_kind, driver_strategy, readiness_checks, source, digest_authority)
   values (:name, :digest, :format, :size_bytes, :boot_kind, :driver_strategy, :readiness_checks, :source, :digest_authority) on conflict do nothing`,
);

/** Whether it was new. */
export const insertOsImageVersion = async (tx: Tx, image: NewOsImage): Promise<boolean> =>
  (await INSERT_OS_IMAGE_VERSION.query(tx, image)).rowCount === 1;

type ImageSku = Readonly<Pick<SkuCatalog, 'name' | 'capacity_shape'>>;

/** The named SKUs of slices become the image's only SKUs; returns the named SKUs that exist. */
export const replaceOsImageSkus = async (
  tx: Tx,
  image: Readonly<{ name: string; sku_names: readonly string[] }>,
): Promise<readonly ImageSku[]> =>
  (
    await tx.query<ImageSku>(
      `with gone as (delete from os_image_skus where image_name = $1 and sku_name <> all ($2)),
         known as (select name, capacity_shape from sku_catalog where name = any ($2) and retired_at is null),
         added as (insert into os_image_skus (image_name, sku_name) select $1, name from known where capacity_shape = 'gpu_slice'
           on conflict do nothing)
       select name, capacity_shape from known`,
      [image.name, image.sku_names],
    )
  ).rows;

/** Whether there was one to retire. */
export const retireOsImageVersion = async (tx: Tx, name: string, digest: string, reason: string): Promise<boolean> =>
  (
    await tx.query(
      `update os_image_versions set retired_at = clock_timestamp(), retired_reason = $3
       where image_name = $1 and digest = $2 and retired_at is null`,
      [name, digest, reason],
    )
  ).rowCount === 1;
