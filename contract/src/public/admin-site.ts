/**
 * The whole site as one file: what it should be is planned against what it is, reviewed, and applied as planned. Lists
 * reuse the shapes of the single resources, with names instead of IDs.
 */
import Type, { type TSchema } from 'typebox';
import { Closed, DisplayText, Name, Nullable, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { GroupMappingSpec } from './admin-group-mapping.ts';
import { ImageSpec } from './admin-image.ts';
import { PriceSpec } from './admin-price.ts';
import { RegionSpec } from './admin-region.ts';
import { SitePolicySpec } from './admin-site-policy.ts';
import { SkuSpec } from './admin-sku.ts';
import { VmProfileSpec } from './admin-vm-profile.ts';
import { operatorChanges, operatorReads } from './operator.ts';
import { QuotaSpec } from './quota-request.ts';

const ROWS_MAX = 2_000;
const rows = <T extends TSchema>(row: T, description: string) =>
  Type.Optional(Type.Array(row, { maxItems: ROWS_MAX, description }));

const SitePool = Closed({
  name: Name('Name of the pool.'),
  purpose: Type.Optional(Nullable(DisplayText('What the pool is for, for operators.', 240))),
  organization: Type.Optional(
    Nullable(Name('Name of the organization that it is dedicated to; null for a shared pool (default).')),
  ),
});
const SitePrice = Closed({
  ...PriceSpec.properties,
  valid_from: Type.Optional(
    Time('When it takes effect. A price without it, and one whose time has passed, is the current price.'),
  ),
});

/** Without a SKU it is kept, but no launch can use it. */
const SiteImage = Closed({
  ...ImageSpec.properties,
  sku_names: Type.Array(Name(), {
    maxItems: 50,
    uniqueItems: true,
    description: 'SKUs of slices that can use the image.',
  }),
});

export const SITE_FILE_VERSION = 1;

/** A site file. A section that is left out is not managed by the file. */
export const SiteFile = Closed(
  {
    version: Type.Integer({ minimum: SITE_FILE_VERSION, maximum: SITE_FILE_VERSION, description: 'Form of the file.' }),
    regions: rows(RegionSpec, 'All regions; others are retired.'),
    skus: rows(SkuSpec, 'All SKUs; others are retired.'),
    vm_profiles: rows(VmProfileSpec, 'All VM profiles; others are retired.'),
    prices: rows(SitePrice, 'The current and future prices of all SKUs; other future prices are cancelled.'),
    images: rows(SiteImage, 'All images, each with the version that launches use; others are retired.'),
    pools: rows(SitePool, 'All pools; others are retired. The pool `shared` exists without being listed.'),
    policy: Type.Optional(SitePolicySpec),
    quotas: rows(
      QuotaSpec,
      'All GPU limits that operators set; others are deleted. Without one, an organization has `default_gpu_limit` and a project has no limit.',
    ),
    group_mappings: rows(GroupMappingSpec, 'All group mappings; others are deleted.'),
  },
  { description: 'Desired state of a site. A section that is left out is not managed by the file.' },
);

export const SITE_SECTIONS = [
  'regions',
  'skus',
  'vm_profiles',
  'prices',
  'images',
  'pools',
  'policy',
  'quotas',
  'group_mappings',
] as const;
export const SITE_ACTIONS = ['create', 'update', 'retire', 'delete', 'cancel'] as const;

export const SitePlanHash = Type.String({
  pattern: '^[0-9a-f]{16}$',
  description: 'Identifies the file, the site that it was compared with, and the changes.',
  examples: ['5f0c9a1be2d47763'],
});

export const SiteChange = Closed({
  section: StringEnum(SITE_SECTIONS),
  name: Type.String({ description: 'The row of the section, e.g. the code of the region.' }),
  action: StringEnum(SITE_ACTIONS),
  fields: Type.Array(
    Closed({
      name: Type.String(),
      before: Nullable(Type.String({ description: 'The value as text; null where there is none.' })),
      after: Nullable(Type.String({ description: 'The value as text; null where there is none.' })),
    }),
    {
      description:
        'Changed fields. A created row lists all its fields, a retired row none, a deleted GPU limit the limit that applies then.',
    },
  ),
  blockers: Type.Array(Type.String(), { description: 'Why the change is refused now, as sentences.' }),
});

export const SitePlan = Closed({
  hash: SitePlanHash,
  changes: Type.Array(SiteChange, {
    description: 'In the order in which they are made. Empty if the site matches the file.',
  }),
});

const path = '/api/v1/admin/site';

export const adminSiteApi = define({
  adminSiteExport: {
    ...operatorReads('Site'),
    path,
    summary: 'Export the site as a file with all sections',
    description: 'Applied to this site it changes nothing. Retired resources and past prices are not part of it.',
    permission: 'admin.site.read',
    response: SiteFile,
  },
  adminSitePlan: {
    ...operatorReads('Site'),
    method: 'POST',
    path: `${path}/plan`,
    summary: 'Compare a site file with the site and list what applying it would change',
    description:
      'Reads only: takes no Idempotency-Key and leaves no audit row. errors[] names every row that is wrong.',
    permission: 'admin.site.read',
    body: Closed({ site: SiteFile }),
    response: SitePlan,
  },
  adminSiteApply: {
    ...operatorChanges('Site'),
    path: `${path}/apply`,
    summary: 'Apply a reviewed plan of a site file',
    description:
      'All changes are made, or none. Refused with 409 if the site has changed since the plan with this hash; a file that changes nothing is accepted with any hash.',
    permission: 'admin.site.update',
    audit: 'site.apply',
    freshSignIn: true,
    body: Closed({ site: SiteFile, hash: SitePlanHash }),
    status: 200,
    response: SitePlan,
    errors: ['conflict'],
  },
});
