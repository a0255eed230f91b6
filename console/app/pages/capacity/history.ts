/** Samples of capacity as the columns of a chart, and its time range. */
import type { CapacitySample } from '@gpuaas/sdk';

const HOUR = 3_600_000;

export const SPANS = [
  { name: '1 d', ms: 24 * HOUR },
  { name: '7 d', ms: 7 * 24 * HOUR },
  { name: '30 d', ms: 30 * 24 * HOUR },
  { name: '90 d', ms: 90 * 24 * HOUR },
] as const;
export type Span = (typeof SPANS)[number];

export const spanOf = (name: string | undefined): Span => SPANS.find((span) => span.name === name) ?? SPANS[0];

/** Rounded to the minute, so that a repeated query is the same and can be cached. */
export const sinceOf = ({ ms }: Span, nowMs: number): string =>
  new Date(Math.floor((nowMs - ms) / 60_000) * 60_000).toISOString();

export const LINES = [
  ['Delivered', 'delivered_gpus'],
  ['Healthy', 'healthy_gpus'],
  ['Reserved', 'reserved_gpus'],
  ['Active', 'active_gpus'],
  ['Free', 'free_gpus'],
] as const;

export type Series = Readonly<{ times: number[]; lines: number[][] }>;

/** Samples of one region and model, oldest first. */
export const seriesOf = (samples: readonly CapacitySample[]): Series => ({
  times: samples.map(({ sampled_at }) => Date.parse(sampled_at) / 1000),
  lines: LINES.map(([, key]) => samples.map((sample) => sample[key])),
});
