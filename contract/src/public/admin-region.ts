import Type from 'typebox';
import { Closed, DisplayText, Name, Nullable, Page, PageQuery, StringEnum } from '../common.ts';
import { define } from '../define.ts';
import { WIPE_LEVELS } from '../node/wipe.ts';
import { AdminRegion } from './catalog.ts';
import { FABRIC_ISOLATIONS } from './fabric.ts';
import { IncludeRetired, operatorChanges, operatorReads, operatorUpdates, Reason } from './operator.ts';

const tag = 'Catalog';
const params = Closed({ region_name: Name('Region code.') });

const switches = {
  enabled: Type.Optional(Type.Boolean({ description: 'Whether tenants can launch (default: true).' })),
  disabled_reason: Type.Optional(Nullable(DisplayText('Shown to tenants while disabled.', 240))),
  wipe_minimum: Type.Optional(
    StringEnum(WIPE_LEVELS, { description: 'Minimum wipe level between two tenants (default: clear).' }),
  ),
  allows_wipe_override: Type.Optional(
    Type.Boolean({ description: 'Whether a two-person override makes a slot schedulable (default: false).' }),
  ),
  fabric_isolation: Type.Optional(
    StringEnum(FABRIC_ISOLATIONS, {
      description:
        'Provider that keeps tenants apart on the fabric (default: none). With `none`, VMs started from then on have no fabric function.',
    }),
  ),
};

/** What an operator sets of a region. */
export const RegionSpec = Closed({
  name: Name('Region code.'),
  display_name: DisplayText('Display name.'),
  ...switches,
});

export const adminRegionApi = define({
  adminRegionList: {
    ...operatorReads(tag),
    path: '/api/v1/admin/regions',
    summary: 'List regions, with retired ones where requested',
    permission: 'admin.catalog.read',
    query: Closed({ ...PageQuery, ...IncludeRetired }),
    response: Page(AdminRegion),
  },
  adminRegionGet: {
    ...operatorReads(tag),
    path: '/api/v1/admin/regions/{region_name}',
    summary: 'Get a region, also a retired one',
    permission: 'admin.catalog.read',
    params,
    response: AdminRegion,
  },
  adminRegionCreate: {
    ...operatorChanges(tag),
    path: '/api/v1/admin/regions',
    summary: 'Create a region, or bring a retired one back',
    description: 'A retired region of this name returns with the values of the request.',
    permission: 'admin.region.update',
    audit: 'region.create',
    freshSignIn: true,
    body: RegionSpec,
    status: 201,
    response: AdminRegion,
    location: '/api/v1/admin/regions/{name}',
    errors: ['already_exists'],
  },
  adminRegionUpdate: {
    ...operatorUpdates(tag),
    path: '/api/v1/admin/regions/{region_name}',
    summary: 'Enable a region, disable it with a reason tenants read, or set its rules for wipes and fabric',
    description:
      'A minimum of `purge` blocks approval of a disk that can only be cleared, and leaves a slot whose disk cannot meet it in cleanup_blocked. When overrides are no longer allowed, slots that one made available are quarantined.',
    permission: 'admin.region.update',
    audit: 'region.update',
    freshSignIn: true,
    params,
    body: Closed({ display_name: Type.Optional(DisplayText('Display name.')), ...switches }, { minProperties: 1 }),
    response: AdminRegion,
    errors: ['conflict'],
  },
  adminRegionRetire: {
    ...operatorChanges(tag),
    path: '/api/v1/admin/regions/{region_name}/retire',
    summary: 'Retire a region: tenants no longer see it',
    description: 'Refused while it has nodes or allocations; reasons[] lists them. Creating it again brings it back.',
    permission: 'admin.region.update',
    audit: 'region.retire',
    freshSignIn: true,
    params,
    body: Closed({ reason: Reason }),
    status: 200,
    response: AdminRegion,
    errors: ['conflict'],
  },
});
