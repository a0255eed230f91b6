import Type from 'typebox';
import { Closed, DisplayText, Name, StringEnum } from '../common.ts';
import { define } from '../define.ts';
import { WIPE_LEVELS } from '../node/wipe.ts';
import { Region, Sku } from './catalog.ts';
import { operatorUpdates } from './operator.ts';

const operatorUpdate = operatorUpdates('Administration');

export const adminCatalogApi = define({
  adminRegionUpdate: {
    ...operatorUpdate,
    path: '/api/v1/admin/regions/{region_name}',
    summary: 'Enable a region, disable it with a reason tenants read, or set its rules for wipes',
    description:
      'A minimum of `purge` blocks approval of a disk that can only be cleared, and leaves a slot whose disk cannot meet it in cleanup_blocked. When overrides are no longer allowed, slots that one made available are quarantined.',
    permission: 'admin.region.update',
    audit: 'region.update',
    freshSignIn: true,
    params: Closed({ region_name: Name() }),
    body: Closed(
      {
        enabled: Type.Optional(Type.Boolean()),
        disabled_reason: Type.Optional(DisplayText('Shown to tenants while disabled.', 240)),
        wipe_minimum: Type.Optional(StringEnum(WIPE_LEVELS)),
        allows_wipe_override: Type.Optional(Type.Boolean()),
      },
      { minProperties: 1 },
    ),
    response: Region,
  },
  adminSkuUpdate: {
    ...operatorUpdate,
    path: '/api/v1/admin/skus/{sku_name}',
    summary: 'Change the price of a SKU, or enable or disable it',
    description: 'A new price applies to later launches; running allocations keep their price.',
    permission: 'admin.sku.update',
    audit: 'sku.update',
    freshSignIn: true,
    params: Closed({ sku_name: Name() }),
    body: Closed(
      {
        gpu_hourly_price_minor: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000_000 })),
        enabled: Type.Optional(Type.Boolean()),
        disabled_reason: Type.Optional(DisplayText('Shown to tenants while disabled.', 240)),
      },
      { minProperties: 1 },
    ),
    response: Sku,
  },
});
