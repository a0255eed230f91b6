/**
 * An estimate in words: what it costs, what is left of the quota, whether it fits, and if not why and what would. The
 * server says why in codes, amounts and sentences; a code that this console does not know yet is shown as it is.
 */
import { money } from '../../format/money.ts';
import { count } from '../../format/size.ts';
import type { LaunchForm, LaunchSearch } from './form.ts';
import type { LaunchAlternative, Money, ResponseOf, Sku } from './types.ts';

export type Estimate = ResponseOf<'allocationEstimate'>;
export type Reason = Estimate['reasons'][number];
export type SaidReason = Readonly<{ code: string; text: string; hint: string | null }>;

export const gpus = (amount: number): string => count(amount, 'GPU');

type Words = Readonly<{ text: (reason: Reason) => string; hint: string | null }>;

const amountOf = (reason: Reason): number => (typeof reason['gpus'] === 'number' ? reason['gpus'] : 0);
const held = (text: string, hint: string | null = null): Words => ({
  text: (reason) => `${gpus(amountOf(reason))} ${text}`,
  hint,
});
/** The server's sentence where it sent one: it knows the amounts. */
const told = (otherwise: string, hint: string | null = null): Words => ({
  text: ({ detail }) => (typeof detail === 'string' ? detail : otherwise),
  hint,
});

const BY_ITSELF = 'These become available automatically.';
const OPERATOR = 'A platform operator must act.';
const ONE_NODE = 'The GPUs of one allocation are always on one node.';

const WORDS: Readonly<Record<string, Words>> = {
  quota_exceeded: told(
    'Quota exceeded.',
    'Release an allocation, select fewer GPUs, or ask a platform operator to raise the quota.',
  ),
  no_nodes: told('This region has no such hardware.'),
  no_capacity: {
    text: (reason) =>
      amountOf(reason) === 0 ? 'None available now.' : `Only ${gpus(amountOf(reason))} available now.`,
    hint: null,
  },
  one_node: told('Not enough GPUs on one node.', ONE_NODE),
  sku_disabled: told('This SKU is disabled.'),
  region_disabled: told('This region is disabled.'),
  gpu_count_not_allowed: told('This GPU count is not available for this SKU.'),
  claimed: held('in use'),
  cleaning: held('being wiped before reuse', BY_ITSELF),
  fragmented: held('free, but spread over nodes with too few of them'),
  fabric: held('free, but not joined as one set by the fabric'),
  held: held('held by an operator'),
  cleanup_blocked: held('cleanup blocked', OPERATOR),
  quarantined: held('quarantined', OPERATOR),
  unapproved: held('not approved', OPERATOR),
  drift: held('waiting for approval after a hardware change', OPERATOR),
  unhealthy: held('unhealthy', OPERATOR),
  incomplete: held('not ready: storage, network or fabric is not assigned', OPERATOR),
  not_ready: held('on nodes that are not ready'),
  quota: held('free, but beyond the quota'),
};

/** Names and amounts of an unknown reason: `topology_unsafe: free 8, largest 3`. */
const asItIs = ({ code, detail, ...rest }: Reason): string => {
  if (typeof detail === 'string') return detail;
  const facts = Object.entries(rest).flatMap(([name, value]) =>
    typeof value === 'number' || typeof value === 'string' ? [`${name.replaceAll('_', ' ')} ${value}`] : [],
  );
  return facts.length === 0 ? code : `${code}: ${facts.join(', ')}`;
};

/** How the verdict was found is for operators: its amounts stand in the estimate already. */
const FILTERS = 'filters';

/** The verdict first, then what holds the capacity. */
export const reasonsInWords = (reasons: readonly Reason[]): readonly SaidReason[] =>
  reasons
    .filter(({ code }) => code !== FILTERS)
    .map((reason) => {
      const words = Object.hasOwn(WORDS, reason.code) ? WORDS[reason.code] : undefined;
      return { code: reason.code, text: words?.text(reason) ?? asItIs(reason), hint: words?.hint ?? null };
    });

const NODES_COUNTED = 100;
const nodes = (amount: number): string => (amount >= NODES_COUNTED ? '100 nodes or more' : count(amount, 'node'));

export const fitSentence = ({ fits_now, fits_on_nodes, largest_set }: Estimate): string => {
  if (fits_now) return `Available now on ${nodes(fits_on_nodes)}; largest free set: ${gpus(largest_set)}.`;
  return largest_set === 0 ? 'Not available now.' : `Not available now; largest free set: ${gpus(largest_set)}.`;
};

/** Charged by the second: what the whole lifetime costs, if it is not released before. */
export const lifetimePrice = (perHour: Money, seconds: number): Money => ({
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

/** What taking an alternative does to the form. A profile belongs to its SKU and count, so it is reset. */
export const alternativePatch = (alternative: LaunchAlternative, form: LaunchForm): LaunchSearch => ({
  shape: undefined,
  sku: alternative.sku_name,
  region: alternative.region_name,
  gpus: String(alternative.gpu_count),
  profile: undefined,
  ...(form.image === null || form.image.sku_names.includes(alternative.sku_name) ? {} : { image: undefined }),
});

export const alternativeLabel = (
  alternative: LaunchAlternative,
  skus: readonly Sku[],
): Readonly<{ what: string; where: string; price: string | null }> => {
  const sku = skus.find(({ name }) => name === alternative.sku_name);
  return {
    what: `${SHAPE_WORDS[alternative.capacity_shape]}, ${gpus(alternative.gpu_count)}`,
    where: `${alternative.sku_name} in ${alternative.region_name}`,
    price:
      sku === undefined
        ? null
        : `${money({ ...sku.gpu_hourly_price, amount_minor: sku.gpu_hourly_price.amount_minor * alternative.gpu_count })} per hour`,
  };
};

/** The alternatives of a refused launch come untyped: what is not one is no alternative. */
export const isAlternative = (value: Readonly<Record<string, unknown>>): boolean =>
  typeof value['sku_name'] === 'string' &&
  typeof value['region_name'] === 'string' &&
  typeof value['gpu_count'] === 'number' &&
  (value['capacity_shape'] === 'baremetal' || value['capacity_shape'] === 'gpu_slice');

export const alternativesIn = (values: readonly Readonly<Record<string, unknown>>[]): readonly LaunchAlternative[] =>
  values.filter(isAlternative) as unknown as readonly LaunchAlternative[];
