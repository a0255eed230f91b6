import Type from 'typebox';
import { Closed, DisplayText, Money, Name, Nullable, Page, PageQuery, StringEnum, Time } from '../common.ts';
import { define } from '../define.ts';
import { Id } from '../ids.ts';
import { BOOT_KINDS } from '../node/facts.ts';
import { WIPE_LEVELS } from '../node/wipe.ts';
import { FABRIC_ISOLATIONS, fabricOffer } from './fabric.ts';

export const CAPACITY_SHAPES = ['baremetal', 'gpu_slice'] as const;
/** The parts that each slot of a slice needs: placement, approval and the agent act on all of them. */
export const SLOT_PARTS = ['gpu', 'nvme', 'mac', 'private_ip', 'fabric_vf'] as const;
/** Launches that name no image get one of the channel `stable`. */
export const IMAGE_CHANNELS = ['stable', 'candidate'] as const;
/** Launches that name no image get a verified one. */
export const IMAGE_TRUST = ['unverified', 'verified'] as const;

export const RetiredAt = Nullable(Time('When it was retired; null while it is in use.'));

export const Region = Closed({
  name: Name('Region code.'),
  display_name: Type.String(),
  enabled: Type.Boolean(),
  disabled_reason: Nullable(Type.String({ description: 'Why the region is disabled, as a sentence.' })),
  wipe_minimum: StringEnum(WIPE_LEVELS, {
    description: 'Minimum wipe level between two tenants, in terms of NIST SP 800-88.',
  }),
  allows_wipe_override: Type.Boolean({
    description: 'Whether a wipe that two operators accept without proof makes a slot schedulable.',
  }),
  fabric_isolation: StringEnum(FABRIC_ISOLATIONS, {
    description:
      'Provider that keeps tenants apart on the fabric. With `none`, the fabric function of a slot is not passed into its VM.',
  }),
  retired_at: RetiredAt,
  version: Type.Integer(),
});

export const AllocationCount = Type.Integer({
  description: 'Allocations that are neither released nor failed. While there are any it cannot be retired.',
});
export const AdminRegion = Closed(
  { ...Region.properties, allocation_count: AllocationCount },
  { description: 'A region as operators see it.' },
);

const VmProfile = Closed({
  name: Type.String({ examples: ['h200_1g_24c_64g'] }),
  gpu_count: Type.Integer(),
  vcpu_count: Type.Integer(),
  memory_mib: Type.Integer(),
  is_default: Type.Boolean(),
});

/** What tenants and operators see of a SKU; `enabled` differs. */
export const skuFields = {
  name: Name('SKU code.'),
  display_name: Type.String(),
  vendor: Type.String(),
  gpu_model: Type.String(),
  capacity_shape: StringEnum(CAPACITY_SHAPES),
  gpus_per_node: Type.Integer(),
  allowed_gpu_counts: Type.Array(Type.Integer()),
  required_parts: Type.Array(StringEnum(SLOT_PARTS), {
    description:
      'Parts that each slot needs to serve it. They follow from the shape and cannot be set: a VM needs all of them, a whole node none.',
  }),
  gpu_hourly_price: Nullable(Money),
  vm_profiles: Type.Array(VmProfile),
};

export const Sku = Closed({
  ...skuFields,
  enabled: Type.Boolean({ description: 'Whether it can be launched: operators enabled it and it has a price.' }),
  disabled_reason: Nullable(Type.String({ description: 'Why it cannot be launched, as a sentence.' })),
  fabric: Type.Array(Closed({ region_name: Type.String(), ...fabricOffer }), {
    description: 'Fabric in each region, by name.',
  }),
  retired_at: RetiredAt,
  version: Type.Integer(),
});

/** How an image gets the GPU driver; nothing installs one after the launch. */
export const DRIVER_STRATEGIES = ['preinstalled', 'none'] as const;
export const DRIVER_STRATEGY_LABELS = {
  preinstalled: 'GPU driver in the image',
  none: 'No GPU driver in the image',
} as const satisfies Readonly<Record<(typeof DRIVER_STRATEGIES)[number], string>>;

export { BOOT_KINDS };
export const BOOT_KIND_LABELS = {
  uefi: 'Firmware starts the boot loader of the image',
  kernel: 'The host provides the kernel',
} as const satisfies Readonly<Record<(typeof BOOT_KINDS)[number], string>>;

/** Used in paths and argv; names that differ only in case are the same. */
export const imageName = (description: string) =>
  Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9.-]{0,62}$', description, examples: ['ubuntu-24.04-h200-cuda'] });
export const imageDigest = (description: string) =>
  Type.String({
    pattern: '^sha256:[0-9a-f]{64}$',
    description,
    examples: ['sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  });

/** One build of an image. */
export const imageVersion = {
  digest: imageDigest('Digest of the file that hosts download.'),
  format: StringEnum(['raw', 'qcow2']),
  size_bytes: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  boot_kind: StringEnum(BOOT_KINDS, {
    description:
      'How a VM starts the image: uefi runs its boot loader in firmware, kernel a kernel of the host. It is placed only on hosts that can.',
  }),
  driver_strategy: StringEnum(DRIVER_STRATEGIES, {
    description: 'Whether the GPU driver is in the image. Nothing installs one later.',
  }),
  readiness_checks: Type.Array(Type.String({ pattern: '^[a-z][a-z0-9_]{0,31}$', examples: ['cuda_compiler'] }), {
    maxItems: 32,
    uniqueItems: true,
    description: 'Readiness checks that the image runs in the guest OS; all must pass.',
  }),
  source: DisplayText('Source of the image.', 240),
  digest_authority: DisplayText('Authority for the digest of this image.', 240),
};

export const OsImageVersion = Closed({
  ...imageVersion,
  registered_at: Time('When it was registered.'),
  retired_at: Nullable(Time('When it was retired; running allocations are untouched.')),
  retired_reason: Nullable(Type.String()),
});

const osImageFields = {
  name: imageName('Image slug.'),
  display_name: Type.String(),
  os_family: Type.String(),
  os_version: Type.String(),
  ...imageVersion,
  sku_names: Type.Array(Type.String(), { description: 'SKUs of slices that can use the image.' }),
  channel: StringEnum(IMAGE_CHANNELS, { description: 'Only a stable image is chosen for a launch that names none.' }),
  trust: StringEnum(IMAGE_TRUST, { description: 'Only a verified image is chosen for a launch that names none.' }),
  enabled: Type.Boolean({
    description: 'Whether it has a version that is not retired; launches use the newest.',
  }),
  default_regions: Type.Array(Type.String(), {
    description:
      'Regions where it can be the default: a launch that names no image gets the first by name. It is stable and verified, and a host of the region has fetched it.',
  }),
  versions: Type.Array(OsImageVersion, { description: 'Newest first, up to 20.' }),
  retired_at: RetiredAt,
  version: Type.Integer(),
};

export const OsImage = Closed(osImageFields);

export const AdminOsImage = Closed(
  {
    ...osImageFields,
    default_blockers: Type.Array(Type.String(), {
      description: 'Why it cannot be the default (everywhere or in one region), and what to do.',
    }),
    hosts_checked: Type.Integer({ description: 'Hosts of its slice SKUs that have reported their boot kinds.' }),
    hosts_unable: Type.Integer({
      description: 'Of these, hosts that cannot start its boot kind; it is not placed on them.',
    }),
    unable: Type.Array(Closed({ node_id: Id('node'), node_name: Type.String(), reason: Type.String() }), {
      description: 'Hosts that cannot start it, with the reason, up to 20.',
    }),
  },
  { description: 'An image as operators see it.' },
);

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
    summary: 'List regions; a disabled region has a reason',
    query: Closed({ ...PageQuery }),
    response: Page(Region),
  },
  skuList: {
    ...read,
    path: '/api/v1/skus',
    summary: 'List SKUs with prices and VM profiles',
    query: Closed({ ...PageQuery, capacity_shape: Type.Optional(StringEnum(CAPACITY_SHAPES)) }),
    response: Page(Sku),
  },
  skuGet: {
    ...read,
    path: '/api/v1/skus/{sku_name}',
    summary: 'Get a SKU',
    params: Closed({ sku_name: Name() }),
    response: Sku,
  },
  osImageList: {
    ...read,
    path: '/api/v1/os-images',
    summary: 'List operating system images',
    query: Closed({ ...PageQuery, sku_name: Type.Optional(Name('Only images for this SKU.')) }),
    response: Page(OsImage),
  },
  osImageGet: {
    ...read,
    path: '/api/v1/os-images/{image_name}',
    summary: 'Get an image',
    params: Closed({ image_name: imageName('Image slug.') }),
    response: OsImage,
  },
});
