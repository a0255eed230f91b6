/**
 * Launch and release against Slurm's allocate and cancel, on the same machine in the same run: like for like, where its
 * controller hands out two GPUs of a node, and against its fastest, where it hands out whole nodes and knows no GPUs.
 * It keeps its state in memory and writes it out now and then; ours is on disk, twice, before a pair is counted.
 */
import { interleave, round } from './pairs.ts';
import { withFleet } from './placement/fleet.ts';
import { CLIENTS, GPUS } from './placement/reference.ts';
import { type Flavour, NODES } from './slurm/config.ts';
import { withController } from './slurm/controller.ts';
import { whyNoSlurm } from './slurm/install.ts';
import { countHeld, pairRate } from './slurm/release.ts';
import type { Bench } from './types.ts';

const SLICE_S = 2;
const PAIRS = 9;
const SLURM_CLIENTS = 4;

const LIKE_FOR_LIKE: Flavour = { select: 'cons_tres', gpus: { per_node: 8, asked: GPUS } };
const FASTEST: Flavour = { select: 'linear', gpus: null };

/** Both are parts of the one benchmark, so they share its name. */
const part = (name: string, flavour: Flavour, goal: string): Bench => ({
  name: 'placement-vs-slurm',
  run: async () => {
    const reason = await whyNoSlurm();
    if (reason !== null) return { name, ratio: null, goal: null, reference: reason, ours: 'not measured', pairs: 0 };
    return withFleet(NODES, ({ database }) =>
      withController(flavour, async (slurmRate) => {
        const result = await interleave(
          () => pairRate(database, CLIENTS, SLICE_S, GPUS),
          () => slurmRate(SLURM_CLIENTS, SLICE_S),
          PAIRS,
        );
        const held = await countHeld(database);
        if (held !== 0) throw new Error(`${held} rows still say that something is held`);
        const asked = flavour.gpus === null ? 'whole nodes, no GRES' : `${flavour.gpus.asked} GPUs of Gres=gpu:8`;
        return {
          name,
          ratio: result.ratio,
          goal,
          reference: `${round(result.reference)} allocate and cancel/s of Slurm 22.05, select/${flavour.select}, ${asked}, ${SLURM_CLIENTS} clients, ${NODES} nodes`,
          ours: `${round(result.ours)} launch and proven release/s in process, ${GPUS} GPUs, ${CLIENTS} clients, ${NODES} nodes`,
          pairs: result.pairs,
        };
      }),
    );
  },
});

export const slurmBenches: readonly Bench[] = [
  part('placement-vs-slurm', LIKE_FOR_LIKE, '>=20'),
  part('placement-vs-slurm-fastest', FASTEST, '>=2'),
];
