import Type from 'typebox';
import { Closed, DisplayText, Name, Nullable, Page, PageQuery, StringEnum } from '../common.ts';
import { define } from '../define.ts';
import { AllocationCount, CAPACITY_SHAPES, RetiredAt, skuFields } from './catalog.ts';
import { IncludeRetired, operatorChanges, operatorReads, operatorUpdates, Reason } from './operator.ts';

const tag = 'Catalog';
const params = Closed({ sku_name: Name('SKU code.') });
const counts = Type.Array(Type.Integer({ minimum: 1, maximum: 64 }), {
  minItems: 1,
  maxItems: 64,
  uniqueItems: true,
  description: 'GPU counts that a launch may request. Bare metal: only the whole node.',
  examples: [[1, 2, 4, 8]],
});
const gpuIds = Type.Array(Type.String({ pattern: '^[0-9a-f]{4}:[0-9a-f]{4}$', examples: ['10de:2335'] }), {
  maxItems: 32,
  uniqueItems: true,
  description:
    'PCI IDs, as vendor:device, of GPUs that are this model and that the product does not know. Hosts with such GPUs can then be added as this model.',
});
const switches = {
  enabled: Type.Optional(Type.Boolean({ description: 'Whether tenants can launch it (default: true).' })),
  disabled_reason: Type.Optional(Nullable(DisplayText('Shown to tenants while disabled.', 240))),
};

/** What an operator sets of a SKU. Its prices and VM profiles are resources of their own. */
export const SkuSpec = Closed({
  name: Name('SKU code.'),
  display_name: DisplayText('Display name.'),
  vendor: DisplayText('Vendor of the GPU.', 64),
  gpu_model: DisplayText('GPU model, as discovery reports it.', 64),
  gpu_ids: Type.Optional(gpuIds),
  capacity_shape: StringEnum(CAPACITY_SHAPES),
  gpus_per_node: Type.Integer({ minimum: 1, maximum: 64 }),
  allowed_gpu_counts: counts,
  ...switches,
});

export const AdminSku = Closed(
  {
    ...skuFields,
    gpu_ids: Type.Array(Type.String(), { description: 'PCI IDs that the site names as this model.' }),
    enabled: Type.Boolean({ description: 'Whether operators enabled it.' }),
    disabled_reason: Nullable(Type.String({ description: 'Shown to tenants while disabled.' })),
    blockers: Type.Array(Type.String(), { description: 'Why it cannot be launched although it is enabled.' }),
    allocation_count: AllocationCount,
    retired_at: RetiredAt,
    version: Type.Integer(),
  },
  { description: 'A SKU as operators see it.' },
);

export const adminSkuApi = define({
  adminSkuList: {
    ...operatorReads(tag),
    path: '/api/v1/admin/skus',
    summary: 'List SKUs, with retired ones where requested',
    permission: 'admin.catalog.read',
    query: Closed({ ...PageQuery, ...IncludeRetired }),
    response: Page(AdminSku),
  },
  adminSkuGet: {
    ...operatorReads(tag),
    path: '/api/v1/admin/skus/{sku_name}',
    summary: 'Get a SKU, also a retired one',
    permission: 'admin.catalog.read',
    params,
    response: AdminSku,
  },
  adminSkuCreate: {
    ...operatorChanges(tag),
    path: '/api/v1/admin/skus',
    summary: 'Create a SKU, or bring a retired one back',
    description:
      'It can be launched once it has a price, and a slice once it has a VM profile. A retired SKU of this name returns with the values of the request, without its former prices and VM profiles.',
    permission: 'admin.sku.update',
    audit: 'sku.create',
    freshSignIn: true,
    body: SkuSpec,
    status: 201,
    response: AdminSku,
    location: '/api/v1/admin/skus/{name}',
    errors: ['already_exists'],
  },
  adminSkuUpdate: {
    ...operatorUpdates(tag),
    path: '/api/v1/admin/skus/{sku_name}',
    summary: 'Change a SKU, or enable or disable it',
    description:
      'Its shape and GPU model do not change; its price is a resource of its own. Running allocations are untouched.',
    permission: 'admin.sku.update',
    audit: 'sku.update',
    freshSignIn: true,
    params,
    body: Closed(
      {
        display_name: Type.Optional(DisplayText('Display name.')),
        gpu_ids: Type.Optional(gpuIds),
        allowed_gpu_counts: Type.Optional(counts),
        ...switches,
      },
      { minProperties: 1 },
    ),
    response: AdminSku,
    errors: ['conflict'],
  },
  adminSkuRetire: {
    ...operatorChanges(tag),
    path: '/api/v1/admin/skus/{sku_name}/retire',
    summary: 'Retire a SKU: tenants no longer see it',
    description:
      'Refused while it has allocations; reasons[] lists them. Its prices end, its VM profiles are retired. Creating it again brings it back.',
    permission: 'admin.sku.update',
    audit: 'sku.retire',
    freshSignIn: true,
    params,
    body: Closed({ reason: Reason }),
    status: 200,
    response: AdminSku,
    errors: ['conflict'],
  },
});
