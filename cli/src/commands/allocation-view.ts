/** How an allocation is shown to a person: as a row, as a record, and as one line of progress. */
import { type Allocation, STEP_OUTCOME_LABELS, type TimelineEntry } from '@gpuaas/sdk';
import { allocationText } from '../state-text.ts';
import { type Column, shortDuration, shortTime } from '../table.ts';
import { price } from './catalog.ts';

export const gpus = (count: number): string => (count === 1 ? '1 GPU' : `${count} GPUs`);

/** Active, plus the power state of its VM unless that is the expected one. */
const stateOf = ({ state, power }: Allocation): string => {
  if (power === null || power.state === 'on') return state;
  return `${state}, ${power.state === 'unknown' ? 'power unknown' : power.state}`;
};

/** In lists, notices are only counted; `get` shows them. */
const markedStateOf = (found: Allocation): string => {
  const count = found.notices.length;
  return count === 0 ? stateOf(found) : `${stateOf(found)} (${count === 1 ? '1 notice' : `${count} notices`})`;
};

export const sentenceOf = (found: Allocation): string => {
  const why = found.state_reason ?? found.power?.reason ?? null;
  const sentence = allocationText(`${found.name} (${found.id})`, found.state, stateOf(found));
  return `${sentence}${why === null ? '' : `: ${why}`}`;
};

/** For power commands: also when it is on. */
export const powerSentenceOf = (found: Allocation): string =>
  found.power?.state === 'on' ? `${found.name} (${found.id}) is on` : sentenceOf(found);

export const allocationColumns: readonly Column<Allocation>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'NAME', value: ({ name }) => name, shrink: 'cut' },
  { header: 'STATE', value: markedStateOf },
  { header: 'GPUS', value: ({ gpu_count }) => gpu_count, align: 'right' },
  { header: 'COST', value: ({ cost_so_far }) => price(cost_so_far), align: 'right' },
  { header: 'SKU', value: ({ sku_name }) => sku_name, optional: true },
  { header: 'REGION', value: ({ region_name }) => region_name, optional: true },
  { header: 'SINCE', value: ({ state_since }) => shortTime(state_since), optional: true },
  { header: 'REASON', value: ({ state_reason }) => state_reason, shrink: 'wrap', optional: true },
];

export const timelineColumns: readonly Column<TimelineEntry>[] = [
  { header: '#', value: ({ sequence }) => sequence, align: 'right' },
  { header: 'TIME', value: ({ started_at }) => `${started_at.slice(11, 19)}Z` },
  { header: 'STEP', value: ({ label }) => label, shrink: 'cut' },
  { header: 'TRY', value: ({ attempt }) => attempt, align: 'right' },
  { header: 'OUTCOME', value: ({ outcome }) => STEP_OUTCOME_LABELS[outcome] },
  { header: 'MS', value: ({ duration_ms }) => duration_ms, align: 'right' },
  { header: 'DETAIL', value: ({ detail }) => detail, shrink: 'wrap' },
  { header: 'WORKFLOW', value: ({ workflow }) => workflow, optional: true },
];

const placementOf = ({ capacity_shape, placement }: Allocation): string => {
  const parts = [capacity_shape === 'baremetal' ? 'whole node' : 'slice', gpus(placement.gpu_count)];
  if (placement.vcpu_count !== null) parts.push(`${placement.vcpu_count} vCPUs`);
  if (placement.memory_mib !== null) parts.push(`${Math.round(placement.memory_mib / 1024)} GiB memory`);
  if (placement.vm_profile !== null) parts.push(`profile ${placement.vm_profile}`);
  return parts.join(', ');
};

const timeLeft = ({ release_at, max_duration_s, state }: Allocation, nowMs: number): string | null => {
  if (max_duration_s === null) return null;
  if (state === 'requested' || state === 'provisioning')
    return `${shortDuration(max_duration_s * 1000)} after activation`;
  if (state !== 'active' || release_at === null) return null;
  const left = Date.parse(release_at) - nowMs;
  return left > 0 ? `${shortDuration(left)}, then it is released` : 'None; release is due';
};

/** The names of the actions available now, and of the unavailable ones with the reason. */
const actionsOf = ({ actions }: Allocation): Record<string, unknown> => {
  const refused = actions.filter(({ allowed }) => !allowed);
  return {
    actions: actions.filter(({ allowed }) => allowed).map(({ name }) => name),
    ...(refused.length === 0
      ? {}
      : { 'blocked actions': refused.map(({ name, reason }) => (reason === null ? name : `${name} (${reason})`)) }),
  };
};

const progressText = ({
  label,
  step_number,
  step_count,
  overall_percent,
}: NonNullable<Allocation['progress']>): string =>
  `${overall_percent} %: ${label} (step ${step_number} of ${step_count})`;

const powerText = ({ state, since, reason }: NonNullable<Allocation['power']>): string =>
  [
    `${state} since ${shortTime(since)}`,
    ...(reason === null ? [] : [reason]),
    ...(state === 'off' ? ['its GPUs stay allocated and charged'] : []),
  ].join('; ');

/** The command comes first for users who may run it: the address is reachable only from its host. */
const sshText = ({ username, address }: NonNullable<Allocation['ssh']>, name: string | null): string => {
  const at = address === null ? '' : `, at the private address ${address}`;
  return name === null ? `as ${username}${at}` : `gpuaas ssh ${name} (as ${username}${at})`;
};

/** Only fields with a value are shown. */
export const allocationFields = (found: Allocation, nowMs: number, { isOwn = true } = {}): Record<string, unknown> => {
  const { amount_minor, currency } = found.placement.gpu_hourly_price;
  const perHour = { amount_minor: amount_minor * found.placement.gpu_count, currency };
  const tags = Object.entries(found.tags).map(([key, value]) => `${key}=${value}`);
  const optional = {
    reason: found.state_reason,
    deadline: found.state_deadline_at === null ? null : shortTime(found.state_deadline_at),
    image: found.image_name,
    storage: found.storage,
    network: found.network,
    fabric: found.fabric.detail,
    'time left': timeLeft(found, nowMs),
    tags: tags.length === 0 ? null : tags,
    ssh: found.ssh === null ? null : sshText(found.ssh, isOwn ? found.name : null),
    'host key': found.ssh?.host_key ?? null,
    'ssh keys': found.ssh_key_ids.length === 0 ? null : found.ssh_key_ids,
  };
  return {
    name: found.name,
    id: found.id,
    state: `${found.state} since ${shortTime(found.state_since)}`,
    ...(optional.reason === null ? {} : { reason: optional.reason }),
    ...(found.power === null ? {} : { power: powerText(found.power) }),
    ...(found.notices.length === 0
      ? {}
      : { notices: found.notices.map(({ message, since }) => `${message} (since ${shortTime(since)})`) }),
    ...(found.progress === null ? {} : { progress: progressText(found.progress) }),
    sku: found.sku_name,
    region: found.region_name,
    placement: placementOf(found),
    price: `${price(perHour)} per hour (${price(found.placement.gpu_hourly_price)} per GPU hour)`,
    'cost so far': price(found.cost_so_far),
    ...Object.fromEntries(Object.entries(optional).filter(([name, value]) => name !== 'reason' && value !== null)),
    protected: found.is_protected,
    requested: shortTime(found.created_at),
    ...(found.activated_at === null ? {} : { 'charged from': shortTime(found.activated_at) }),
    ...(found.release_requested_at === null ? {} : { 'charged until': shortTime(found.release_requested_at) }),
    ...(found.released_at === null ? {} : { 'wipe verified': shortTime(found.released_at) }),
    'correlation id': found.correlation_id,
    ...actionsOf(found),
  };
};
