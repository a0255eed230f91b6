/** A SKU and an image that fit a node of a few gigabytes: everything else about them is as in production. */
import { silentLog } from '@gpuaas/kit';
import type { Client } from '@gpuaas/sdk';
import { insertSku } from '../../../server/src/db/catalog.ts';
import { createDatabase, PLATFORM } from '../../../server/src/db/client.ts';

export const SKU = 'node-tier-slice';
export const IMAGE = 'tiny';

/** SKUs are created with the installation; there is no operation for it. */
const addSku = async (databaseUrl: string): Promise<void> => {
  const database = createDatabase({ url: databaseUrl, log: silentLog() });
  const profile = { name: 'node_tier_1g', gpu_count: 1, vcpu_count: 1, memory_mib: 256, is_default: true };
  try {
    await database.write(PLATFORM, (tx) =>
      insertSku(tx, {
        name: SKU,
        display_name: 'Slice of the node tier',
        vendor: 'QEMU',
        gpu_model: 'edu',
        capacity_shape: 'gpu_slice',
        gpus_per_node: 4,
        allowed_gpu_counts: [1],
        gpu_hourly_price_minor: 100,
        currency: 'USD',
        profiles: [profile],
      }),
    );
  } finally {
    await database.end();
  }
};

export const addToCatalog = async (
  databaseUrl: string,
  client: Client,
  { digest, size_bytes }: Readonly<{ digest: string; size_bytes: number }>,
): Promise<void> => {
  await addSku(databaseUrl);
  await client.adminOsImageRegister({
    body: {
      name: IMAGE,
      display_name: 'Tiny',
      os_family: 'debian',
      os_version: '12',
      digest,
      size_bytes,
      format: 'qcow2',
      driver_strategy: 'none',
      readiness_checks: [],
      source: 'node-agent/test/tiny-guest',
      digest_authority: 'the test that made it',
      sku_names: [SKU],
    },
  });
};
