/**
 * Pseudo-random numbers that are the same in every run: a fleet that changes at each start cannot be tested or
 * discussed.
 */
export type Random = Readonly<{
  /** From 0 up to, and without, 1. */
  next(): number;
  /** From 0 up to, and without, `below`. */
  whole(below: number): number;
  pick<T>(items: readonly [T, ...T[]]): T;
  hex(digits: number): string;
}>;

export const createRandom = (seed: number): Random => {
  let a = seed >>> 0;
  const next = (): number => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const whole = (below: number): number => Math.floor(next() * below);
  return {
    next,
    whole,
    pick: (items) => items[whole(items.length)] ?? items[0],
    hex: (digits) => Array.from({ length: digits }, () => whole(16).toString(16)).join(''),
  };
};

/** A fingerprint of text: the same text gives the same digits. It is not cryptographic. */
export const digestOf = (text: string, digits = 64): string => {
  let seed = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) seed = Math.imul(seed ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return createRandom(seed).hex(digits);
};
