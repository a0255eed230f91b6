/**
 * Token buckets, one per caller, in this process: a caller may burst to its allowance per minute and then continues at
 * the steady rate. Replicas count separately, so the limit of a deployment is the limit times its replicas.
 */
import { AppError } from '../errors.ts';

export type RateLimit = Readonly<{
  /** Seconds until the caller may retry, or 0 when the request is allowed. */
  take(caller: string, nowMs: number): number;
  /** The same result without using the allowance. */
  look(caller: string, nowMs: number): number;
}>;

/** Throws unless the result of a limit is 0. */
export const refuseFor = (waitS: number, sentence = `Too many requests; wait ${waitS} seconds.`): void => {
  if (waitS > 0) throw new AppError('rate_limited', sentence, { retry_after_s: waitS });
};

/**
 * The holder of one IPv6 address has the 2^64 neighbors too, so they count as one; an IPv4 address in IPv6 form is
 * itself.
 */
export const addressBlock = (ip: string): string => {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1];
  if (mapped !== undefined || !ip.includes(':')) return mapped ?? ip;
  const [head = '', tail] = ip.split('%')[0]?.split('::') ?? [];
  const groups = head === '' ? [] : head.split(':');
  const behind = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - groups.length - behind.length)).fill('0');
  const full = [...groups, ...zeros, ...behind].slice(0, 4);
  return `${full.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
};

type Bucket = { tokens: number; at: number };
export const CALLERS_MAX = 50_000;

export const createRateLimit = (perMinute: number): RateLimit => {
  const buckets = new Map<string, Bucket>();
  const perMs = perMinute / 60_000;
  const refill = (bucket: Bucket, nowMs: number): Bucket => {
    bucket.tokens = Math.min(perMinute, bucket.tokens + Math.max(0, nowMs - bucket.at) * perMs);
    bucket.at = nowMs;
    return bucket;
  };
  /** Memory is bounded. A flood of new callers cannot give a caller that keeps asking a full bucket. */
  const evictOldest = (): void => {
    for (const oldest of buckets.keys()) {
      buckets.delete(oldest);
      return;
    }
  };
  const waitS = ({ tokens }: Bucket): number => (tokens >= 1 ? 0 : Math.ceil((1 - tokens) / perMs / 1000));
  return {
    take: (caller, nowMs) => {
      let bucket = buckets.get(caller);
      if (bucket === undefined) {
        if (buckets.size >= CALLERS_MAX) evictOldest();
        bucket = { tokens: perMinute, at: nowMs };
      }
      // Behind all others, so the first is the one that was used least recently.
      buckets.delete(caller);
      buckets.set(caller, bucket);
      const wait = waitS(refill(bucket, nowMs));
      if (wait === 0) bucket.tokens -= 1;
      return wait;
    },
    look: (caller, nowMs) => {
      const bucket = buckets.get(caller);
      return bucket === undefined ? 0 : waitS(refill(bucket, nowMs));
    },
  };
};
