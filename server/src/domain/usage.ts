/**
 * What time costs: GPUs x price per GPU-hour x seconds / 3600 in minor units, rounded half up once, when the record
 * closes. Until then the same formula gives the cost so far. Whole numbers throughout: no float ever holds money.
 */
const MICROS_PER_HOUR = 3_600_000_000n;

export type Usage = Readonly<{ gpu_count: number; gpu_hourly_price_minor: number }>;

export const usageCost = (usage: Usage, micros: bigint): bigint => {
  const product = BigInt(usage.gpu_count) * BigInt(usage.gpu_hourly_price_minor) * (micros > 0n ? micros : 0n);
  return (2n * product + MICROS_PER_HOUR) / (2n * MICROS_PER_HOUR);
};

export type UsageSoFar = Usage & Readonly<{ started_at: string; cost_minor: number | null }>;

/** A closed record costs what it was closed with; an open one, what it would cost if it closed now. */
export const costSoFar = (record: UsageSoFar, nowMs: number): number =>
  record.cost_minor ?? Number(usageCost(record, BigInt(Math.trunc(nowMs) - Date.parse(record.started_at)) * 1_000n));

/** The first moment of the month, in UTC. */
export const monthStart = (nowMs: number): number => {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
};

/**
 * What of a record's cost falls after a moment: the whole, less what it would have cost had it closed then. Both are
 * rounded as every cost is, so the months that a record spans add up to its cost, to the cent; a record that began after
 * the moment counts whole, as it is listed.
 */
export const costSince = (record: UsageSoFar, sinceMs: number, nowMs: number): number => {
  const before = costSoFar({ ...record, cost_minor: null }, sinceMs);
  return Math.max(0, costSoFar(record, nowMs) - before);
};
