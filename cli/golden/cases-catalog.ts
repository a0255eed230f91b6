/** Command lines about regions, SKUs, VM profiles, prices, pools and images of operators. */
import { Refusal } from './api.ts';
import type { Case } from './case.ts';
import { answers } from './fixtures.ts';
import { futurePrice, price } from './fixtures-catalog.ts';

const T = '--no-json';
const WHY = ['--reason', 'No longer needed'];
const RETIRE = [...WHY, '--yes'];

const line = (name: string, command: string, more: Partial<Case> = {}): Case => ({
  name,
  args: command.split(' '),
  ...more,
});
const words = (name: string, command: string, rest: readonly string[]): Case => ({
  name,
  args: [...command.split(' '), ...rest, T],
});

export const catalogCases: readonly Case[] = [
  line('help-admin-price', 'admin price --help'),
  line('help-admin-price-create', 'admin price create --help'),
  line('help-admin-vm-profile-create', 'admin vm-profile create --help'),
  line('admin-region-list', `admin region list --retired ${T}`),
  line('admin-region-get', `admin region get eu-north-1 ${T}`),
  words('admin-region-create', 'admin region create eu-north-1 --display-name', ['Stockholm, Sweden']),
  line('admin-region-update-nothing', `admin region update eu-north-1 ${T}`),
  words('admin-region-retire', 'admin region retire eu-north-1', RETIRE),
  {
    ...words('admin-region-retire-used', 'admin region retire eu-north-1', RETIRE),
    answers: {
      adminRegionRetire: new Refusal(
        409,
        'conflict',
        'Region eu-north-1 is in use: 2 nodes (j22u05, j22u07). Release the allocations and delete the nodes first.',
      ),
    },
  },
  line('admin-sku-list', `admin sku list ${T}`),
  line('admin-sku-get', `admin sku get h200-sxm-slice ${T}`),
  words('admin-sku-create', 'admin sku create h200-sxm-slice --vendor NVIDIA --shape gpu_slice --gpus-per-node 8', [
    ...['--display-name', 'H200 slice', '--gpu-model', 'H200 SXM', '--gpu-counts', '1,2,4,8'],
  ]),
  line('admin-sku-counts', `admin sku update h200-sxm-slice --gpu-counts 1;2 ${T}`),
  words('admin-sku-retire-needs-yes', 'admin sku retire h200-sxm-slice', WHY),
  words('admin-sku-retire', 'admin sku retire h200-sxm-slice', RETIRE),
  line('admin-vm-profile-list', `admin vm-profile list ${T}`),
  line('admin-vm-profile-get', `admin vm-profile get h200_1g_96c_512g ${T}`),
  line(
    'admin-vm-profile-create',
    `admin vm-profile create h200_1g_96c_512g --sku h200-sxm-slice --gpus 1 --vcpus 96 --memory-mib 524288 ${T}`,
  ),
  line('admin-vm-profile-update', `admin vm-profile update h200_1g_24c_64g --memory-mib 131072 ${T}`),
  words('admin-vm-profile-retire', 'admin vm-profile retire h200_1g_24c_64g', RETIRE),
  line('admin-price-list', `admin price list ${T}`),
  line('admin-price-list-json', 'admin price list'),
  line('admin-price-get', `admin price get ${price.id} ${T}`),
  line('admin-price-create', `admin price create h200-sxm-slice --gpu-hourly-price-minor 349 --currency USD ${T}`),
  line(
    'admin-price-create-later',
    `admin price create h200-sxm-slice --gpu-hourly-price-minor 329 --currency USD --valid-from 2027-01-01T00:00:00Z ${T}`,
    { answers: { adminPriceCreate: futurePrice } },
  ),
  words('admin-price-cancel-sku', 'admin price cancel h200-sxm-slice', RETIRE),
  words('admin-price-cancel', `admin price cancel ${futurePrice.id}`, RETIRE),
  line('admin-pool-list', `admin pool list ${T}`),
  line('admin-pool-get', `admin pool get research ${T}`),
  words('admin-pool-create', 'admin pool create research --organization acme --purpose', ['Reserved until March']),
  words('admin-pool-update', 'admin pool update shared --shared --purpose', ['For everybody']),
  line('admin-pool-update-both', `admin pool update shared --shared --organization acme ${T}`),
  words('admin-pool-retire', 'admin pool retire research', RETIRE),
  words('admin-node-update', 'admin node update demo-h200-01 --pool research', WHY),
  line('admin-image-list', `admin image list --retired ${T}`),
  line('admin-image-get', `admin image get ubuntu-24.04-h200-cuda`),
  line('admin-image-get-text', `admin image get ubuntu-24.04-h200-cuda ${T}`),
  line('admin-image-update', `admin image update ubuntu-24.04-h200-cuda --channel candidate ${T}`),
  {
    ...words('admin-image-retire-whole', 'admin image retire ubuntu-24.04-h200-cuda', RETIRE),
    answers: {
      adminOsImageRetire: { ...answers.adminOsImageGet, enabled: false, retired_at: '2026-11-16T09:00:00.000Z' },
    },
  },
];
