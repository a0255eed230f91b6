/** The method of every comparison: warm both up, alternate slices, and use the median pair. */
export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/**
 * The lower quartile of the runs. Other work on the host only adds time, by seconds where disks are concerned, so the
 * least disturbed runs show the cost of the work itself. Both sides use theirs.
 */
export const lowerQuarter = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 4)] ?? 0;

export const round = (value: number): number => Math.round(value * 1000) / 1000;

export type Pairs = Readonly<{ ratio: number; ours: number; reference: number; pairs: number }>;

/**
 * `of`: the statistic of a side's runs; the ratio then compares both statistics instead of taking the median pair. The
 * first side alternates with every pair, so that neither always runs after the other.
 */
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

/** Milliseconds of the median call, without concurrency. */
export const p50 = async (calls: number, call: () => Promise<unknown>): Promise<number> => {
  const times: number[] = [];
  for (let n = 0; n < calls; n++) {
    const startedAt = performance.now();
    await call();
    times.push(performance.now() - startedAt);
  }
  return median(times);
};
