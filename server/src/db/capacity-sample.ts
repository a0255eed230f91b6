/**
 * Capacity history: the counters every five minutes, kept for 90 days. A sample's key is its time, so of several
 * workers one writes it.
 */
import type { Reader, Tx } from './client.ts';
import type { CapacitySamples } from './types.gen.ts';

export const SAMPLE_STEP_S = 300;
export const SAMPLES_KEPT_DAYS = 90;

/** Counters older than this are outdated: a gap is correct then. */
const COUNTED_WITHIN = "interval '1 minute'";

/** The number of series written: zero when the sample already exists. */
export const insertCapacitySamples = async (tx: Tx): Promise<number> =>
  (
    await tx.query(
      `insert into capacity_samples (sampled_at, region_name, gpu_model, delivered_gpus, healthy_gpus, reserved_gpus, active_gpus, free_gpus)
       select m.at, c.region_name, c.gpu_model, sum((c.counts ->> 'delivered_gpus')::integer), sum((c.counts ->> 'healthy_gpus')::integer),
         sum((c.counts ->> 'reserved_gpus')::integer), sum((c.counts ->> 'active_gpus')::integer), sum((c.counts ->> 'free_gpus')::integer)
       from (select date_bin(make_interval(secs => $1), clock_timestamp(), 'epoch') as at) m join capacity_counters c
         on c.counted_at > clock_timestamp() - ${COUNTED_WITHIN}
       where not exists (select from capacity_samples s where s.sampled_at = m.at)
       group by 1, 2, 3 on conflict do nothing`,
      [SAMPLE_STEP_S],
    )
  ).rowCount;

export const deleteOldSamples = async (tx: Tx): Promise<number> =>
  (
    await tx.query('delete from capacity_samples where sampled_at < clock_timestamp() - make_interval(days => $1)', [
      SAMPLES_KEPT_DAYS,
    ])
  ).rowCount;

export type CapacitySampleRow = Readonly<CapacitySamples>;

/**
 * One sample for every `step_s` since then, the last of each, oldest first. All series of a sample are written
 * together, so the times are found first, by one index lookup each, and a long span reads no more than a short one.
 */
export const listCapacitySamples = async (
  reader: Reader,
  wanted: Readonly<{ since: string; step_s: number; region_name: string | null; gpu_model: string | null }>,
): Promise<CapacitySampleRow[]> =>
  (
    await reader.query<CapacitySampleRow>(
      `select s.sampled_at, s.region_name, s.gpu_model, s.delivered_gpus, s.healthy_gpus, s.reserved_gpus, s.active_gpus, s.free_gpus
       from generate_series(date_bin(make_interval(secs => $2), $1::timestamptz, 'epoch'), clock_timestamp(), make_interval(secs => $2)) b (at)
       cross join lateral (select x.sampled_at from capacity_samples x where x.sampled_at >= greatest(b.at, $1::timestamptz)
         and x.sampled_at < b.at + make_interval(secs => $2) order by x.sampled_at desc limit 1) last
       join capacity_samples s on s.sampled_at = last.sampled_at
       where ($3::text is null or s.region_name = $3) and ($4::text is null or s.gpu_model = $4)
       order by s.sampled_at, s.region_name, s.gpu_model`,
      [wanted.since, wanted.step_s, wanted.region_name, wanted.gpu_model],
    )
  ).rows;
