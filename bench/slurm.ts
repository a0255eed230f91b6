/**
 * Launch and release compared with Slurm's allocate and cancel, on the same host in the same run: with the same work,
 * where its controller allocates two GPUs of a node, and with its fastest mode, where it allocates whole nodes and
 * knows no GPUs. Slurm keeps its state in memory and saves it from time to time; ours is on disk, twice, before a pair
 * is counted. The third line has no goal: it is the database's own limit for our rows, without any decision.
 */
import { interleave, round } from './pairs.ts';
import { type Fleet, withFleet } from './placement/fleet.ts';
import { CLIENTS, GPUS, lacksPgbench, pgbench } from './placement/reference.ts';
import { type Flavour, NODES } from './slurm/config.ts';
import { withController } from './slurm/controller.ts';
import { lacksSlurm } from './slurm/install.ts';
import { prepareLimit } from './slurm/limit.ts';
import { countHeld, pairRate } from './slurm/release.ts';
import type { Bench } from './types.ts';

const SLICE_S = 2;
const PAIRS = 9;
const SLURM_CLIENTS = 4;

const LIKE_FOR_LIKE: Flavour = { select: 'cons_tres', gpus: { per_node: 8, asked: GPUS } };
const FASTEST: Flavour = { select: 'linear', gpus: null };

const slurmWords = (rate: number, { select, gpus }: Flavour): string => {
  const asked = gpus === null ? 'whole nodes, no GRES' : `${gpus.asked} GPUs of Gres=gpu:8`;
  return `${round(rate)} allocate and cancel/s of Slurm 22.05, select/${select}, ${asked}, ${SLURM_CLIENTS} clients, ${NODES} nodes`;
};

type Side = Readonly<{
  /** Pairs per second of one slice. */
  rate: () => Promise<number>;
  check: () => Promise<void>;
  words: (rate: number) => string;
}>;

const product = async ({ database }: Fleet): Promise<Side> => ({
  rate: () => pairRate(database, CLIENTS, SLICE_S, GPUS),
  check: async () => {
    const held = await countHeld(database);
    if (held !== 0) throw new Error(`${held} rows still say that something is held`);
  },
  words: (rate) =>
    `${round(rate)} launch and proven release/s in process, ${GPUS} GPUs, ${CLIENTS} clients, ${NODES} nodes`,
});

const bareDatabase = async ({ url, dir }: Fleet): Promise<Side> => {
  const script = await prepareLimit(url, dir, NODES);
  return {
    rate: () => pgbench(url, script, SLICE_S),
    check: async () => {},
    words: (rate) => `${round(rate)} pairs of prepared calls/s of pgbench that write the same rows, ${CLIENTS} clients`,
  };
};

/** All are parts of the one benchmark, so they share its name. */
const part = (
  name: string,
  flavour: Flavour,
  goal: string | null,
  prepare: (fleet: Fleet) => Promise<Side> = product,
): Bench => ({
  name: 'placement-vs-slurm',
  lacks: async () => lacksPgbench() || lacksSlurm(),
  run: () =>
    withFleet(NODES, async (fleet) => {
      const side = await prepare(fleet);
      return withController(flavour, async (slurmRate) => {
        const result = await interleave(side.rate, () => slurmRate(SLURM_CLIENTS, SLICE_S), PAIRS);
        await side.check();
        return {
          name,
          ratio: result.ratio,
          goal,
          reference: slurmWords(result.reference, flavour),
          ours: side.words(result.ours),
          pairs: result.pairs,
        };
      });
    }),
});

export const slurmBenches: readonly Bench[] = [
  part('placement-vs-slurm', LIKE_FOR_LIKE, '>=20'),
  part('placement-vs-slurm-fastest', FASTEST, '>=2'),
  part('placement-vs-slurm-limit', LIKE_FOR_LIKE, null, bareDatabase),
];
