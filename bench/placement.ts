/**
 * The cost of placement: creates per second compared with one prepared call of the database that writes the same rows,
 * and the time of one create in a large fleet compared with a small one.
 */
import { interleave, p50, round } from './pairs.ts';
import { createOnce, createRate } from './placement/create.ts';
import { FLEET_NODES, SMALL_FLEET_NODES, withFleet } from './placement/fleet.ts';
import { CLIENTS, GPUS, lacksPgbench, pgbench, prepareReference } from './placement/reference.ts';
import type { Bench } from './types.ts';

const SLICE_S = 2;
const PAIRS = 9;

export const placementBench: Bench = {
  name: 'placement',
  lacks: lacksPgbench,
  run: () =>
    withFleet(FLEET_NODES, async ({ database, url, dir }) => {
      const script = await prepareReference(url, dir);
      const result = await interleave(
        () => createRate(database, CLIENTS, SLICE_S, GPUS),
        () => pgbench(url, script, SLICE_S),
        PAIRS,
      );
      return {
        name: 'placement',
        ratio: result.ratio,
        goal: '>=0.60',
        reference: `${Math.round(result.reference)} transactions/s of pgbench, one prepared call that writes the same rows`,
        ours: `${Math.round(result.ours)} creates/s in process, ${CLIENTS} clients, ${FLEET_NODES} nodes`,
        pairs: result.pairs,
      };
    }),
};

export const placementScaleBench: Bench = {
  name: 'placement-scale',
  run: () =>
    withFleet(FLEET_NODES, ({ database: large }) =>
      withFleet(SMALL_FLEET_NODES, async ({ database: small }) => {
        const creates = 40;
        const result = await interleave(
          () => p50(creates, () => createOnce(large, GPUS)),
          () => p50(creates, () => createOnce(small, GPUS)),
          PAIRS,
        );
        return {
          name: 'placement-scale',
          ratio: result.ratio,
          goal: '<=1.3',
          reference: `${round(result.reference)} ms median create in a fleet of ${SMALL_FLEET_NODES} nodes`,
          ours: `${round(result.ours)} ms in a fleet of ${FLEET_NODES}`,
          pairs: result.pairs,
        };
      }),
    ),
};
