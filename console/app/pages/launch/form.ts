/**
 * The launch form lives in the address: every choice is a query parameter, missing ones get defaults from the catalog,
 * and unknown ones are ignored. So a link fills the form. User data is not in the address, because it may hold secrets.
 */

import { NETWORK_CHOICES, SSH_KEYS_MAX, STORAGE_KINDS } from '@gpuaas/sdk';
import { nameProblem } from '../../rules/name.ts';
import { isLive } from '../allocations/list.ts';
import { durationProblem, userDataProblem } from './rules.ts';
import { parseTags, tagsText } from './tags.ts';
import type { Allocation, OsImage, Region, RequestOf, ResponseOf, Sku, SshKey } from './types.ts';

export type LaunchSearch = Readonly<
  Partial<
    Record<
      | 'shape'
      | 'sku'
      | 'region'
      | 'gpus'
      | 'image'
      | 'profile'
      | 'keys'
      | 'hours'
      | 'name'
      | 'tags'
      | 'protected'
      | 'storage'
      | 'network',
      string | undefined
    >
  >
>;

export type Catalog = Readonly<{
  skus: readonly Sku[];
  regions: readonly Region[];
  /** Of the chosen SKU. */
  images: readonly OsImage[];
  /** SSH keys of the user. */
  keys: readonly SshKey[];
}>;

export type VmProfile = Sku['vm_profiles'][number];

export type LaunchForm = Readonly<{
  sku: Sku | null;
  region: Region | null;
  gpuCount: number;
  /** Null for bare metal, which keeps the operating system of the node. */
  image: OsImage | null;
  profile: VmProfile | null;
  keys: readonly SshKey[];
  /** As entered; empty for no limit. */
  hours: string;
  name: string;
  tagsText: string;
  isProtected: boolean;
  /** Null for the default of the server. */
  storage: (typeof STORAGE_KINDS)[number] | null;
  network: (typeof NETWORK_CHOICES)[number] | null;
  userData: string;
}>;

/** The value of `keys` for no key; an absent one selects all keys of the user. */
export const NO_KEYS = 'none';
const SECONDS_PER_HOUR = 3_600;

export const skuOf = (search: LaunchSearch, skus: readonly Sku[]): Sku | null => {
  const named = skus.find(({ name }) => name === search.sku);
  if (named !== undefined) return named;
  const offered = skus.filter(({ enabled }) => enabled);
  const shaped = offered.filter(({ capacity_shape }) => capacity_shape === (search.shape ?? 'gpu_slice'));
  return shaped[0] ?? offered[0] ?? skus[0] ?? null;
};

/** Keys of other people in a shared address are ignored. */
const keysOf = ({ keys: text }: LaunchSearch, keys: readonly SshKey[]): readonly SshKey[] => {
  if (text === NO_KEYS) return [];
  const named = new Set((text ?? '').split(','));
  const found = keys.filter(({ id }) => named.has(id));
  return (found.length > 0 ? found : keys).slice(0, SSH_KEYS_MAX);
};

export const profilesOf = (sku: Sku, gpuCount: number): readonly VmProfile[] =>
  sku.vm_profiles.filter((profile) => profile.gpu_count === gpuCount);

const countOf = ({ gpus }: LaunchSearch, sku: Sku | null): number => {
  const allowed = sku?.allowed_gpu_counts ?? [];
  return allowed.find((count) => String(count) === gpus) ?? allowed[0] ?? 1;
};

const imageOf = (
  { image }: LaunchSearch,
  sku: Sku | null,
  region: Region | null,
  images: readonly OsImage[],
): OsImage | null =>
  sku?.capacity_shape === 'baremetal'
    ? null
    : (images.find(({ name }) => name === image) ??
      images.find(({ default_regions }) => region !== null && default_regions.includes(region.name)) ??
      null);

export const formOf = (
  search: LaunchSearch,
  catalog: Catalog,
  typed: Readonly<{ suggestedName: string; userData: string }>,
): LaunchForm => {
  const sku = skuOf(search, catalog.skus);
  const gpuCount = countOf(search, sku);
  const profiles = sku === null ? [] : profilesOf(sku, gpuCount);
  const region =
    catalog.regions.find(({ name }) => name === search.region) ??
    catalog.regions.find(({ enabled }) => enabled) ??
    catalog.regions[0] ??
    null;
  return {
    sku,
    region,
    gpuCount,
    image: imageOf(search, sku, region, catalog.images),
    profile:
      profiles.find(({ name }) => name === search.profile) ??
      profiles.find(({ is_default }) => is_default) ??
      profiles[0] ??
      null,
    keys: keysOf(search, catalog.keys),
    hours: search.hours ?? '',
    name: search.name ?? typed.suggestedName,
    tagsText: search.tags ?? '',
    isProtected: search.protected === '1',
    storage: STORAGE_KINDS.find((kind) => kind === search.storage) ?? null,
    network: NETWORK_CHOICES.find((kind) => kind === search.network) ?? null,
    userData: typed.userData,
  };
};

/** Null for no limit and for invalid input. */
export const maxDurationOf = (hours: string): number | null => {
  const seconds = hours.trim() === '' ? Number.NaN : Math.round(Number(hours) * SECONDS_PER_HOUR);
  return Number.isFinite(seconds) ? seconds : null;
};

export type Problems = Partial<Record<'sku' | 'region' | 'image' | 'name' | 'tags' | 'hours' | 'userData', string>>;

const said = <K extends keyof Problems>(field: K, problem: string | null): Problems =>
  problem === null ? {} : { [field]: problem };

const skuProblem = (sku: Sku | null): string | null => {
  if (sku === null) return 'No SKU is available.';
  return sku.enabled ? null : `${sku.display_name} is disabled. ${sku.disabled_reason ?? ''}`.trim();
};
const regionProblem = (region: Region | null): string | null => {
  if (region === null) return 'No region is available.';
  return region.enabled ? null : `${region.display_name} is disabled. ${region.disabled_reason ?? ''}`.trim();
};
const imageProblem = ({ sku, image }: LaunchForm): string | null => {
  if (sku === null || sku.capacity_shape === 'baremetal') return null;
  if (image === null) return 'No image is the default here. Choose one, or ask the operators for one.';
  return image.enabled ? null : `${image.display_name} is retired.`;
};

/** Problems that block the launch, by field, in the order of the form. */
export const problemsOf = (form: LaunchForm): Problems => ({
  ...said('sku', skuProblem(form.sku)),
  ...said('region', regionProblem(form.region)),
  ...said('image', imageProblem(form)),
  ...said('hours', durationProblem(form.hours, maxDurationOf(form.hours))),
  ...said('name', nameProblem(form.name)),
  ...said('tags', parseTags(form.tagsText).problem),
  ...(form.sku?.capacity_shape === 'gpu_slice' ? said('userData', userDataProblem(form.userData)) : {}),
});

export type LaunchBody = RequestOf<'allocationCreate'>['body'];

/** The part of an estimate that lists the choices of a launch. */
type Offered = Pick<ResponseOf<'allocationEstimate'>, 'storage' | 'network'>;
type Choices = Offered['storage' | 'network'];

/** What a launch gets: the chosen one, else the first available one. */
export const chosenOf = (choices: Choices, chosen: Choices[number]['name'] | null): string | null =>
  chosen ?? choices.find(({ available }) => available)?.name ?? null;

/** Why the launch would be refused for its storage or network, in the words of the server. */
export const choiceProblem = (
  { storage, network }: Pick<LaunchForm, 'storage' | 'network'>,
  offered: Offered,
): string | null => {
  const wrong = [
    ...offered.storage.filter(({ name }) => name === storage),
    ...offered.network.filter(({ name }) => name === network),
  ].find(({ available }) => !available);
  return wrong === undefined ? null : `${wrong.label}: ${wrong.reason}`;
};

/** The request body; null while SKU or region is missing. */
export const bodyOf = (form: LaunchForm): LaunchBody | null => {
  const { sku, region, image, profile, keys } = form;
  if (sku === null || region === null) return null;
  const maxDuration = maxDurationOf(form.hours);
  const { tags } = parseTags(form.tagsText);
  return {
    name: form.name,
    sku_name: sku.name,
    region_name: region.name,
    gpu_count: form.gpuCount,
    ...(image === null ? {} : { image_name: image.name }),
    ...(profile === null ? {} : { vm_profile: profile.name }),
    ...(keys.length === 0 ? {} : { ssh_key_ids: keys.map(({ id }) => id) }),
    ...(Object.keys(tags).length === 0 ? {} : { tags }),
    ...(form.isProtected ? { is_protected: true } : {}),
    ...(maxDuration === null ? {} : { max_duration_s: maxDuration }),
    ...(form.storage === null ? {} : { storage: form.storage }),
    ...(form.network === null ? {} : { network: form.network }),
    ...(sku.capacity_shape === 'gpu_slice' && form.userData !== '' ? { user_data: form.userData } : {}),
  };
};

/** "Launch again": the form as the allocation was launched; its name only once the allocation has ended. */
export const launchSearch = (allocation: Allocation): LaunchSearch => ({
  sku: allocation.sku_name,
  region: allocation.region_name,
  gpus: String(allocation.gpu_count),
  image: allocation.image_name ?? undefined,
  profile: allocation.placement.vm_profile ?? undefined,
  keys: allocation.ssh_key_ids.length === 0 ? NO_KEYS : allocation.ssh_key_ids.join(','),
  hours:
    allocation.max_duration_s === null
      ? undefined
      : String(Number((allocation.max_duration_s / SECONDS_PER_HOUR).toFixed(4))),
  tags: tagsText(allocation.tags) || undefined,
  protected: allocation.is_protected ? '1' : undefined,
  storage: allocation.storage,
  network: allocation.network ?? undefined,
  name: isLive(allocation) ? undefined : allocation.name,
});
