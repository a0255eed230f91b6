/** Why nothing fits, and what would: the codes, amounts and sentences of the server's own refusals. */
import type { ErrorCode } from '@gpuaas/contract';
import type { Region, Sku } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import {
  freeSlots,
  type Hold,
  isOpen,
  largestSet,
  liveNodeClaim,
  regionLargest,
  slotHold,
  slotsOf,
  spotsFor,
} from './placement.ts';

type HeldBy = Partial<Record<Hold | 'fragmented' | 'fabric' | 'quota', number>>;
export type Asked = Readonly<{ sku: Sku; region: Region; gpu_count: number; quota_left: number | null }>;
export type Refused = Readonly<{
  code: ErrorCode;
  sentence: string;
  reasons: { code: string; [field: string]: unknown }[];
  alternatives: { capacity_shape: Sku['capacity_shape']; sku_name: string; region_name: string; gpu_count: number }[];
}>;

const gpus = (count: number): string => (count === 1 ? '1 GPU' : `${count} GPUs`);

/** In the order in which a user wants to hear it: what will pass by itself first. */
const HOLD_TEXT: readonly (readonly [keyof HeldBy, string])[] = [
  ['claimed', 'in use'],
  ['cleaning', 'being wiped before reuse'],
  ['fragmented', 'free, but spread over nodes with too few of them'],
  ['fabric', 'free, but not joined as one set by the fabric'],
  ['held', 'held by the operator'],
  ['cleanup_blocked', 'waiting for a wipe that could not finish'],
  ['quarantined', 'quarantined after a fault'],
  ['unapproved', 'not approved for use'],
  ['drift', 'waiting for approval after a hardware change'],
  ['unhealthy', 'unhealthy'],
  ['not_ready', 'on nodes that are not ready'],
  ['quota', 'free, but beyond the quota'],
];

type Counts = Readonly<{ nodes: number; total: number; free: number; largest: number; held: HeldBy }>;

/** Every GPU of the region is either free or held by something. */
const countsOf = (world: World, { sku, region, gpu_count }: Asked): Counts => {
  const held: HeldBy = {};
  const count = (hold: keyof HeldBy, by = 1): void => {
    held[hold] = (held[hold] ?? 0) + by;
  };
  let [total, free, largest, nodes] = [0, 0, 0, 0];
  for (const node of world.nodes.values()) {
    if (node.region_name !== region.name || node.gpu_model !== sku.gpu_model) continue;
    const isOther = sku.capacity_shape === 'gpu_slice' ? 'baremetal' : 'slice';
    if (node.capacity_mode === isOther) continue;
    nodes += 1;
    total += node.gpu_count;
    const open = freeSlots(world, node, sku.capacity_shape);
    const most = largestSet(open);
    free += open.length;
    largest = Math.max(largest, most);
    if (open.length > 0 && most < gpu_count) count(open.length >= gpu_count ? 'fabric' : 'fragmented', open.length);
    const slots = slotsOf(world, node.id);
    if (slots.length === 0) count('unapproved', node.gpu_count);
    for (const slot of slots) {
      if (open.includes(slot)) continue;
      const hold = slotHold(slot);
      if (liveNodeClaim(world, node.id)) count('claimed');
      else if (hold !== null) count(hold);
      else if (!isOpen(node)) count(node.health === 'ok' ? 'not_ready' : 'unhealthy');
      else count(node.is_held ? 'held' : 'fragmented');
    }
  }
  return { nodes, total, free, largest, held };
};

const verdictOf = (asked: Asked, counts: Counts): Readonly<{ code: string; gpus: number; detail: string }> => {
  const what = `${asked.sku.name} in ${asked.region.name}`;
  if (counts.total === 0) return { code: 'no_nodes', gpus: 0, detail: `There is no ${what}.` };
  if (counts.free >= asked.gpu_count) {
    const blocker =
      (counts.held.fabric ?? 0) > 0
        ? `the fabric joins no ${asked.gpu_count} of them on one node`
        : `no single node fits ${asked.gpu_count}`;
    const detail = `${gpus(counts.free)} of ${what} are free, but ${blocker}; the largest set is ${counts.largest}.`;
    return { code: 'one_node', gpus: counts.free, detail };
  }
  const verdict = counts.free === 0 ? `No ${what} is free` : `Only ${gpus(counts.free)} of ${what} free`;
  const holders = HOLD_TEXT.flatMap(([kind, text]) => {
    const held = counts.held[kind] ?? 0;
    return held > 0 ? [`${gpus(held)} ${text}`] : [];
  });
  return { code: 'no_capacity', gpus: counts.free, detail: `${verdict}: ${holders.join(', ')}.` };
};

const alternativesOf = (world: World, asked: Asked): Refused['alternatives'] => {
  const within = asked.quota_left ?? Number.POSITIVE_INFINITY;
  return world.skus
    .filter((sku) => sku.enabled && sku.gpu_model === asked.sku.gpu_model)
    .flatMap((sku) =>
      world.regions
        .filter((region) => region.enabled)
        .flatMap((region) =>
          sku.allowed_gpu_counts
            .filter((count) => count <= Math.max(asked.gpu_count, 8) && count <= within)
            .filter((count) => spotsFor(world, sku, region.name, count).length > 0)
            .map((gpu_count) => ({
              capacity_shape: sku.capacity_shape,
              sku_name: sku.name,
              region_name: region.name,
              gpu_count,
            })),
        ),
    )
    .filter((one) => one.sku_name !== asked.sku.name || one.gpu_count < asked.gpu_count || !asked.region.enabled)
    .sort(
      (a, b) =>
        Math.abs(a.gpu_count - asked.gpu_count) - Math.abs(b.gpu_count - asked.gpu_count) ||
        (a.sku_name === asked.sku.name ? -1 : 1),
    )
    .slice(0, 5);
};

const headOf = (
  world: World,
  asked: Asked,
): readonly [ErrorCode, Readonly<{ code: string; gpus: number; detail: string }>] | null => {
  const { sku, region, gpu_count, quota_left } = asked;
  if (!sku.enabled)
    return ['sku_disabled', { code: 'sku_disabled', gpus: 0, detail: `${sku.name} is not offered now.` }];
  if (!region.enabled)
    return ['region_disabled', { code: 'region_disabled', gpus: 0, detail: `Region ${region.name} is not open.` }];
  if (!sku.allowed_gpu_counts.includes(gpu_count)) {
    const detail = `${sku.name} comes in ${sku.allowed_gpu_counts.join(', ')} GPUs, not ${gpu_count}.`;
    return ['invalid_request', { code: 'gpu_count_not_allowed', gpus: gpu_count, detail }];
  }
  if (quota_left !== null && gpu_count > quota_left) {
    const left = Math.max(0, quota_left);
    const detail = `${gpus(gpu_count)} asked, ${left} left in the quota.`;
    return ['quota_exceeded', { code: 'quota_exceeded', gpus: left, detail }];
  }
  if (spotsFor(world, sku, region.name, gpu_count).length > 0) return null;
  return ['insufficient_capacity', verdictOf(asked, countsOf(world, asked))];
};

/** Null where it fits. */
export const refusalOf = (world: World, asked: Asked): Refused | null => {
  const head = headOf(world, asked);
  if (head === null) return null;
  const [code, verdict] = head;
  const counts = countsOf(world, asked);
  const holds = HOLD_TEXT.flatMap(([kind, text]) => {
    const held = counts.held[kind] ?? 0;
    return held > 0 ? [{ code: kind, gpus: held, detail: `${gpus(held)} ${text}.` }] : [];
  });
  const alternatives = alternativesOf(world, asked);
  const fits = alternatives.map((one) => `${gpus(one.gpu_count)} of ${one.sku_name} in ${one.region_name}`);
  const because =
    code === 'region_disabled'
      ? asked.region.disabled_reason
      : code === 'sku_disabled'
        ? asked.sku.disabled_reason
        : null;
  const offer = fits.length === 0 ? '' : ` Fits now: ${fits.join('; ')}.`;
  return {
    code,
    sentence: `${verdict.detail}${offer}${because === null ? '' : ` ${because}`}`,
    reasons: [
      { ...verdict },
      ...holds,
      {
        code: 'filters',
        nodes_total: counts.nodes,
        survivors: { region: counts.nodes, count_on_one_node: 0 },
        held_by: counts.held,
        free_gpus: counts.free,
        largest_set: regionLargest(world, asked.sku, asked.region.name),
      },
    ],
    alternatives,
  };
};
