/**
 * Whether launches survive bad hosts. On one host in ten every VM fails to start. Launches arrive in waves while
 * capacity exists, and each must become active: on its first host, or on one that it moved to. Hosts are simulated in
 * this process; launches, workflows, results and placement are those of the server. There is a figure only if every
 * invariant holds afterwards and every active launch is charged by exactly one record.
 */
import { Client } from 'pg';
import { settle, truth } from '../server/test/host.ts';
import { findViolations } from '../server/test/invariants.ts';
import { createOnce } from './placement/create.ts';
import { nodeId, withFleet } from './placement/fleet.ts';
import type { Bench } from './types.ts';

const NODES = 100;
/** Every tenth host. */
const FAILING = Array.from({ length: NODES / 10 }, (_, index) => nodeId(10 * index + 1));
const WAVES = 6;
const WAVE = 50;
const GPUS = [1, 2, 4, 2, 1, 2, 4, 2, 1, 1];
const FAILS = 'slice.vm_start';

type Tally = Readonly<{
  launches: number;
  active: number;
  moved: number;
  moves: number;
  usage: number;
  stopped: number;
}>;

const TALLY = `select count(*)::int as launches, count(*) filter (where a.state = 'active')::int as active,
    count(*) filter (where exists (select from allocation_moves m where m.allocation_id = a.id))::int as moved,
    (select count(*)::int from allocation_moves) as moves, (select count(*)::int from usage_records) as usage,
    (select count(*)::int from nodes where health = 'unhealthy') as stopped
  from allocations a`;

export const retryElsewhereBench: Bench = {
  name: 'retry-elsewhere',
  run: () =>
    withFleet(NODES, async ({ database, url }) => {
      const host = {
        node_name: 'bench-',
        answer: (task: Parameters<typeof truth>[0]) =>
          task.kind === FAILS && FAILING.includes(task.node_id) ? null : truth(task),
      };
      for (let wave = 0; wave < WAVES; wave++) {
        await Promise.all(
          Array.from({ length: WAVE }, (_, index) => createOnce(database, GPUS[index % GPUS.length] ?? 1)),
        );
        await settle(database, host);
      }
      const owner = new Client({ connectionString: url });
      await owner.connect();
      const { rows } = await owner.query<Tally>(TALLY);
      await owner.end();
      const [tally] = rows;
      if (tally === undefined) throw new Error('there is a tally');
      const violations = await findViolations(database);
      if (violations.length > 0) throw new Error(`invariants are violated: ${JSON.stringify(violations.slice(0, 3))}`);
      if (tally.usage !== tally.active) throw new Error(`${tally.active} are active, ${tally.usage} are charged`);
      const { launches, active, moved, moves, stopped } = tally;
      return {
        name: 'retry-elsewhere',
        ratio: active / launches,
        goal: '>=0.99',
        reference: `${launches} launches on ${NODES} hosts, of which ${FAILING.length} fail every start of a VM`,
        ours: `${active} active, ${moved} of them after ${moves} moves; placement stopped on ${stopped} hosts; invariants hold`,
        pairs: WAVES,
      };
    }),
};
