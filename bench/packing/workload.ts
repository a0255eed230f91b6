/**
 * The arrivals: by GPU-hours 18% request one GPU, 3% two, 17% four, 48% eight, and 14% more than a node, which arrive
 * as whole nodes at the same instant. Durations are lognormal with mean 1 and sigma 1.8, the same for every size, so
 * that by count one GPU dominates. The random generator is our own, so that every host sees the same arrivals.
 */

export const NODES = 128;
export const GPUS_PER_NODE = 8;

const SIGMA = 1.8;
const SHARES: readonly Readonly<{ gpus: number; share: number; nodes: number }>[] = [
  { gpus: 1, share: 0.18, nodes: 1 },
  { gpus: 2, share: 0.03, nodes: 1 },
  { gpus: 4, share: 0.17, nodes: 1 },
  { gpus: 8, share: 0.48, nodes: 1 },
  { gpus: 8, share: 0.14, nodes: 4 },
];

export type Job = Readonly<{ at: number; gpus: number; duration: number }>;

/** mulberry32: uniform in [0, 1). */
export const chance = (seed: number): (() => number) => {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

export const arrivals = (wish: Readonly<{ seed: number; load: number; horizon: number }>): readonly Job[] => {
  const next = chance(wish.seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  const classes = SHARES.map(({ gpus, share, nodes }) => ({ gpus, nodes, frequency: share / (gpus * nodes) }));
  const frequency = classes.reduce((sum, each) => sum + each.frequency, 0);
  // GPUs per arrival are 1 / frequency, because the shares add up to one.
  const rate = wish.load * NODES * GPUS_PER_NODE * frequency;
  const jobs: Job[] = [];
  for (let at = -Math.log(1 - next()) / rate; at < wish.horizon; at += -Math.log(1 - next()) / rate) {
    let drawn = next() * frequency;
    const chosen = classes.find((each) => {
      drawn -= each.frequency;
      return drawn < 0;
    });
    const { gpus, nodes } = chosen ?? { gpus: 1, nodes: 1 };
    const duration = Math.exp(-(SIGMA ** 2) / 2 + SIGMA * normal());
    for (let node = 0; node < nodes; node += 1) jobs.push({ at, gpus, duration });
  }
  return jobs;
};
