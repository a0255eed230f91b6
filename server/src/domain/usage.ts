/**
 * The cost of usage: GPUs x price per GPU-hour x seconds / 3600 in minor units, rounded half up once, when the record
 * closes. Until then the same formula gives the cost so far. Integers throughout: no float ever holds money.
 */
const MICROS_PER_HOUR = 3_600_000_000n;

export type Usage = Readonly<{ gpu_count: number; gpu_hourly_price_minor: number }>;

export const usageCost = (usage: Usage, micros: bigint): bigint => {
  const product = BigInt(usage.gpu_count) * BigInt(usage.gpu_hourly_price_minor) * (micros > 0n ? micros : 0n);
  return (2n * product + MICROS_PER_HOUR) / (2n * MICROS_PER_HOUR);
};

export type UsageSoFar = Usage & Readonly<{ started_at: string; cost_minor: number | null }>;

/** A closed record has its final cost; an open one, the cost if it closed now. */
export const costSoFar = (record: UsageSoFar, nowMs: number): number =>
  record.cost_minor ?? Number(usageCost(record, BigInt(Math.trunc(nowMs) - Date.parse(record.started_at)) * 1_000n));

/** Start of the month, in UTC. */
export const monthStart = (nowMs: number): number => {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
};

/**
 * The part of a record's cost after a moment: the total less the cost up to then. Both are rounded like every cost, so
 * the months of a record add up to its cost to the cent. A record that started after the moment counts in full.
 */
export const costSince = (record: UsageSoFar, sinceMs: number, nowMs: number): number => {
  const before = costSoFar({ ...record, cost_minor: null }, sinceMs);
  return Math.max(0, costSoFar(record, nowMs) - before);
};
