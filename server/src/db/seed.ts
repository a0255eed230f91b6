/** Inserts that leave existing rows alone. */
import type { Tx } from './client.ts';
import { statement } from './statement.ts';

export const insertRegion = (
  tx: Tx,
  row: Readonly<{ name: string; display_name: string; disabled_reason: string | null }>,
) =>
  tx.query(
    'insert into regions (name, display_name, enabled, disabled_reason) values ($1, $2, $3::text is null, $3) on conflict do nothing',
    [row.name, row.display_name, row.disabled_reason],
  );

type NewSku = Readonly<{
  name: string;
  display_name: string;
  vendor: string;
  gpu_model: string;
  capacity_shape: string;
  gpus_per_node: number;
  allowed_gpu_counts: readonly number[];
  gpu_hourly_price_minor: number;
  currency: string;
  profiles: readonly Readonly<{
    name: string;
    gpu_count: number;
    vcpu_count: number;
    memory_mib: number;
    is_default: boolean;
  }>[];
}>;

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
