/** The method every comparison shares: warm both up, alternate slices, and let the median pair speak. */
export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/**
 * What a quarter of the runs stay below. Other work on the machine only ever adds time, by seconds where disks are concerned, so
 * the runs that it disturbed least say what the work itself costs; both sides are judged by theirs.
 */
export const lowerQuarter = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 4)] ?? 0;

export const round = (value: number): number => Math.round(value * 1000) / 1000;

export type Pairs = Readonly<{ ratio: number; ours: number; reference: number; pairs: number }>;

/** `of`: what stands for a side's runs; not the median of the pairs then, but the one of both. Which side goes first changes with every pair, so that neither always follows the other's mess. */
export const interleave = async (
  ours: () => Promise<number>,
  reference: () => Promise<number>,
  pairs: number,
  { warm = true, of = median }: Readonly<{ warm?: boolean; of?(values: readonly number[]): number }> = {},
): Promise<Pairs> => {
  if (warm) {
    await ours();
    await reference();
  }
  const measured: { ours: number; reference: number }[] = [];
  for (let n = 0; n < pairs; n++) {
    if (n % 2 === 0) measured.push({ ours: await ours(), reference: await reference() });
    else {
      const first = await reference();
      measured.push({ reference: first, ours: await ours() });
    }
  }
  return {
    ratio: round(
      of === median
        ? median(measured.map((pair) => pair.ours / pair.reference))
        : of(measured.map((pair) => pair.ours)) / of(measured.map((pair) => pair.reference)),
    ),
    ours: of(measured.map((pair) => pair.ours)),
    reference: of(measured.map((pair) => pair.reference)),
    pairs,
  };
};

/** Milliseconds of the median call, one at a time. */
export const p50 = async (calls: number, call: () => Promise<unknown>): Promise<number> => {
  const times: number[] = [];
  for (let n = 0; n < calls; n++) {
    const startedAt = performance.now();
    await call();
    times.push(performance.now() - startedAt);
  }
  return median(times);
};
