/**
 * Whether a host is large enough for the VM of a slice. The agent takes CPUs and memory from the NUMA nodes of the GPUs in
 * equal shares, with a weaker NUMA policy also from others, and memory from the pages that the profile names. The set of
 * GPUs is not chosen yet, so the VM must fit on as few NUMA nodes as its GPUs can be on. VMs that run beside it are not
 * counted.
 */
import type { HostSize, VmSize } from './model.ts';

/** The memory of the whole host that the VM could use, and its name. */
const memoryOf = (
  host: HostSize,
  hugepages: NonNullable<VmSize['hugepages']>,
): readonly [mib: number, kind: string] => {
  if (hugepages === 'auto' || host.pages_mib == null)
    return host.hugepages_mib > 0
      ? [host.hugepages_mib, 'MiB of huge pages']
      : [host.memory_mib - (host.pages_mib?.reserved ?? 0), 'MiB of memory'];
  if (hugepages === 'none')
    return [host.memory_mib - host.pages_mib.reserved, 'MiB of memory that is not reserved for huge pages'];
  return [host.pages_mib[hugepages], `MiB of ${hugepages} huge pages`];
};

/** What the host lacks, as a phrase; null when the VM fits. */
export const hostShortfall = (host: HostSize, gpuCount: number, vm: VmSize): string | null => {
  const policy = vm.numa_policy ?? 'strict';
  const ofGpus = Math.min(host.numa_nodes, Math.ceil((gpuCount * host.numa_nodes) / host.gpu_count));
  const share = (total: number, nodes: number): number => Math.floor((total * nodes) / host.numa_nodes);
  const from = (nodes: number): string =>
    nodes < host.numa_nodes ? `${nodes} of ${host.numa_nodes} NUMA nodes` : 'host';
  const cpuNodes = policy === 'none' ? host.numa_nodes : ofGpus;
  const cpus = share(host.vcpu_count, cpuNodes);
  if (vm.vcpu_count > cpus) return `${from(cpuNodes)} with ${cpus} CPUs, ${vm.vcpu_count} needed`;
  const memoryNodes = policy === 'strict' ? ofGpus : host.numa_nodes;
  const [total, kind] = memoryOf(host, vm.hugepages ?? 'auto');
  const memory = share(total, memoryNodes);
  return vm.memory_mib > memory ? `${from(memoryNodes)} with ${memory} ${kind}, ${vm.memory_mib} needed` : null;
};
