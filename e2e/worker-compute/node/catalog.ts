/** A SKU and an image that fit a node of a few gigabytes: everything else about them is as in production. */
import type { Client } from '@gpuaas/sdk';
import { GPU_ID } from './node-vm.ts';

export const SKU = 'node-tier-slice';
export const IMAGE = 'tiny';

const addSku = async (client: Client): Promise<void> => {
  await client.adminSkuCreate({
    body: {
      name: SKU,
      display_name: 'Slice of the node tier',
      vendor: 'QEMU',
      gpu_model: 'edu',
      gpu_ids: [GPU_ID],
      capacity_shape: 'gpu_slice',
      gpus_per_node: 4,
      allowed_gpu_counts: [1],
    },
  });
  await client.adminPriceCreate({ body: { sku_name: SKU, gpu_hourly_price_minor: 100, currency: 'USD' } });
  await client.adminVmProfileCreate({
    body: { name: 'node_tier_1g', sku_name: SKU, gpu_count: 1, vcpu_count: 1, memory_mib: 256, is_default: true },
  });
};

export const addToCatalog = async (
  client: Client,
  { digest, size_bytes }: Readonly<{ digest: string; size_bytes: number }>,
): Promise<void> => {
  await addSku(client);
  await client.adminOsImageRegister({
    body: {
      name: IMAGE,
      display_name: 'Tiny',
      os_family: 'debian',
      os_version: '12',
      digest,
      size_bytes,
      format: 'qcow2',
      boot_kind: 'kernel',
      driver_strategy: 'none',
      readiness_checks: [],
      source: 'node-agent/test/tiny-guest',
      digest_authority: 'the test that made it',
      sku_names: [SKU],
      trust: 'verified',
    },
  });
};
