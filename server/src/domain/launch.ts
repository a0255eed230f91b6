/**
 * The checks of a launch before placement, and the response to a failed placement. A launch that can never work is
 * refused by field; one that might work later is refused by the scheduler, with reasons and alternatives.
 */

import {
  type ErrorCode,
  EXPECTED_REASON,
  type FabricIsolation,
  type NetworkChoice,
  type NetworkKind,
  type StorageKind,
} from '@gpuaas/contract';
import { type BootKind, explainToUser, type PlacementRequest, type Unplaceable, type VmSize } from '@gpuaas/scheduler';
import { NO_PRICE } from './catalog.ts';
import { type Expected, expectedSentence } from './expected-capacity.ts';
import { type FabricOffer, fabricOf } from './fabric.ts';
import { chooseNetwork, chooseStorage, type LaunchChoices, launchChoices } from './launch-choice.ts';
import { FIELD_MESSAGES, REFUSALS } from './sentences.ts';

export type LaunchSku = Readonly<{
  name: string;
  capacity_shape: 'baremetal' | 'gpu_slice';
  gpus_per_node: number;
  allowed_gpu_counts: readonly number[];
  enabled: boolean;
  disabled_reason: string | null;
  /** The current price; null without one. */
  gpu_hourly_price_minor: number | null;
  currency: string | null;
}>;
type Priced<Sku extends LaunchSku> = Omit<Sku, 'gpu_hourly_price_minor' | 'currency'> &
  Readonly<{ gpu_hourly_price_minor: number; currency: string }>;
export type LaunchRegion = Readonly<{
  name: string;
  /** One of its hosts is active. */
  has_host: boolean;
  disabled_reason: string | null;
  fabric_isolation: FabricIsolation;
}>;

export type LaunchAsk = Readonly<{
  sku_name: string;
  region_name: string;
  gpu_count: number;
  image_name: string | null;
  vm_profile: string | null;
  /** Null for the default. */
  storage: StorageKind | null;
  network: NetworkChoice | null;
  organization_id: string;
}>;

/** From catalog and quota; null if the launch names something that does not exist. */
export type LaunchFound<Sku extends LaunchSku, Region extends LaunchRegion> = Readonly<{
  sku: Sku | null;
  region: Region | null;
  image: Readonly<{ boot_kind: BootKind }> | null;
  profile: VmSize | null;
  quota_gpus_remaining: number | null;
}>;

export type CheckedLaunch<Sku extends LaunchSku = LaunchSku, Region extends LaunchRegion = LaunchRegion> = Readonly<{
  sku: Priced<Sku>;
  region: Region;
  request: PlacementRequest;
}>;

export type ChosenLaunch = Readonly<{
  choices: LaunchChoices;
  fabric: FabricOffer;
  storage: StorageKind;
  /** Null for bare metal. */
  network: NetworkKind | null;
}>;

export type LaunchRefusal = Readonly<
  | { kind: 'missing'; noun: 'SKU' | 'region'; name: string }
  | { kind: 'field'; name: string; code: string; message: string }
  | { kind: 'not_offered'; message: string }
>;

const field = (name: string, code: string, message: string): LaunchRefusal => ({ kind: 'field', name, code, message });

/** A SKU that operators have not completed. One that they disabled is refused by the scheduler, with alternatives. */
const notOffered = (sku: LaunchSku, why: string): LaunchRefusal => ({
  kind: 'not_offered',
  message: `SKU ${sku.name} cannot be launched now. ${sku.disabled_reason ?? why}`,
});

const refusalOf = (
  launch: LaunchAsk,
  sku: LaunchSku,
  found: Readonly<{ image: unknown; profile: unknown }>,
): LaunchRefusal | null => {
  // Nothing installs an image on a whole node.
  if (launch.image_name !== null && sku.capacity_shape === 'baremetal')
    return field('image_name', 'slices_only', FIELD_MESSAGES.image_of_slice(sku.name));
  if (launch.image_name !== null && found.image === null)
    return field('image_name', 'unusable', FIELD_MESSAGES.image_unusable(sku.name));
  if (!sku.allowed_gpu_counts.includes(launch.gpu_count))
    return field(
      'gpu_count',
      'not_allowed',
      `must be ${sku.allowed_gpu_counts.length > 1 ? 'one of ' : ''}${sku.allowed_gpu_counts.join(', ')} for ${sku.name}`,
    );
  if (launch.vm_profile !== null && found.profile === null)
    return field('vm_profile', 'unknown', `names no profile of ${sku.name} with ${launch.gpu_count} GPUs`);
  if (sku.capacity_shape === 'baremetal') return null;
  if (found.profile === null)
    return notOffered(sku, `It has no VM profile for ${launch.gpu_count} ${launch.gpu_count === 1 ? 'GPU' : 'GPUs'}.`);
  return null;
};

/** What the launch chose, or the refusal of a choice that is not available for it. */
const chosenOf = (launch: LaunchAsk, choices: LaunchChoices) => {
  const storage = chooseStorage(choices, launch.storage);
  if ('reason' in storage)
    return field('storage', 'unavailable', FIELD_MESSAGES.choice_unavailable(launch.storage, storage.reason));
  const network = chooseNetwork(choices, launch.network);
  if ('reason' in network)
    return field('network', 'unavailable', FIELD_MESSAGES.choice_unavailable(launch.network, network.reason));
  return { storage: storage.name, network: network.name };
};
/** Of what can be launched at all: the scheduler refuses a disabled SKU or region, with alternatives. */
const imageRefusal = (sku: LaunchSku, region: LaunchRegion, image: unknown): LaunchRefusal | null => {
  const isMissing =
    sku.capacity_shape === 'gpu_slice' && sku.enabled && region.disabled_reason === null && image === null;
  if (!isMissing) return null;
  return region.has_host
    ? field('image_name', 'required', FIELD_MESSAGES.image_needed(sku.name, region.name))
    : field('region_name', 'no_host', FIELD_MESSAGES.region_without_host(region.name));
};

export const checkLaunch = <Sku extends LaunchSku, Region extends LaunchRegion>(
  launch: LaunchAsk,
  found: LaunchFound<Sku, Region>,
): (CheckedLaunch<Sku, Region> & ChosenLaunch) | LaunchRefusal => {
  const { sku, region } = found;
  if (sku === null) return { kind: 'missing', noun: 'SKU', name: launch.sku_name };
  if (region === null) return { kind: 'missing', noun: 'region', name: launch.region_name };
  const refusal = refusalOf(launch, sku, found);
  if (refusal !== null) return refusal;
  const { gpu_hourly_price_minor, currency } = sku;
  if (gpu_hourly_price_minor === null || currency === null) return notOffered(sku, NO_PRICE);
  const unbootable = imageRefusal(sku, region, found.image);
  if (unbootable !== null) return unbootable;
  const launched = {
    capacity_shape: sku.capacity_shape,
    gpu_count: launch.gpu_count,
    fabric_isolation: region.fabric_isolation,
  };
  const choices = launchChoices(launched);
  const chosen = chosenOf(launch, choices);
  if ('kind' in chosen) return chosen;
  return {
    sku: { ...sku, gpu_hourly_price_minor, currency },
    region,
    choices,
    fabric: fabricOf(launched),
    ...chosen,
    request: {
      shape: sku.capacity_shape,
      sku: sku.name,
      region: region.name,
      gpu_count: launch.gpu_count,
      allowed_gpu_counts: sku.allowed_gpu_counts,
      gpus_per_node: sku.gpus_per_node,
      tenant_id: launch.organization_id,
      vm: sku.capacity_shape === 'gpu_slice' ? found.profile : null,
      boot_kind: sku.capacity_shape === 'gpu_slice' ? (found.image?.boot_kind ?? null) : null,
      quota_gpus_remaining: found.quota_gpus_remaining,
    },
  };
};

const CODES = {
  insufficient_capacity: 'insufficient_capacity',
  quota_exceeded: 'quota_exceeded',
  sku_disabled: 'sku_disabled',
  region_disabled: 'region_disabled',
  gpu_count_not_allowed: 'invalid_request',
} as const satisfies Record<Unplaceable['code'], ErrorCode>;

/** What the scheduler does not know: the operator's reason for a disabled SKU or region, and how to get a larger quota. */
const furtherText = (code: Unplaceable['code'], { sku, region }: CheckedLaunch): string | null => {
  if (code === 'quota_exceeded') return REFUSALS.quota_request_how;
  if (code === 'region_disabled') return region.disabled_reason;
  return code === 'sku_disabled' ? sku.disabled_reason : null;
};

/** Codes, amounts and sentences, without a node, host or device. */
const reasonsOf = (decision: Unplaceable) => [
  ...decision.reasons.map((reason) => ({ ...reason })),
  {
    code: 'filters',
    nodes_total: decision.nodes_total,
    survivors: Object.fromEntries(decision.filters.map(({ name, survivors }) => [name, survivors])),
    unavailable_gpus: Object.fromEntries(Object.entries(decision.unavailable_gpus).filter(([, gpus]) => gpus > 0)),
    free_gpus: decision.free_gpus,
    largest_set: decision.largest_set,
  },
];

/** In the fields of the launch: an alternative can be merged into the refused body and sent again. */
const alternativesOf = (decision: Unplaceable) =>
  decision.alternatives.map(({ shape, sku, region, gpu_count }) => ({
    capacity_shape: shape,
    sku_name: sku,
    region_name: region,
    gpu_count,
  }));

/** A failed placement as an API error. */
export const placementRefusal = (decision: Unplaceable, launch: CheckedLaunch, known: Expected | null = null) => {
  // More GPUs do not help where the quota or an operator refuses.
  const expected = decision.code === 'insufficient_capacity' ? known : null;
  const because = furtherText(decision.code, launch);
  const sentence = explainToUser(decision, launch.request);
  return {
    code: CODES[decision.code],
    message: because === null ? sentence : `${sentence} ${because}`,
    reasons: [
      ...reasonsOf(decision),
      ...(expected === null ? [] : [{ code: EXPECTED_REASON, ...expected, detail: expectedSentence(expected) }]),
    ],
    alternatives: alternativesOf(decision),
    expected,
  };
};
