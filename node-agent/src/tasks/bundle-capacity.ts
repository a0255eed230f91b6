/**
 * CPUs and memory of a bundle. Both come from the NUMA nodes of its GPUs, in equal shares; with a weaker NUMA policy, memory
 * may be anywhere on the host. If the host has huge pages, the VM uses them unless its profile says otherwise. Pages
 * reserved for a VM that does not run yet count as used.
 */
import { type BundlePlan, countCpus, type TaskParams } from '@gpuaas/contract/node';
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

const SIZES_KIB = { '2M': 2048, '1G': 1024 * 1024 } as const;

/** The size that the profile names, or the largest that all the nodes have; null if one of them has none. */
export const chooseHugepages = (
  live: LiveHost,
  nodes: readonly number[],
  { memory_mib: memoryMib, hugepages = 'auto' }: Pick<BundleRequest, 'memory_mib' | 'hugepages'>,
): Hugepages => {
  if (hugepages === 'none') return null;
  if (hugepages !== 'auto') return pagesFor(SIZES_KIB[hugepages], memoryMib);
  const sizes = [...new Set(live.system.hugepages.map((pages) => pages.size_kib))].toSorted((a, b) => b - a);
  const size = sizes.find((each) => nodes.every((node) => pagesOf(live, node, each).total > 0));
  return size === undefined ? null : pagesFor(size, memoryMib);
};

const pagesFor = (size_kib: number, memoryMib: number): Hugepages => ({
  size_kib,
  count: Math.ceil((memoryMib * 1024) / size_kib),
});

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

/** Of one NUMA node. Pages that the host has set aside are no ordinary memory. */
const ordinaryMib = (live: LiveHost, node: number): number => {
  const reserved = live.system.hugepages.filter((pages) => pages.node === node);
  const total = live.system.numa.find((numa) => numa.node === node)?.memory_mib ?? 0;
  return total - Math.floor(reserved.reduce((sum, pages) => sum + pages.total * pages.size_kib, 0) / 1024);
};

const memoryProblems = (given: Parameters<typeof capacityProblems>[0]): readonly Problem[] => {
  const { live, request, numaNodes, others } = given;
  const pages = chooseHugepages(live, numaNodes, request);
  const all = live.system.numa.map(({ node }) => node);
  const runs = new Set(
    live.domains.flatMap((domain) => (domain.state === 'running' ? (domain.allocation_id ?? []) : [])),
  );
  // A VM without nodes of its own may have its memory on any.
  const nodesOf = ({ plan }: Lease): readonly number[] => (plan.numa_nodes.length === 0 ? all : plan.numa_nodes);
  const freeOn = (node: number): number => {
    const here = others.filter((lease) => nodesOf(lease).includes(node));
    if (pages !== null) {
      const promised = here
        .filter((lease) => !runs.has(lease.allocation_id) && lease.plan.hugepages?.size_kib === pages.size_kib)
        .reduce((sum, lease) => sum + shareOf(lease.plan.hugepages?.count ?? 0, nodesOf(lease)), 0);
      return pagesOf(live, node, pages.size_kib).free - promised;
    }
    const used = here
      .filter((lease) => lease.plan.hugepages === null)
      .reduce((sum, lease) => sum + shareOf(lease.plan.memory_mib, nodesOf(lease)), 0);
    return ordinaryMib(live, node) - used;
  };
  const [count, has, need] =
    pages === null
      ? [request.memory_mib, 'MiB left', 'MiB needed']
      : [pages.count, `free pages of ${pages.size_kib} KiB`, 'needed'];
  const problem = (where: string, free: number, needed: number): readonly Problem[] =>
    free >= needed ? [] : [noSpace(`${where} has ${Math.max(0, free)} ${has}, ${needed} ${need}`)];
  if ((request.numa_policy ?? 'strict') !== 'strict')
    return problem(
      'the host',
      Math.max(
        0,
        all.reduce((sum, node) => sum + Math.max(0, freeOn(node)), 0),
      ),
      count,
    );
  return numaNodes.flatMap((node) => problem(`NUMA node ${node}`, freeOn(node), shareOf(count, numaNodes)));
};
