/**
 * An estimate in words: the price, the quota left, whether it fits, and if not why and what would. The reasons are the
 * server's sentences; this page adds what the reader can do.
 */
import { EXPECTED_REASON, type UNAVAILABLE_REASONS } from '@gpuaas/sdk';
import { money } from '../../format/money.ts';
import { count } from '../../format/size.ts';
import type { LaunchForm, LaunchSearch } from './form.ts';
import type { LaunchAlternative, Money, ResponseOf, Sku } from './types.ts';

export type Estimate = ResponseOf<'allocationEstimate'>;
export type Reason = Estimate['reasons'][number];
export type SaidReason = Readonly<{ code: string; text: string; hint: string | null }>;

export const gpus = (amount: number): string => count(amount, 'GPU');

const BY_ITSELF = 'These become available automatically.';
const OPERATOR = 'A platform operator must act.';

/** The available action for a reason; the text of the reason is the server's. */
const OF_RESULT: Readonly<Record<string, string>> = {
  quota_exceeded: 'Release an allocation, select fewer GPUs, or ask a platform operator to raise the quota.',
  one_node: 'The GPUs of one allocation are always on one node.',
};
const OF_UNAVAILABLE: Readonly<Record<(typeof UNAVAILABLE_REASONS)[number], string | null>> = {
  claimed: null,
  cleaning: BY_ITSELF,
  cleanup_blocked: OPERATOR,
  quarantined: OPERATOR,
  unapproved: OPERATOR,
  hardware_changed: OPERATOR,
  unhealthy: OPERATOR,
  incomplete: OPERATOR,
  not_ready: OPERATOR,
  held: null,
  fragmented: null,
  fabric: null,
  boot_kind: 'Select another image.',
  quota: null,
};
const HINTS: ReadonlyMap<string, string | null> = new Map(Object.entries({ ...OF_RESULT, ...OF_UNAVAILABLE }));

/** A reason without a sentence shows its fields and amounts: `topology_unsafe: free 8, largest 3`. */
const asItIs = ({ code, detail, ...rest }: Reason): string => {
  if (typeof detail === 'string') return detail;
  const facts = Object.entries(rest).flatMap(([name, value]) =>
    typeof value === 'number' || typeof value === 'string' ? [`${name.replaceAll('_', ' ')} ${value}`] : [],
  );
  return facts.length === 0 ? code : `${code}: ${facts.join(', ')}`;
};

/** The steps of the search are for operators: the estimate already contains the amounts. */
const FILTERS = 'filters';

/** The server's sentence names every holder of capacity; here they are a list below the result. */
const textOf = (reason: Reason): string => {
  const free = reason['gpus'];
  if (reason.code !== 'no_capacity' || typeof free !== 'number') return asItIs(reason);
  return free === 0 ? 'None available now.' : `Only ${gpus(free)} available now.`;
};

/** When it may fit, as the server states it; null where that is not known. */
export const expectedIn = (reasons: readonly Reason[]): string | null => {
  const found = reasons.find(({ code }) => code === EXPECTED_REASON);
  return found === undefined ? null : asItIs(found);
};

/** The result first, then the holders of the capacity. */
export const reasonsInWords = (reasons: readonly Reason[]): readonly SaidReason[] =>
  reasons
    .filter(({ code }) => code !== FILTERS && code !== EXPECTED_REASON)
    .map((reason) => ({
      code: reason.code,
      text: textOf(reason),
      hint: HINTS.get(reason.code) ?? null,
    }));

const NODES_COUNTED = 100;
const nodes = (amount: number): string => (amount >= NODES_COUNTED ? '100 nodes or more' : count(amount, 'node'));

export const fitSentence = ({ fits_now, fits_on_nodes, largest_set }: Estimate): string => {
  if (fits_now) return `Available now on ${nodes(fits_on_nodes)}; largest free set: ${gpus(largest_set)}.`;
  return largest_set === 0 ? 'Not available now.' : `Not available now; largest free set: ${gpus(largest_set)}.`;
};

/** Charged by the second: the cost of the whole maximum duration without an earlier release. */
export const maxDurationPrice = (perHour: Money, seconds: number): Money => ({
  currency: perHour.currency,
  amount_minor: Math.round((perHour.amount_minor * seconds) / 3_600),
});

export type Limit = Readonly<{ gpu_limit: number | null; gpu_used: number }>;

export const quotaSentence = (of: string, { gpu_limit, gpu_used }: Limit, added: number): string => {
  const used = gpu_used + added;
  if (gpu_limit === null) return `${gpus(used)} used by the ${of}, no limit.`;
  return used > gpu_limit
    ? `${gpus(used - gpu_limit)} over the ${of} limit of ${gpu_limit}.`
    : `${used} of ${gpus(gpu_limit)} used by the ${of}.`;
};

export const SHAPE_WORDS: Readonly<Record<Sku['capacity_shape'], string>> = {
  gpu_slice: 'Slice',
  baremetal: 'Bare metal',
};

/** How an alternative changes the form. A profile belongs to its SKU and count, so it is reset. */
export const alternativePatch = (alternative: LaunchAlternative, form: LaunchForm): LaunchSearch => ({
  shape: undefined,
  sku: alternative.sku_name,
  region: alternative.region_name,
  gpus: String(alternative.gpu_count),
  profile: undefined,
  ...(form.image === null || form.image.sku_names.includes(alternative.sku_name) ? {} : { image: undefined }),
});

/** The price of that many GPUs for an hour; null while the SKU has none. */
export const multipleOf = ({ gpu_hourly_price: price }: Sku, gpuCount: number): string | null =>
  price === null ? null : money({ ...price, amount_minor: price.amount_minor * gpuCount });

export const gpuHourText = (sku: Sku): string => {
  const amount = multipleOf(sku, 1);
  return amount === null ? 'No price yet.' : `${amount} per GPU-hour.`;
};

const perHour = (sku: Sku, gpuCount: number): string | null => {
  const amount = multipleOf(sku, gpuCount);
  return amount === null ? null : `${amount} per hour`;
};

export const alternativeLabel = (
  alternative: LaunchAlternative,
  skus: readonly Sku[],
): Readonly<{ what: string; where: string; price: string | null }> => {
  const sku = skus.find(({ name }) => name === alternative.sku_name);
  return {
    what: `${SHAPE_WORDS[alternative.capacity_shape]}, ${gpus(alternative.gpu_count)}`,
    where: `${alternative.sku_name} in ${alternative.region_name}`,
    price: sku === undefined ? null : perHour(sku, alternative.gpu_count),
  };
};

/** The alternatives of a refused launch are untyped: malformed ones are ignored. */
export const isAlternative = (value: Readonly<Record<string, unknown>>): boolean =>
  typeof value['sku_name'] === 'string' &&
  typeof value['region_name'] === 'string' &&
  typeof value['gpu_count'] === 'number' &&
  (value['capacity_shape'] === 'baremetal' || value['capacity_shape'] === 'gpu_slice');

export const alternativesIn = (values: readonly Readonly<Record<string, unknown>>[]): readonly LaunchAlternative[] =>
  values.filter(isAlternative) as unknown as readonly LaunchAlternative[];
