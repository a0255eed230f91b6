/**
 * The cost of a launch from socket to socket: creates per second through the whole API compared with the same pgbench
 * call.
 */
import { randomUUID } from 'node:crypto';
import autocannon from 'autocannon';
import { startApi, stopChild } from './child.ts';
import { interleave } from './pairs.ts';
import { FLEET_NODES, REGION, SLICE_SKU, withFleet } from './placement/fleet.ts';
import { CLIENTS, GPUS, lacksPgbench, pgbench, prepareReference } from './placement/reference.ts';
import { addMembers, type Member } from './placement/tenants.ts';
import type { Bench } from './types.ts';

const SLICE_S = 2;
const PAIRS = 9;

const createLoad = async (url: string, members: readonly Member[]): Promise<number> => {
  let calls = 0;
  const result = await autocannon({
    url,
    connections: CLIENTS,
    duration: SLICE_S,
    requests: [
      {
        method: 'POST',
        setupRequest: (request) => {
          const member = members[calls++ % members.length];
          const key = randomUUID();
          return {
            ...request,
            path: `/api/v1/projects/${member?.project_id}/allocations`,
            headers: {
              authorization: `Bearer ${member?.token}`,
              'content-type': 'application/json',
              'idempotency-key': key,
            },
            body: JSON.stringify({ name: `a-${key}`, sku_name: SLICE_SKU, region_name: REGION, gpu_count: GPUS }),
          };
        },
      },
    ],
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} refused, ${result.errors} failed of ${result.requests.total}`);
  return result.requests.average;
};

export const placementHttpBench: Bench = {
  name: 'placement-http',
  lacks: lacksPgbench,
  run: () =>
    withFleet(FLEET_NODES, async ({ database, url, dir }) => {
      const script = await prepareReference(url, dir);
      const members = await addMembers(database);
      const api = await startApi(url, dir);
      try {
        const result = await interleave(
          () => createLoad(api.url, members),
          () => pgbench(url, script, SLICE_S),
          PAIRS,
        );
        return {
          name: 'placement-http',
          ratio: result.ratio,
          goal: '>=0.50',
          reference: `${Math.round(result.reference)} transactions/s of pgbench, one prepared call that writes the same rows`,
          ours: `${Math.round(result.ours)} creates/s over HTTP, ${CLIENTS} connections, ${FLEET_NODES} nodes`,
          pairs: result.pairs,
        };
      } finally {
        await stopChild(api.child);
      }
    }),
};
