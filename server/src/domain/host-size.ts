/** What VMs can get of a host, from the facts of its discovery. The agent counts in the same way when it leases a bundle. */
import type { SystemFacts } from '@gpuaas/contract/node';

/** The number of CPUs in a list such as `0-55,112-167`. */
const countCpus = (list: string): number =>
  list
    .split(',')
    .filter((part) => part !== '')
    .reduce((sum, part) => {
      const [first = 0, last = first] = part.split('-').map(Number);
      return sum + last - first + 1;
    }, 0);

/** Pages of the largest size that every NUMA node has: the agent uses no others. */
const hugepagesMib = ({ numa, hugepages }: Pick<SystemFacts, 'numa' | 'hugepages'>): number => {
  const sizes = [...new Set(hugepages.map(({ size_kib }) => size_kib))].toSorted((a, b) => b - a);
  const of = (size: number) => hugepages.filter(({ size_kib, total }) => size_kib === size && total > 0);
  const size = sizes.find((each) => numa.every(({ node }) => of(each).some((pages) => pages.node === node)));
  return size === undefined ? 0 : Math.floor(of(size).reduce((sum, { total }) => sum + total * size, 0) / 1024);
};

export const hostSize = (system: Pick<SystemFacts, 'numa' | 'hugepages'>) => ({
  vcpu_count: system.numa.reduce((sum, { cpus }) => sum + countCpus(cpus), 0),
  memory_mib: system.numa.reduce((sum, { memory_mib }) => sum + memory_mib, 0),
  hugepages_mib: hugepagesMib(system),
  numa_nodes: Math.max(1, system.numa.length),
});
