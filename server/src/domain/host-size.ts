/** What VMs can get of a host, from the facts of its discovery. The agent counts CPUs in the same way. */
import { countCpus, type SystemFacts } from '@gpuaas/contract/node';

type Memory = Pick<SystemFacts, 'numa' | 'hugepages'>;

const mibOf = (pages: SystemFacts['hugepages']): number =>
  Math.floor(pages.reduce((sum, { total, size_kib }) => sum + total * size_kib, 0) / 1024);

/** Pages of a size, which VMs can use where every NUMA node has some. */
const pagesMib = ({ numa, hugepages }: Memory, size: number): number => {
  const found = hugepages.filter(({ size_kib, total }) => size_kib === size && total > 0);
  return numa.every(({ node }) => found.some((pages) => pages.node === node)) ? mibOf(found) : 0;
};

/**
 * Of the largest size that every NUMA node has. The agent chooses among the NUMA nodes of one VM: where only these have a
 * larger size, the VM gets that one.
 */
const hugepagesMib = (memory: Memory): number => {
  const sizes = [...new Set(memory.hugepages.map(({ size_kib }) => size_kib))].toSorted((a, b) => b - a);
  return sizes.map((size) => pagesMib(memory, size)).find((mib) => mib > 0) ?? 0;
};

export const hostSize = (system: Memory) => ({
  vcpu_count: system.numa.reduce((sum, { cpus }) => sum + countCpus(cpus), 0),
  memory_mib: system.numa.reduce((sum, { memory_mib }) => sum + memory_mib, 0),
  hugepages_mib: hugepagesMib(system),
  numa_nodes: Math.max(1, system.numa.length),
  pages_mib: {
    '2M': pagesMib(system, 2048),
    '1G': pagesMib(system, 1024 * 1024),
    reserved: mibOf(system.hugepages),
  },
});
