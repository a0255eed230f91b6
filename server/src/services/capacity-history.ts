/** Capacity over time, for charts: samples as taken, thinned to what a chart can show. */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import type { ReadCtx } from '../context.ts';
import { listCapacitySamples, SAMPLE_STEP_S, SAMPLES_KEPT_DAYS } from '../db/capacity-sample.ts';
import { timeBound } from './audit-log.ts';

const POINTS_MAX = 300;
const DAY_MS = 24 * 3_600_000;

/** A day is shown as it was sampled; a longer span in steps that are whole samples. */
const stepFor = (spanMs: number): number =>
  Math.max(1, Math.ceil(spanMs / 1_000 / POINTS_MAX / SAMPLE_STEP_S)) * SAMPLE_STEP_S;

export const historyList = async (ctx: ReadCtx, { query }: RequestOf<PublicApi['adminCapacityHistoryList']>) => {
  const nowMs = ctx.deps.clock.now().getTime();
  const asked = timeBound('since', query.since);
  const oldest = nowMs - SAMPLES_KEPT_DAYS * DAY_MS;
  const sinceMs = asked === undefined ? nowMs - DAY_MS : Math.max(Date.parse(asked), oldest);
  const wanted = {
    since: new Date(sinceMs).toISOString(),
    step_s: stepFor(nowMs - sinceMs),
    region_name: query.region_name ?? null,
    gpu_model: query.gpu_model ?? null,
  };
  return { items: await ctx.read((reader) => listCapacitySamples(reader, wanted)) };
};
