import Type from 'typebox';
import { Closed, Money, Name, Nullable, Page, PageQuery, StringEnum } from '../common.ts';
import { define } from '../define.ts';

export const CAPACITY_SHAPES = ['baremetal', 'gpu_slice'] as const;

export const Region = Closed({
  name: Name('Region code.'),
  display_name: Type.String(),
  enabled: Type.Boolean(),
  disabled_reason: Nullable(Type.String({ description: 'Why nothing can be launched here, as a sentence.' })),
  version: Type.Integer(),
});

const VmProfile = Closed({
  name: Type.String({ examples: ['h200_1g_24c_64g'] }),
  gpu_count: Type.Integer(),
  vcpu_count: Type.Integer(),
  memory_mib: Type.Integer(),
  is_default: Type.Boolean(),
});

export const Sku = Closed({
  name: Name('SKU code.'),
  display_name: Type.String(),
  vendor: Type.String(),
  gpu_model: Type.String(),
  capacity_shape: StringEnum(CAPACITY_SHAPES),
  gpus_per_node: Type.Integer(),
  allowed_gpu_counts: Type.Array(Type.Integer()),
  gpu_hourly_price: Money,
  vm_profiles: Type.Array(VmProfile),
  enabled: Type.Boolean(),
  disabled_reason: Nullable(Type.String()),
  version: Type.Integer(),
});

export const OsImage = Closed({
  name: Type.String({
    pattern: '^[a-z0-9][a-z0-9.-]{0,62}$',
    description: 'Image slug.',
    examples: ['ubuntu-24.04-h200-cuda'],
  }),
  display_name: Type.String(),
  os_family: Type.String(),
  os_version: Type.String(),
  digest: Type.String({
    pattern: '^sha256:[0-9a-f]{64}$',
    examples: ['sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  }),
  size_bytes: Type.Integer(),
  driver_strategy: StringEnum(['preinstalled', 'cloud_init', 'none']),
  sku_names: Type.Array(Type.String(), { description: 'SKUs it may run on.' }),
  enabled: Type.Boolean(),
});

const tag = 'Catalog';
const read = {
  method: 'GET',
  tag,
  access: 'self',
  permission: 'catalog.read',
  audit: null,
  idempotency: 'none',
  status: 200,
} as const;

export const catalogApi = define({
  regionList: {
    ...read,
    path: '/api/v1/regions',
    summary: 'Regions; disabled ones say why',
    query: Closed({ ...PageQuery }),
    response: Page(Region),
  },
  skuList: {
    ...read,
    path: '/api/v1/skus',
    summary: 'What can be launched, with prices and VM profiles',
    query: Closed({ ...PageQuery, capacity_shape: Type.Optional(StringEnum(CAPACITY_SHAPES)) }),
    response: Page(Sku),
  },
  skuGet: {
    ...read,
    path: '/api/v1/skus/{sku_name}',
    summary: 'One SKU',
    params: Closed({ sku_name: Name() }),
    response: Sku,
  },
  osImageList: {
    ...read,
    path: '/api/v1/os-images',
    summary: 'Operating system images, by digest',
    query: Closed({ ...PageQuery, sku_name: Type.Optional(Name('Only images for this SKU.')) }),
    response: Page(OsImage),
  },
  osImageGet: {
    ...read,
    path: '/api/v1/os-images/{image_name}',
    summary: 'One image',
    params: Closed({ image_name: Type.String({ pattern: '^[a-z0-9][a-z0-9.-]{0,62}$' }) }),
    response: OsImage,
  },
});
