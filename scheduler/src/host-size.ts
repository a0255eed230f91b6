/**
 * Whether a host is large enough for the VM of a slice. The agent takes CPUs and memory from the NUMA nodes of the GPUs in
 * equal shares, and memory from huge pages where the host has them. The set of GPUs is not chosen yet, so the VM must fit
 * on as few NUMA nodes as its GPUs can be on. VMs that run beside it are not counted.
 */
import type { HostSize, VmSize } from './model.ts';

/** What the host lacks, as a phrase; null when the VM fits. */
export const hostShortfall = (host: HostSize, gpuCount: number, vm: VmSize): string | null => {
  const nodes = Math.min(host.numa_nodes, Math.ceil((gpuCount * host.numa_nodes) / host.gpu_count));
  const share = (total: number): number => Math.floor((total * nodes) / host.numa_nodes);
  const cpus = share(host.vcpu_count);
  const from = nodes < host.numa_nodes ? `${nodes} of ${host.numa_nodes} NUMA nodes` : 'host';
  if (vm.vcpu_count > cpus) return `${from} with ${cpus} CPUs, ${vm.vcpu_count} needed`;
  const memory = share(host.hugepages_mib > 0 ? host.hugepages_mib : host.memory_mib);
  const kind = host.hugepages_mib > 0 ? 'MiB of huge pages' : 'MiB of memory';
  return vm.memory_mib > memory ? `${from} with ${memory} ${kind}, ${vm.memory_mib} needed` : null;
};
