/** The cost of reading capacity in a large fleet compared with a small one: the users' endpoint reads counters only. */
import type { Database } from '../server/src/db/client.ts';
import { countCapacity } from '../server/src/reconcilers/count-capacity.ts';
import { list } from '../server/src/services/capacity.ts';
import { interleave, p50, round } from './pairs.ts';
import { contextFor, PRINCIPAL } from './placement/context.ts';
import { FLEET_NODES, SMALL_FLEET_NODES, tenant, withFleet } from './placement/fleet.ts';
import type { Bench } from './types.ts';

const PAIRS = 9;
const READS = 400;

const look = async (database: Database): Promise<void> => {
  const bound = tenant(0);
  const ctx = contextFor(database, bound, 'capacityList');
  const scope = { tenant_id: bound.organization_id, principal_id: PRINCIPAL.id };
  const page = await list(
    { ...ctx, read: (fn) => database.read(scope, fn) },
    { params: { project_id: bound.project_id }, query: {}, body: {}, if_match: undefined, last_event_id: undefined },
  );
  if (!page.items.some((item) => item.available_gpus > 0)) throw new Error('the fleet was not counted');
};

export const capacityReadBench: Bench = {
  name: 'capacity-read',
  run: () =>
    withFleet(FLEET_NODES, ({ database: large }) =>
      withFleet(SMALL_FLEET_NODES, async ({ database: small }) => {
        for (const database of [large, small]) await countCapacity({ database });
        const result = await interleave(
          () => p50(READS, () => look(large)),
          () => p50(READS, () => look(small)),
          PAIRS,
        );
        return {
          name: 'capacity-read',
          ratio: result.ratio,
          goal: '<=2',
          reference: `${round(result.reference)} ms median read in a fleet of ${SMALL_FLEET_NODES} nodes`,
          ours: `${round(result.ours)} ms in a fleet of ${FLEET_NODES}`,
          pairs: result.pairs,
        };
      }),
    ),
};
