/**
 * Launch and release compared with Slurm's allocate and cancel, on the same host in the same run: with the same work,
 * where its controller allocates two GPUs of a node, and with its fastest mode, where it allocates whole nodes and
 * knows no GPUs. Slurm keeps its state in memory and saves it from time to time; ours is on disk, twice, before a pair
 * is counted. The third line compares with the database's own limit for our rows, without any decision.
 */
import { interleave, round } from './pairs.ts';
import { type Fleet, withFleet } from './placement/fleet.ts';
import { CLIENTS, GPUS, lacksPgbench, pgbench } from './placement/reference.ts';
import { type Flavour, NODES } from './slurm/config.ts';
import { withController } from './slurm/controller.ts';
import { lacksSlurm } from './slurm/install.ts';
import { prepareLimit } from './slurm/limit.ts';
import { countHeld, pairRate } from './slurm/release.ts';
import type { Bench, Measurement } from './types.ts';

const SLICE_S = 2;
const PAIRS = 9;
const SLURM_CLIENTS = 4;

const LIKE_FOR_LIKE: Flavour = { select: 'cons_tres', gpus: { per_node: 8, asked: GPUS } };
const FASTEST: Flavour = { select: 'linear', gpus: null };

const slurmWords = (rate: number, { select, gpus }: Flavour): string => {
  const asked = gpus === null ? 'whole nodes, no GRES' : `${gpus.asked} GPUs of Gres=gpu:8`;
  return `${round(rate)} allocate and cancel/s of Slurm 22.05, select/${select}, ${asked}, ${SLURM_CLIENTS} clients, ${NODES} nodes`;
};

type Reference = Readonly<{
  /** Pairs per second of one slice. */
  rate: () => Promise<number>;
  words: (rate: number) => string;
}>;
/** Starts the other side, and stops it after the measurement. */
type Other = (fleet: Fleet, measure: (reference: Reference) => Promise<Measurement>) => Promise<Measurement>;

const slurm =
  (flavour: Flavour): Other =>
  (_, measure) =>
    withController(flavour, (slurmRate) =>
      measure({ rate: () => slurmRate(SLURM_CLIENTS, SLICE_S), words: (rate) => slurmWords(rate, flavour) }),
    );

const bareRows: Other = async ({ url, dir }, measure) => {
  const script = await prepareLimit(url, dir, NODES);
  return measure({
    rate: () => pgbench(url, script, SLICE_S),
    words: (rate) => `${round(rate)} pairs of prepared calls/s of pgbench that write the same rows, ${CLIENTS} clients`,
  });
};

/** All are parts of the one benchmark, so they share its name. */
const part = (name: string, goal: string | null, lacks: NonNullable<Bench['lacks']>, other: Other): Bench => ({
  name: 'placement-vs-slurm',
  lacks,
  run: () =>
    withFleet(NODES, (fleet) =>
      other(fleet, async (reference) => {
        const rate = () => pairRate(fleet.database, CLIENTS, SLICE_S, GPUS);
        const result = await interleave(rate, reference.rate, PAIRS);
        const held = await countHeld(fleet.database);
        if (held !== 0) throw new Error(`${held} rows still say that something is held`);
        return {
          name,
          ratio: result.ratio,
          goal,
          reference: reference.words(result.reference),
          ours: `${round(result.ours)} launch and proven release/s in process, ${GPUS} GPUs, ${CLIENTS} clients, ${NODES} nodes`,
          pairs: result.pairs,
        };
      }),
    ),
});

const lacksEither = async () => lacksPgbench() || lacksSlurm();

export const slurmBenches: readonly Bench[] = [
  part('placement-vs-slurm', '>=1.2', lacksEither, slurm(LIKE_FOR_LIKE)),
  part('placement-vs-slurm-fastest', null, lacksEither, slurm(FASTEST)),
  part('placement-vs-slurm-limit', '>=0.60', lacksPgbench, bareRows),
];
