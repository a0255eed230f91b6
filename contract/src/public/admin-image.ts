import Type from 'typebox';
import { Closed, DisplayText, Name, Page, PageQuery, StringEnum } from '../common.ts';
import { define } from '../define.ts';
import { AdminOsImage, IMAGE_CHANNELS, IMAGE_TRUST, imageDigest, imageName, imageVersion } from './catalog.ts';
import { IncludeRetired, operatorReads, operatorUpdates } from './operator.ts';

const tag = 'Catalog';
const change = { method: 'POST', tag, access: 'platform', idempotency: 'required' } as const;
const permission = 'admin.image.update';
const params = Closed({ image_name: imageName('Image slug.') });
const skuNames = Type.Array(Name(), {
  minItems: 1,
  maxItems: 50,
  uniqueItems: true,
  description: 'SKUs of slices that can use the image. Bare metal keeps the operating system of its node.',
});
const channel = Type.Optional(
  StringEnum(IMAGE_CHANNELS, {
    description: 'A launch that names no image gets a stable one (default of a new image: stable).',
  }),
);
const trust = Type.Optional(
  StringEnum(IMAGE_TRUST, {
    description: 'A launch that names no image gets a verified one (default: unverified).',
  }),
);

/** What an operator sets of an image, with one version of it (default: boot_kind uefi). */
export const ImageSpec = Closed({
  name: imageName('Image slug.'),
  display_name: DisplayText('Display name.'),
  os_family: DisplayText('Distribution.', 40),
  os_version: DisplayText('Operating system version.', 40),
  ...imageVersion,
  boot_kind: Type.Optional(imageVersion.boot_kind),
  sku_names: skuNames,
  channel,
  trust,
});

export const adminImageApi = define({
  adminOsImageList: {
    ...operatorReads(tag),
    path: '/api/v1/admin/os-images',
    summary: 'List images, with retired ones where requested',
    permission: 'admin.catalog.read',
    query: Closed({ ...PageQuery, ...IncludeRetired }),
    response: Page(AdminOsImage),
  },
  adminOsImageGet: {
    ...operatorReads(tag),
    path: '/api/v1/admin/os-images/{image_name}',
    summary: 'Get an image, also a retired one',
    permission: 'admin.catalog.read',
    params,
    response: AdminOsImage,
  },
  adminOsImageRegister: {
    ...change,
    path: '/api/v1/admin/os-images',
    summary: 'Register an image, or a new version of one',
    description:
      'Launches that name the image use the newest version that is not retired, the others the newest that a host of the region has fetched; a host of each region is asked to fetch it. Allocations keep the digest they were launched with. A digest is registered once: a retired one cannot return. A new version is unverified unless the request states another trust. A retired image of this name returns with the values of the request. Refused where an enabled SKU would lose its last default image in a region, such as by a new version that is not verified.',
    permission,
    audit: 'image.register',
    freshSignIn: true,
    status: 201,
    body: ImageSpec,
    response: AdminOsImage,
    errors: ['conflict'],
  },
  adminOsImageUpdate: {
    ...operatorUpdates(tag),
    path: '/api/v1/admin/os-images/{image_name}',
    summary: 'Change the name, channel, trust or SKUs of an image',
    description:
      'Its versions do not change. Refused where an enabled SKU would lose its last default image in a region: to withdraw that image at once, disable the SKU first.',
    permission,
    audit: 'image.update',
    freshSignIn: true,
    params,
    body: Closed(
      {
        display_name: Type.Optional(DisplayText('Display name.')),
        channel,
        trust,
        sku_names: Type.Optional(skuNames),
      },
      { minProperties: 1 },
    ),
    response: AdminOsImage,
    errors: ['conflict'],
  },
  adminOsImageRetire: {
    ...change,
    path: '/api/v1/admin/os-images/{image_name}/retire',
    summary: 'Retire an image, or one version of it',
    description:
      'Without a digest the image is retired: tenants no longer see it, and registering it again brings it back. With a digest that version is retired, which cannot be undone; new launches use the newest version left, and without one the image is disabled. Refused where an enabled SKU would lose its last default image in a region. Running allocations continue.',
    permission,
    audit: 'image.retire',
    freshSignIn: true,
    status: 200,
    params,
    body: Closed({
      digest: Type.Optional(imageDigest('The version to retire (default: the whole image).')),
      reason: DisplayText('Reason, stored with the version and in the audit row.', 240),
    }),
    response: AdminOsImage,
    errors: ['conflict'],
  },
});
