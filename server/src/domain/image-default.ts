/**
 * The default image: what a launch that names no image gets. Only a stable and verified image is one, and only in a region
 * where a host has fetched it. Each region that is enabled has a sentence where the image cannot be the default there.
 */
import type { TaskErrorCode } from '@gpuaas/contract/node';

export type ImageRegion = Readonly<{
  region_name: string;
  /** A host there is active, so it fetches images. */
  has_host: boolean;
  /** A version that is not retired is available there. */
  is_available: boolean;
  /** Of the last attempt to fetch the newest version, where it failed. */
  failure: string | null;
  node_name: string | null;
}>;

export type ImageFacts = Readonly<{
  name: string;
  channel: 'stable' | 'candidate';
  trust: 'unverified' | 'verified';
  /** It is not retired, and neither is one of its versions. */
  enabled: boolean;
  /** The enabled ones. */
  regions: readonly ImageRegion[];
}>;

/** A host that could not fetch an image is asked again after this time, or another one in its place. */
export const FETCH_RETRY_MIN = 15;

/** The source lacks the image, serves other data or is not set: unlike a full disk, no fault of one host alone. */
const WITHDRAWS: ReadonlySet<string> = new Set(['bad_image', 'unsupported'] satisfies TaskErrorCode[]);
export const withdrawsImage = (errorCode: string | null): boolean => errorCode !== null && WITHDRAWS.has(errorCode);

export const NO_HOST = (region: string): string => `${region} has no active host.`;

const regionBlocker = (image: string, { region_name, has_host, failure, node_name }: ImageRegion): string => {
  if (!has_host) return `${NO_HOST(region_name)} The first one fetches it automatically. Next step: gpuaas admin setup`;
  const pull = `gpuaas admin node image pull NODE ${image}`;
  return failure === null
    ? `No host in ${region_name} has fetched it yet. An active host fetches it automatically. To start this yourself: ${pull}`
    : `${node_name ?? 'A host'} in ${region_name} could not fetch it: ${failure} Correct the image source of the host, then: ${pull}`;
};

const ownBlockers = ({ name, channel, trust, enabled }: ImageFacts): string[] => [
  ...(enabled ? [] : ['It has no version in use. Register one.']),
  ...(channel === 'stable'
    ? []
    : [`Its channel is ${channel}. To change it: gpuaas admin image update ${name} --channel stable`]),
  ...(trust === 'verified'
    ? []
    : [`It is ${trust}. Once it is tested: gpuaas admin image update ${name} --trust verified`]),
];

export const imageDefault = (
  image: ImageFacts,
): Readonly<{ default_regions: string[]; default_blockers: string[] }> => {
  const own = ownBlockers(image);
  const missing = image.regions.filter(({ is_available }) => !is_available);
  return {
    default_regions:
      own.length > 0 ? [] : image.regions.filter((one) => one.is_available).map(({ region_name }) => region_name),
    default_blockers: [...own, ...missing.map((region) => regionBlocker(image.name, region))],
  };
};

export type DefaultImage = Readonly<{
  name: string;
  sku_names: readonly string[];
  default_regions: readonly string[];
  /** Where a host has fetched it: the default regions of a stable and verified image. */
  available_regions: readonly string[];
}>;

/** Where the image is the default of the SKU. */
const regionsFor = (image: DefaultImage | undefined, skuName: string): readonly string[] =>
  image?.sku_names.includes(skuName) === true ? image.default_regions : [];

/** Whether the change of this one image takes a default of the SKU away. */
export const losesDefault = (skuName: string, before: DefaultImage, after: DefaultImage | undefined): boolean => {
  const kept = regionsFor(after, skuName);
  return regionsFor(before, skuName).some((region) => !kept.includes(region));
};

export const isDefaultable = ({ channel, trust }: Pick<ImageFacts, 'channel' | 'trust'>): boolean =>
  channel === 'stable' && trust === 'verified';
type OfferedSku = Readonly<{ name: string; enabled: boolean; capacity_shape: 'baremetal' | 'gpu_slice' }>;

/** Enabled SKUs that had a default image in a region before and have none there after. */
export const skusLosingDefault = (
  skus: readonly OfferedSku[],
  before: readonly DefaultImage[],
  after: readonly DefaultImage[],
): string[] =>
  skus
    .filter(({ enabled, capacity_shape }) => enabled && capacity_shape === 'gpu_slice')
    .map(({ name }) => name)
    .filter((name) => {
      const regionsOf = (images: readonly DefaultImage[]) => new Set(images.flatMap((one) => regionsFor(one, name)));
      const kept = regionsOf(after);
      return [...regionsOf(before)].some((region) => !kept.has(region));
    });
