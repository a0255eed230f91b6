/** Huge pages per NUMA node: what the profile reserves, less what running guests hold. */
import type { BundlePlan } from '@gpuaas/contract/node';
import { HostError } from '../host.ts';
import type { Core } from './core.ts';

const isStrict = (plan: BundlePlan): boolean => (plan.numa_policy ?? 'strict') === 'strict';

/** A guest takes its pages from its nodes in equal parts; without a strict policy, what they lack comes from others. */
const take = (free: ReadonlyMap<number, number>, plan: BundlePlan): ReadonlyMap<number, number> => {
  const left = new Map(free);
  let rest = plan.hugepages?.count ?? 0;
  const own = Math.ceil(rest / Math.max(1, plan.numa_nodes.length));
  const takeFrom = (node: number, wanted: number): void => {
    const there = left.get(node) ?? 0;
    const taken = Math.min(wanted, rest, isStrict(plan) ? wanted : Math.max(0, there));
    left.set(node, there - taken);
    rest -= taken;
  };
  for (const node of plan.numa_nodes) takeFrom(node, own);
  if (!isStrict(plan)) for (const node of free.keys()) takeFrom(node, rest);
  return left;
};

export const hugepagesOf = (core: Core) => {
  const { size_kib, per_node } = core.profile.hugepages;
  const running = core.store.read().domains.filter(({ state }) => state === 'running');
  const isGone = core.fault('hugepages_gone') !== undefined;
  const free = running.reduce<ReadonlyMap<number, number>>(
    (left, { plan }) => (plan?.hugepages == null ? left : take(left, plan)),
    new Map(core.profile.numa.map(({ node }) => [node, per_node])),
  );
  return [...free].map(([node, pages]) => ({
    node,
    size_kib,
    total: per_node,
    free: isGone ? 0 : Math.max(0, pages),
  }));
};

export const refuseWithoutPages = (core: Core, plan: BundlePlan): void => {
  if (plan.hugepages === null) return;
  const { size_kib, count } = plan.hugepages;
  const pages = hugepagesOf(core).filter((one) => one.size_kib === size_kib);
  const refuse = (where: string, free: number, need: number): void => {
    if (free < need) throw new HostError('no_space', `${where} has ${free} huge pages free; ${need} are needed.`);
  };
  if (!isStrict(plan)) {
    refuse(
      'The host',
      pages.reduce((sum, { free }) => sum + free, 0),
      count,
    );
    return;
  }
  for (const node of plan.numa_nodes)
    refuse(
      `NUMA node ${node}`,
      pages.find((one) => one.node === node)?.free ?? 0,
      Math.ceil(count / plan.numa_nodes.length),
    );
};
