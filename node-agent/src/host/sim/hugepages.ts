/** Huge pages per NUMA node: what the profile reserves, less what running guests hold. */
import type { BundlePlan } from '@gpuaas/contract/node';
import { HostError } from '../host.ts';
import type { Core } from './core.ts';

/** A guest takes its pages from its nodes in equal parts. */
const takenOn = (plan: BundlePlan | null, node: number): number => {
  if (plan?.hugepages == null || !plan.numa_nodes.includes(node)) return 0;
  return Math.ceil(plan.hugepages.count / plan.numa_nodes.length);
};

export const hugepagesOf = (core: Core) => {
  const { size_kib, per_node } = core.profile.hugepages;
  const running = core.store.read().domains.filter(({ state }) => state === 'running');
  const isGone = core.fault('hugepages_gone') !== undefined;
  return core.profile.numa.map(({ node }) => {
    const taken = running.reduce((sum, { plan }) => sum + takenOn(plan, node), 0);
    return { node, size_kib, total: per_node, free: isGone ? 0 : Math.max(0, per_node - taken) };
  });
};

export const refuseWithoutPages = (core: Core, plan: BundlePlan): void => {
  if (plan.hugepages === null) return;
  const pages = hugepagesOf(core);
  for (const node of plan.numa_nodes) {
    const there = pages.find((one) => one.node === node && one.size_kib === plan.hugepages?.size_kib);
    const need = takenOn(plan, node);
    if ((there?.free ?? 0) < need) {
      throw new HostError('no_space', `NUMA node ${node} has ${there?.free ?? 0} huge pages free; ${need} are needed.`);
    }
  }
};
