/** VM profiles of SKUs: the size of a slice by its GPU count. Allocations keep the size they were launched with. */
import type { HostSize } from '@gpuaas/scheduler';
import type { Reader, Tx } from './client.ts';
import type { Page } from './page.ts';
import { NODE_OVER } from './predicates.ts';
import { statement } from './statement.ts';
import type { SkuVmProfiles } from './types.gen.ts';

export type VmProfileRow = Readonly<SkuVmProfiles>;
export type VmProfileValues = Omit<VmProfileRow, 'retired_at' | 'version'>;

const PROFILE =
  'f.name, f.sku_name, f.gpu_count, f.vcpu_count, f.memory_mib, f.hugepages, f.numa_policy, f.is_default, f.retired_at, f.version';

export const listVmProfiles = async (
  reader: Reader,
  page: Page,
  filter: Readonly<{ sku_name: string | null; include_retired: boolean }>,
): Promise<VmProfileRow[]> =>
  (
    await reader.query<VmProfileRow>(
      `select ${PROFILE} from sku_vm_profiles f where ($1::text is null or f.name > $1) and ($2::text is null or f.sku_name = $2)
         and ($3 or f.retired_at is null) order by f.name limit $4`,
      [page.after, filter.sku_name, filter.include_retired, page.limit],
    )
  ).rows;

export const findVmProfile = async (reader: Reader, name: string): Promise<VmProfileRow | undefined> =>
  (await reader.query<VmProfileRow>(`select ${PROFILE} from sku_vm_profiles f where f.name = $1`, [name])).rows[0];

/** One default per SKU and GPU count: the earlier one is none any more. */
export const clearDefault = async (
  tx: Tx,
  of: Readonly<Pick<VmProfileRow, 'name' | 'sku_name' | 'gpu_count'>>,
): Promise<void> => {
  await tx.query(
    `update sku_vm_profiles set is_default = false, version = version + 1
     where sku_name = $1 and gpu_count = $2 and name <> $3 and is_default and retired_at is null`,
    [of.sku_name, of.gpu_count, of.name],
  );
};

const COLUMNS = {
  name: 'text',
  sku_name: 'text',
  gpu_count: 'integer',
  vcpu_count: 'integer',
  memory_mib: 'integer',
  hugepages: 'text',
  numa_policy: 'text',
  is_default: 'boolean',
} as const;

const INSERT = statement(
  COLUMNS,
  `insert into sku_vm_profiles as f (name, sku_name, gpu_count, vcpu_count, memory_mib, hugepages, numa_policy, is_default)
   values (:name, :sku_name, :gpu_count, :vcpu_count, :memory_mib, :hugepages, :numa_policy, :is_default)
   on conflict (name) do update set sku_name = excluded.sku_name, gpu_count = excluded.gpu_count, vcpu_count = excluded.vcpu_count,
     memory_mib = excluded.memory_mib, hugepages = excluded.hugepages, numa_policy = excluded.numa_policy, is_default = excluded.is_default, retired_at = null, version = f.version + 1
   where f.retired_at is not null`,
);

/** False where a profile of this name is in use; a retired one comes back with these values. */
export const insertVmProfile = async (tx: Tx, row: VmProfileValues): Promise<boolean> =>
  (await INSERT.query(tx, row)).rowCount === 1;

export const updateVmProfile = async (
  tx: Tx,
  version: number,
  row: Readonly<Pick<VmProfileRow, 'name' | 'vcpu_count' | 'memory_mib' | 'hugepages' | 'numa_policy' | 'is_default'>>,
): Promise<VmProfileRow | undefined> =>
  (
    await tx.query<VmProfileRow>(
      `update sku_vm_profiles f set vcpu_count = $3, memory_mib = $4, is_default = $5, hugepages = $6, numa_policy = $7, version = version + 1
       where name = $1 and version = $2 and retired_at is null returning ${PROFILE}`,
      [row.name, version, row.vcpu_count, row.memory_mib, row.is_default, row.hugepages, row.numa_policy],
    )
  ).rows[0];

export const retireVmProfile = async (tx: Tx, name: string): Promise<void> => {
  await tx.query('update sku_vm_profiles set retired_at = clock_timestamp(), version = version + 1 where name = $1', [
    name,
  ]);
};

/** Of a SKU that is retired; their names. */
export const retireProfilesOf = async (tx: Tx, skuName: string): Promise<string[]> =>
  (
    await tx.query<{ name: string }>(
      `update sku_vm_profiles set retired_at = clock_timestamp(), version = version + 1
       where sku_name = $1 and retired_at is null returning name`,
      [skuName],
    )
  ).rows
    .map(({ name }) => name)
    .sort();

export type MeasuredHost = HostSize & Readonly<{ node_id: string; node_name: string; sku_name: string }>;

/** Hosts of the SKUs' GPU models that a discovery has measured. */
export const listMeasuredHosts = async (reader: Reader, skuNames: readonly string[]): Promise<MeasuredHost[]> =>
  (
    await reader.query<MeasuredHost>(
      `select k.name as sku_name, n.id as node_id, n.name as node_name, n.gpu_count, n.host_vcpu_count as vcpu_count,
         n.host_memory_mib as memory_mib, n.host_hugepages_mib as hugepages_mib, n.host_numa_nodes as numa_nodes,
         n.host_pages as pages_mib
       from sku_catalog k join nodes n on n.gpu_model = k.gpu_model
       where k.name = any ($1) and n.host_vcpu_count is not null and n.state not ${NODE_OVER} order by n.name`,
      [skuNames],
    )
  ).rows;
