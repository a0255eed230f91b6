/**
 * Packing quality of placement, as a deterministic simulation: Poisson arrivals of 1, 2, 4 and 8 GPUs with long-tailed
 * durations on 128 nodes of 8 GPUs; a job that does not fit is lost. The pool without fragmentation accepts a job
 * whenever enough GPUs are free in total; since the sizes divide each other, free repacking could serve the same jobs.
 * Every policy sees the same arrivals. Ours is the scheduler itself: the first rows of the score-key index, then
 * `place()`.
 */
import { firstFit, POLICIES, scheduler } from './packing/policies.ts';
import { type Served, simulate, simulatePool } from './packing/simulate.ts';
import { arrivals, NODES } from './packing/workload.ts';
import type { Bench, Measurement } from './types.ts';

const SEEDS = 12;
/** In mean durations; the first part is warm-up. */
const WARM_UP = 20;
const HORIZON = 60;

type Runs = Readonly<{ pool: readonly Served[]; ours: readonly Served[]; first: readonly Served[]; others: string }>;

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const show = (value: number): string => value.toFixed(3);

const runAll = (load: number): Runs => {
  const pool: Served[] = [];
  const byPolicy = new Map<string, Served[]>();
  const all = { ours: scheduler, 'first-fit': firstFit, ...POLICIES };
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const window = { from: WARM_UP, to: HORIZON };
    const jobs = arrivals({ seed, load, horizon: HORIZON });
    pool.push(simulatePool(jobs, window));
    for (const [name, policy] of Object.entries(all)) {
      const served = byPolicy.get(name) ?? [];
      served.push(simulate(jobs, window, policy()));
      byPolicy.set(name, served);
    }
  }
  const line = ([name, runs]: readonly [string, readonly Served[]]): string =>
    `${name} ${show(mean(ratios(runs, pool)))} served, ${mean(runs.map((run) => run.emptyNodes)).toFixed(1)} empty`;
  return {
    pool,
    ours: byPolicy.get('ours') ?? [],
    first: byPolicy.get('first-fit') ?? [],
    others: [...byPolicy, ['free repacking', pool] as const].map(line).join('; '),
  };
};

const ratios = (runs: readonly Served[], pool: readonly Served[]): readonly number[] =>
  runs.map((run, seed) => run.gpuTime / (pool[seed]?.gpuTime ?? Number.NaN));

const known = new Map<number, Runs>();

/** Deterministic, so one simulation per load serves all figures. */
const runsAt = (load: number): Runs => {
  const runs = known.get(load) ?? runAll(load);
  known.set(load, runs);
  return runs;
};

type Verdict = Readonly<Pick<Measurement, 'ratio' | 'goal' | 'ours'>>;

/** All three are parts of the one benchmark, so they share its name. */
const part = (name: string, load: number, judge: (runs: Runs) => Verdict): Bench => ({
  name: 'packing',
  run: async () => {
    const runs = runsAt(load);
    const reference = `${NODES} nodes, load ${load}, ${SEEDS} seeds: ${runs.others}`;
    return { name, ...judge(runs), reference, pairs: SEEDS };
  },
});

const servedTime = ({ ours, pool }: Runs): Verdict => {
  const ratio = mean(ratios(ours, pool));
  return { ratio, goal: '>=0.975', ours: `${show(ratio)} of the GPU time that a pool without fragmentation serves` };
};

const aboveFirstFit = ({ ours, first }: Runs): Verdict => {
  const better = ours.filter((run, seed) => run.gpuTime > (first[seed]?.gpuTime ?? 0)).length;
  return { ratio: better / SEEDS, goal: '>=0.8333', ours: `serves more than first-fit on ${better} of ${SEEDS} seeds` };
};

/** Empty nodes that remain for bare metal. */
const emptyNodes = ({ ours, first }: Runs): Verdict => {
  const mine = mean(ours.map((run) => run.emptyNodes));
  const theirs = mean(first.map((run) => run.emptyNodes));
  return {
    ratio: mine / theirs,
    goal: '>=1.05',
    ours: `${mine.toFixed(2)} nodes empty on average, first-fit ${theirs.toFixed(2)}`,
  };
};

export const packingBenches: readonly Bench[] = [
  part('packing', 1.1, servedTime),
  part('packing-above-first-fit', 1.1, aboveFirstFit),
  part('packing-empty-nodes', 0.95, emptyNodes),
];
