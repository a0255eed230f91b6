/** `slice.topology_discover`: host facts and the resulting candidate slots. It changes nothing on the host. */
import { expectDiscovered } from '../health/probe.ts';
import { collectFacts } from '../topology/collect.ts';
import { NO_IDS } from '../topology/device-ids.ts';

import { mapHash, topologyOf } from '../topology/topology.ts';
import type { TaskHandler } from './task.ts';
import { withinTime } from './task-locks.ts';

export const topologyDiscover: TaskHandler<'slice.topology_discover'> = async (ctx, params) => {
  const facts = await withinTime(ctx.signal, 'reading the host', collectFacts(ctx.host, ctx.now));
  const ids = ctx.host.devices ?? NO_IDS;
  // The caller may narrow it; otherwise the site's configured IDs count.
  const accelerators = params.accelerators.length > 0 ? params.accelerators : ids.accelerators;
  const map = topologyOf(facts, { node_id: ctx.node_id, ...ids, ...params, accelerators });
  const slotDisks = map.candidates.flatMap(({ nvme_serial }) => nvme_serial ?? []);
  await expectDiscovered(ctx.state, facts, slotDisks, ids.accelerators);
  return { facts, map, map_hash: mapHash(map) };
};
