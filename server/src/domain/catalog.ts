/** Rules of the catalog: what makes a SKU launchable, which values fit together, and what keeps a resource from being retired. */

type Switched = Readonly<{ enabled: boolean; disabled_reason: string | null }>;

/**
 * The switch after a change: disabled needs a reason that tenants read, enabled has none. Null where the reason is missing.
 */
export const switchAfter = (
  before: Switched,
  change: Readonly<{ enabled?: boolean | undefined; disabled_reason?: string | null | undefined }>,
): Switched | null => {
  const enabled = change.enabled ?? before.enabled;
  if (enabled) return { enabled, disabled_reason: null };
  const disabled_reason = change.disabled_reason ?? before.disabled_reason;
  return disabled_reason === null ? null : { enabled, disabled_reason };
};

/** As it is without a word about the switch. */
export const SWITCHED_ON: Switched = { enabled: true, disabled_reason: null };

/** What a new resource has where neither its request nor the site file sets it. */
export const REGION_DEFAULTS = {
  wipe_minimum: 'clear',
  allows_wipe_override: false,
  fabric_isolation: 'none',
} as const;
export const VM_PROFILE_DEFAULTS = { hugepages: 'auto', numa_policy: 'strict', is_default: false } as const;
/** By API a new version of an image keeps the channel; a site file states the whole image, so there the default applies. */
export const IMAGE_DEFAULTS = { boot_kind: 'uefi', channel: 'stable', trust: 'unverified' } as const;

export type SkuNeeds = Readonly<{
  gpu_hourly_price_minor: number | null;
  /** Bare metal needs none of these: it is the whole node and keeps its operating system. */
  has_vm_profile: boolean;
  has_image: boolean;
  has_default_image: boolean;
}>;

export const NO_PRICE = 'It has no price yet.';

/** What no launch can do without. */
const missingParts = (sku: SkuNeeds): string[] => [
  ...(sku.gpu_hourly_price_minor === null ? [NO_PRICE] : []),
  ...(sku.has_vm_profile ? [] : ['It has no VM profile yet.']),
  ...(sku.has_image ? [] : ['It has no image yet.']),
];

/** Why a SKU cannot be launched although it is enabled, or only by a launch that names an image. */
export const skuBlockers = (sku: SkuNeeds): string[] => [
  ...missingParts(sku),
  ...(sku.has_image && !sku.has_default_image
    ? ['None of its images can be the default, so a launch must name one. The reasons: gpuaas admin image list']
    : []),
];

/** Whether tenants can launch a SKU, with the reason where they cannot. */
export const skuAvailability = (sku: Switched & SkuNeeds): Switched => {
  if (!sku.enabled) return { enabled: false, disabled_reason: sku.disabled_reason };
  const missing = missingParts(sku);
  return missing.length === 0 ? SWITCHED_ON : { enabled: false, disabled_reason: missing.join(' ') };
};

type Shape = 'baremetal' | 'gpu_slice';

/** Why the GPU counts do not fit the SKU; continues a sentence that names the field. */
export const gpuCountsProblem = (
  sku: Readonly<{ capacity_shape: Shape; gpus_per_node: number; allowed_gpu_counts: readonly number[] }>,
): string | null => {
  const { gpus_per_node, allowed_gpu_counts: counts } = sku;
  if (sku.capacity_shape === 'baremetal')
    return counts.length === 1 && counts[0] === gpus_per_node
      ? null
      : `must be ${gpus_per_node}: bare metal is the whole node`;
  const above = counts.filter((count) => count > gpus_per_node);
  return above.length === 0 ? null : `must be at most ${gpus_per_node}, the GPUs of a node`;
};

/** Why a VM profile does not fit its SKU; continues a sentence that names the field. */
export const vmProfileProblem = (
  sku: Readonly<{ name: string; capacity_shape: Shape; allowed_gpu_counts: readonly number[] }>,
  gpuCount: number,
): Readonly<{ field: 'sku_name' | 'gpu_count'; problem: string }> | null => {
  if (sku.capacity_shape === 'baremetal')
    return { field: 'sku_name', problem: 'names a bare-metal SKU, which has no VMs' };
  return sku.allowed_gpu_counts.includes(gpuCount)
    ? null
    : { field: 'gpu_count', problem: `must be one of ${sku.allowed_gpu_counts.join(', ')} for ${sku.name}` };
};

/** Which of the SKUs that an image names cannot use it, where one cannot: bare metal keeps the operating system of its node. */
export const imageSkuProblem = (
  name: string,
  skus: readonly Readonly<{ name: string; capacity_shape: Shape }>[],
): Readonly<{ code: 'unknown' | 'slices_only'; problem: string }> | null => {
  const sku = skus.find((one) => one.name === name);
  if (sku === undefined) return { code: 'unknown', problem: `names no SKU: ${name}` };
  return sku.capacity_shape === 'gpu_slice'
    ? null
    : {
        code: 'slices_only',
        problem: `names the bare-metal SKU ${name}: images are for slices, bare metal keeps the operating system of its node`,
      };
};

export type CatalogUse = Readonly<{
  kind: 'node' | 'allocation' | 'SKU' | 'VM profile';
  count: number;
  names: readonly string[];
}>;

export const USE_NAMES_MAX = 10;

/** The named resources as one use: none where there is no name. */
export const useOf = (kind: CatalogUse['kind'], names: readonly string[]): CatalogUse[] =>
  names.length === 0 ? [] : [{ kind, count: names.length, names: names.toSorted().slice(0, USE_NAMES_MAX) }];

type SizedSku = Switched & Readonly<{ name: string; allowed_gpu_counts: readonly number[] }>;
type SizedProfile = Readonly<{ name: string; sku_name: string; gpu_count: number; is_default: boolean }>;

/** The SKU that cannot be launched with a GPU count it allows, without this VM profile: it is the default of the count. */
export const profileUses = (
  profile: SizedProfile,
  sku: Pick<SizedSku, 'name' | 'enabled' | 'allowed_gpu_counts'> | undefined,
  others: readonly SizedProfile[],
): CatalogUse[] => {
  const isSame = (one: SizedProfile) =>
    one.name !== profile.name && one.sku_name === profile.sku_name && one.gpu_count === profile.gpu_count;
  const isNeeded =
    sku?.enabled === true &&
    sku.allowed_gpu_counts.includes(profile.gpu_count) &&
    profile.is_default &&
    !others.some((one) => isSame(one) && one.is_default);
  return isNeeded ? useOf('SKU', [sku.name]) : [];
};

/** The VM profiles of a SKU with a GPU count that it would not allow any more. */
export const gpuCountUses = (
  allowed: readonly number[],
  profiles: readonly Readonly<{ name: string; gpu_count: number }>[],
): CatalogUse[] =>
  useOf(
    'VM profile',
    profiles.filter(({ gpu_count }) => !allowed.includes(gpu_count)).map(({ name }) => name),
  );

const useText = ({ kind, count, names }: CatalogUse): string => {
  const more = count > names.length ? ` and ${count - names.length} more` : '';
  return `${count} ${kind}${count === 1 ? '' : 's'} (${names.join(', ')}${more})`;
};

const CURES = {
  region: 'Release the allocations and delete the nodes first.',
  SKU: 'Release the allocations first, or disable the SKU.',
  pool: 'Move its nodes to another pool first.',
  'VM profile':
    'It is the only default for a GPU count. Make another one the default, disable the SKU, or change both in one site file.',
  image:
    'No other default image of it is left there. Keep this one stable and verified, let a host fetch another such image of the SKU, or disable the SKU.',
  'GPU count': 'Retire the VM profiles first, or change both in one site file.',
} as const;
export type UsedNoun = keyof typeof CURES;

/** Why the resource cannot be retired; null when nothing uses it. */
export const inUseSentence = (noun: UsedNoun, name: string, uses: readonly CatalogUse[]): string | null =>
  uses.length === 0
    ? null
    : `${noun[0]?.toUpperCase()}${noun.slice(1)} ${name} is in use: ${uses.map(useText).join(', ')}. ${CURES[noun]}`;

export type DatedPrice = Readonly<{
  id: string;
  valid_from: string;
  cancelled_at: string | null;
  /** When its SKU was retired. */
  ended_at: string | null;
}>;

/** The current price at a time: the newest that has begun, was not cancelled, and did not end with the SKU. */
export const priceAt = <Price extends DatedPrice>(prices: readonly Price[], atMs: number): Price | undefined =>
  prices
    .filter((one) => one.cancelled_at === null && one.ended_at === null && Date.parse(one.valid_from) <= atMs)
    .toSorted((a, b) => Date.parse(b.valid_from) - Date.parse(a.valid_from))[0];
