/**
 * CPUs and memory of a bundle. Both come from the NUMA nodes of its GPUs, in equal shares. If the host has huge pages,
 * the VM uses them, and those reserved for a VM that does not run yet count as used.
 */
import type { BundlePlan, TaskParams } from '@gpuaas/contract/node';
import type { Lease } from '../leases.ts';
import type { Problem } from './bundle-slot.ts';
import type { LiveHost } from './live-host.ts';

export type BundleRequest = TaskParams<'slice.bundle_lease'>;
type Hugepages = BundlePlan['hugepages'];

const noSpace = (message: string): Problem => ({ code: 'no_space', message });
const shareOf = (count: number, nodes: readonly number[]): number => Math.ceil(count / Math.max(1, nodes.length));

export const cpusOf = (live: LiveHost, nodes: readonly number[]): string =>
  live.system.numa
    .filter((numa) => nodes.includes(numa.node) && numa.cpus !== '')
    .map((numa) => numa.cpus)
    .join(',');

/** The number of CPUs in a list such as `0-55,112-167`. */
export const countCpus = (list: string): number =>
  list
    .split(',')
    .filter((part) => part !== '')
    .reduce((sum, part) => {
      const [first = 0, last = first] = part.split('-').map(Number);
      return sum + last - first + 1;
    }, 0);

/** The largest page size that all the nodes have; null if one of them has none. */
export const chooseHugepages = (live: LiveHost, nodes: readonly number[], memoryMib: number): Hugepages => {
  const sizes = [...new Set(live.system.hugepages.map((pages) => pages.size_kib))].toSorted((a, b) => b - a);
  const size = sizes.find((each) => nodes.every((node) => pagesOf(live, node, each).total > 0));
  return size === undefined ? null : { size_kib: size, count: Math.ceil((memoryMib * 1024) / size) };
};

const pagesOf = (live: LiveHost, node: number, size: number): Readonly<{ total: number; free: number }> =>
  live.system.hugepages.find((pages) => pages.node === node && pages.size_kib === size) ?? { total: 0, free: 0 };

export const capacityProblems = (
  given: Readonly<{ live: LiveHost; request: BundleRequest; numaNodes: readonly number[]; others: readonly Lease[] }>,
): readonly Problem[] => {
  const { live, request, numaNodes } = given;
  const cpus = countCpus(cpusOf(live, numaNodes));
  const nodes = numaNodes.join(', ');
  return [
    ...(request.vcpu_count > cpus
      ? [noSpace(`${request.vcpu_count} CPUs are requested, NUMA node ${nodes} has ${cpus}`)]
      : []),
    ...memoryProblems(given),
  ];
};

const memoryProblems = (given: Parameters<typeof capacityProblems>[0]): readonly Problem[] => {
  const { live, request, numaNodes, others } = given;
  const pages = chooseHugepages(live, numaNodes, request.memory_mib);
  const runs = new Set(
    live.domains.flatMap((domain) => (domain.state === 'running' ? (domain.allocation_id ?? []) : [])),
  );
  return numaNodes.flatMap((node) => {
    const here = others.filter((lease) => lease.plan.numa_nodes.includes(node));
    if (pages !== null) {
      const promised = here
        .filter((lease) => !runs.has(lease.allocation_id) && lease.plan.hugepages?.size_kib === pages.size_kib)
        .reduce((sum, lease) => sum + shareOf(lease.plan.hugepages?.count ?? 0, lease.plan.numa_nodes), 0);
      const free = pagesOf(live, node, pages.size_kib).free - promised;
      const needed = shareOf(pages.count, numaNodes);
      return free >= needed
        ? []
        : [noSpace(`NUMA node ${node} has ${Math.max(0, free)} free pages of ${pages.size_kib} KiB, ${needed} needed`)];
    }
    const total = live.system.numa.find((numa) => numa.node === node)?.memory_mib ?? 0;
    const used = here.reduce((sum, lease) => sum + shareOf(lease.plan.memory_mib, lease.plan.numa_nodes), 0);
    const needed = shareOf(request.memory_mib, numaNodes);
    return total - used >= needed
      ? []
      : [noSpace(`NUMA node ${node} has ${Math.max(0, total - used)} MiB left, ${needed} MiB needed`)];
  });
};
