/** Scenarios of images that an operator registers and retires. */
import { createHash, randomUUID } from 'node:crypto';
import type { Scenarios } from './scenario.ts';
import { must } from './tenants.ts';

export const newImage = (name = `image-${randomUUID().slice(0, 8)}`) => ({
  name,
  display_name: 'Debian 12',
  os_family: 'debian',
  os_version: '12',
  digest: `sha256:${createHash('sha256').update(randomUUID()).digest('hex')}`,
  format: 'qcow2' as const,
  size_bytes: 175_000_000,
  driver_strategy: 'none' as const,
  readiness_checks: ['host_name', 'no_cuda'],
  source: 'build/slice-image/images/debian-12-base.conf',
  digest_authority: 'the operators of this site',
  sku_names: ['h200-sxm-slice'],
});

type Mine = `adminOsImage${'List' | 'Get' | 'Register' | 'Update' | 'Retire'}`;

export const imageScenarios: Pick<Scenarios, Mine> = {
  adminOsImageList: async ({ superadmin }) => ({ as: superadmin }),
  adminOsImageGet: async ({ superadmin }) => ({ as: superadmin, params: { image_name: 'ubuntu-24.04-h200-cuda' } }),
  adminOsImageUpdate: async ({ superadmin }) => {
    const image = newImage();
    must(await superadmin.post('/api/v1/admin/os-images', image), 201);
    return { as: superadmin, params: { image_name: image.name }, body: { trust: 'verified' }, if_match: 1 };
  },
  adminOsImageRegister: async ({ superadmin }) => ({ as: superadmin, body: newImage() }),
  adminOsImageRetire: async ({ superadmin }) => {
    const image = newImage();
    must(await superadmin.post('/api/v1/admin/os-images', image), 201);
    return {
      as: superadmin,
      params: { image_name: image.name },
      body: { digest: image.digest, reason: 'A bad build.' },
    };
  },
};
