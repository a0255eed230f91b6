/** `slice.topology_discover`: the facts of the host and the candidate slots they make. The host is not changed by looking. */
import { expectDiscovered } from '../health/probe.ts';
import { collectFacts } from '../topology/collect.ts';
import { mapHash, topologyOf } from '../topology/topology.ts';
import { withinTime } from './exclusive.ts';
import type { TaskHandler } from './task.ts';

export const topologyDiscover: TaskHandler<'slice.topology_discover'> = async (ctx, params) => {
  const facts = await withinTime(ctx.signal, 'reading the host', collectFacts(ctx.host, ctx.now));
  await expectDiscovered(ctx.state, facts);
  const map = topologyOf(facts, { node_id: ctx.node_id, ...params });
  return { facts, map, map_hash: mapHash(map) };
};
