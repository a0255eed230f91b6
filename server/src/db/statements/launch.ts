/** The catalog facts that decide a launch, and the quota it would use, in one query. */
import type { SchedulerNode } from '@gpuaas/scheduler';
import type { Reader, Tx } from '../client.ts';
import { currentVersion } from '../os-image.ts';
import { NODE, NODE_FROM, type NodeRow, toNode } from '../placement.ts';
import { type CandidateQuery, LOCKED_NODE, sendLock } from '../placement-index.ts';
import { currentPrice, imageIsAvailable, regionHasHost, skuIsOpen } from '../predicates.ts';
import { statement } from '../statement.ts';
import type { Allocations, OsImages, OsImageVersions, Regions, SkuCatalog, SkuVmProfiles } from '../types.gen.ts';

export type LaunchFacts = Readonly<{
  sku: Readonly<
    Pick<
      SkuCatalog,
      'name' | 'capacity_shape' | 'gpu_model' | 'gpus_per_node' | 'allowed_gpu_counts' | 'enabled' | 'disabled_reason'
    > & {
      /** The current price. */
      gpu_hourly_price_minor: number | null;
      currency: string | null;
    }
  > | null;
  region: Readonly<
    Pick<Regions, 'name' | 'enabled' | 'disabled_reason' | 'fabric_isolation'> & { has_host: boolean }
  > | null;
  /** The pinned version: of the requested image, otherwise of the SKU's first that is stable, verified and available in the region. */
  image: Readonly<Pick<OsImages, 'name'> & Pick<OsImageVersions, 'digest' | 'boot_kind'>> | null;
  profile: Readonly<Pick<SkuVmProfiles, 'name' | 'vcpu_count' | 'memory_mib' | 'hugepages' | 'numa_policy'>> | null;
  /** How many of the named SSH keys are the caller's. */
  ssh_keys_found: number;
  /** GPUs left under every limit that applies; null without one. */
  quota_gpus_remaining: number | null;
  /** The database's clock. */
  now: string;
}>;

export type LaunchQuery = Readonly<
  Pick<
    Allocations,
    'sku_name' | 'region_name' | 'image_name' | 'gpu_count' | 'ssh_key_ids' | 'organization_id' | 'project_id'
  > & {
    vm_profile: string | null;
  }
>;

const PARAMETERS = {
  sku_name: 'text',
  region_name: 'text',
  image_name: 'text | null',
  gpu_count: 'integer',
  vm_profile: 'text | null',
  ssh_key_ids: 'text[]',
  organization_id: 'text',
  project_id: 'text',
} as const;

/** Of the image `i`. Without a named image: the newest version that hosts of the region can fetch. */
const DEFAULT_OR_NEWEST = currentVersion(`(:image_name is not null or ${imageIsAvailable('v', ':region_name')})`);

const FACTS = `
  (select row_to_json(k) from (select s.name, s.capacity_shape, s.gpu_model, s.gpus_per_node, s.allowed_gpu_counts, s.enabled, s.disabled_reason,
      c.gpu_hourly_price_minor, c.currency from sku_catalog s left join lateral (${currentPrice('s.name')}) c on true
    where s.name = :sku_name and s.retired_at is null) k) as sku,
  (select row_to_json(r) from (select name, enabled, disabled_reason, fabric_isolation, ${regionHasHost('regions.name')} as has_host from regions where name = :region_name and retired_at is null) r) as region,
  (select json_build_object('name', i.name, 'digest', c.digest, 'boot_kind', c.boot_kind) from os_images i join os_image_skus x on x.image_name = i.name
    cross join lateral (${DEFAULT_OR_NEWEST}) c where x.sku_name = :sku_name and i.retired_at is null
      and case when :image_name is null then i.channel = 'stable' and i.trust = 'verified' else i.name = :image_name end order by i.name limit 1) as image,
  (select json_build_object('name', f.name, 'vcpu_count', f.vcpu_count, 'memory_mib', f.memory_mib, 'hugepages', f.hugepages,
      'numa_policy', f.numa_policy) from sku_vm_profiles f
    where f.sku_name = :sku_name and f.retired_at is null and f.gpu_count = :gpu_count and case when :vm_profile is null then f.is_default else f.name = :vm_profile end) as profile,
  (select count(*) from ssh_keys s where s.id = any (:ssh_key_ids)) as ssh_keys_found,
  (select min(q.gpu_limit - q.gpu_used) from quotas q where q.organization_id = :organization_id and q.project_id in ('', :project_id) and q.gpu_limit is not null)
    as quota_gpus_remaining,
  clock_timestamp() as now`;

const FIND_FACTS = statement(PARAMETERS, `select ${FACTS}`);
const READ_LAUNCH = statement(
  PARAMETERS,
  `select ${FACTS}, ${NODE} from (values (1)) one left join (${NODE_FROM}) on n.id = ${LOCKED_NODE}`,
);

const onlyRow = <R>(rows: readonly R[]): R => {
  const [row] = rows;
  if (row === undefined) throw new Error('a query without a table to look in gives one row');
  return row;
};

export const findLaunchFacts = async (reader: Reader, query: LaunchQuery): Promise<LaunchFacts> =>
  onlyRow((await FIND_FACTS.query<LaunchFacts>(reader, query)).rows);

/** The facts and the best node, locked: everything that decides a launch, in one packet. */
export const lockLaunch = async (
  tx: Tx,
  query: LaunchQuery,
  candidates: CandidateQuery,
): Promise<Readonly<{ facts: LaunchFacts; node: SchedulerNode | null }>> => {
  const [, { rows }] = await Promise.all([
    sendLock(tx, candidates),
    READ_LAUNCH.query<LaunchFacts & (NodeRow | { id: null })>(tx, query),
  ]);
  const row = onlyRow(rows);
  return { facts: row, node: row.id === null ? null : toNode(row, [query.sku_name]) };
};

export type CatalogFacts = Readonly<{
  regions: Pick<Regions, 'name' | 'enabled'>[];
  skus: (Pick<SkuCatalog, 'name' | 'enabled' | 'allowed_gpu_counts' | 'gpus_per_node'> & {
    shape: SkuCatalog['capacity_shape'];
  })[];
}>;

/** The rest of the catalog, for alternatives: only a refusal reads it. */
export const findCatalogFacts = async (reader: Reader, gpuModel: string): Promise<CatalogFacts> => {
  const { rows } = await reader.query<CatalogFacts>(
    `select (select coalesce(jsonb_agg(jsonb_build_object('name', name, 'enabled', enabled) order by name), '[]') from regions where retired_at is null) as regions,
       (select coalesce(jsonb_agg(jsonb_build_object('name', k.name, 'shape', k.capacity_shape, 'enabled', ${skuIsOpen('k')},
          'allowed_gpu_counts', k.allowed_gpu_counts, 'gpus_per_node', k.gpus_per_node) order by k.name), '[]')
        from sku_catalog k where k.gpu_model = $1 and k.retired_at is null) as skus`,
    [gpuModel],
  );
  return rows[0] ?? { regions: [], skus: [] };
};
