import Type from 'typebox';
import { Closed, DisplayText, Name, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { WIPE_LEVELS } from '../node/wipe.ts';
import { PLATFORM_ROLES } from '../roles.ts';
import { Region, Sku } from './catalog.ts';
import { Organization } from './organization.ts';

export const USER_STATES = ['active', 'disabled'] as const;

export const User = Closed({
  id: Id('user'),
  name: Type.String(),
  email: Nullable(Type.String()),
  issuer: Type.String(),
  subject: Type.String(),
  platform_role: Nullable(StringEnum(PLATFORM_ROLES)),
  state: StringEnum(USER_STATES),
  version: Type.Integer(),
  last_seen_at: Nullable(Time('Last authenticated request, to the minute.')),
  created_at: Time('First sign-in.'),
});

const read = {
  method: 'GET',
  tag: 'Administration',
  access: 'platform',
  audit: null,
  idempotency: 'none',
  status: 200,
} as const;
const change = {
  method: 'PATCH',
  tag: 'Administration',
  access: 'platform',
  idempotency: 'none',
  ifMatch: true,
  status: 200,
} as const;

export const adminApi = define({
  adminOrganizationList: {
    ...read,
    path: '/api/v1/admin/organizations',
    summary: 'Every organization',
    permission: 'admin.organization.read',
    query: Closed({ ...PageQuery, name: Type.Optional(Name()) }),
    response: Page(Organization),
  },
  adminUserList: {
    ...read,
    path: '/api/v1/admin/users',
    summary: 'Every user',
    permission: 'admin.user.read',
    query: Closed({ ...PageQuery, email: Type.Optional(Type.String({ format: 'email', maxLength: 254 })) }),
    response: Page(User),
  },
  adminUserGet: {
    ...read,
    path: '/api/v1/admin/users/{user_id}',
    summary: 'One user',
    permission: 'admin.user.read',
    params: Closed({ user_id: Id('user') }),
    response: User,
  },
  adminUserUpdate: {
    ...change,
    path: '/api/v1/admin/users/{user_id}',
    summary: 'Disable or enable a user, or change the platform role',
    description: 'Takes effect within 60 seconds. The last active superadmin cannot be demoted or disabled.',
    permission: 'admin.user.update',
    audit: 'user.update',
    params: Closed({ user_id: Id('user') }),
    body: Closed(
      {
        state: Type.Optional(StringEnum(USER_STATES)),
        platform_role: Type.Optional(Nullable(StringEnum(PLATFORM_ROLES))),
      },
      { minProperties: 1 },
    ),
    response: User,
    errors: ['conflict'],
  },
  adminRegionUpdate: {
    ...change,
    path: '/api/v1/admin/regions/{region_name}',
    summary: 'Enable a region, disable it with a reason tenants read, or set its minimum of erasure',
    description:
      'A minimum of `purge` refuses to approve a drive that can only be cleared, and keeps a slot whose drive cannot meet it as cleanup_blocked.',
    permission: 'admin.region.update',
    audit: 'region.update',
    params: Closed({ region_name: Name() }),
    body: Closed(
      {
        enabled: Type.Optional(Type.Boolean()),
        disabled_reason: Type.Optional(DisplayText('Shown to tenants while disabled.', 240)),
        wipe_minimum: Type.Optional(StringEnum(WIPE_LEVELS)),
      },
      { minProperties: 1 },
    ),
    response: Region,
  },
  adminSkuUpdate: {
    ...change,
    path: '/api/v1/admin/skus/{sku_name}',
    summary: 'Change the price of a SKU, or enable or disable it',
    description: 'A new price holds for launches after it; running allocations keep the price they were launched at.',
    permission: 'admin.sku.update',
    audit: 'sku.update',
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
