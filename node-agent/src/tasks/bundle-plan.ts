/**
 * The node scheduler: from approved slots and the live host to the concrete bundle, or all blockers. It is a pure
 * function, and nothing is changed before it has decided. The control plane approved an earlier state of the host; this
 * checks the current one, so a device that moved, lost its driver or got a mount is found here and not by the tenant.
 */
import type { BundlePlan } from '@gpuaas/contract/node';
import { HostError } from '../host/host.ts';
import { findConflicts, type Lease } from '../leases.ts';
import { type BundleRequest, capacityProblems, chooseHugepages, cpusOf } from './bundle-capacity.ts';
import { type Problem, slotProblems } from './bundle-slot.ts';
import type { LiveHost } from './live-host.ts';
import { bootSlot, portName } from './names.ts';

export const planBundle = (live: LiveHost, request: BundleRequest, leases: readonly Lease[]): BundlePlan => {
  const others = leases.filter((lease) => lease.allocation_id !== request.allocation_id);
  const slots = request.slots.toSorted((a, b) => a.slot_index - b.slot_index);
  const boot = bootSlot(slots);
  const numaNodes = numaNodesOf(live, request);
  const fabric = choosePartition(live, request, others);
  const problems: readonly Problem[] = [
    ...findConflicts(leases, request.allocation_id, slots).map(conflict),
    ...slots.flatMap((slot) => slotProblems(live, slot)),
    ...fabric.problems,
    ...networkProblems(live, request),
    ...capacityProblems({ live, request, numaNodes, others }),
  ];
  const [first] = problems;
  if (first !== undefined) throw new HostError(first.code, problems.map((problem) => problem.message).join('; '));
  return {
    boot_slot_id: boot.slot_id,
    slots: slots.map((slot) => ({
      slot_id: slot.slot_id,
      generation: slot.generation,
      gpu_pci_address: slot.gpu_pci_address,
      fabric_vf_pci_address: slot.fabric_vf_pci_address,
      nvme_device: slot.nvme_device,
      nvme_serial: slot.nvme_serial,
      nvme_major_minor: live.disks.find((disk) => disk.serial === slot.nvme_serial)?.major_minor ?? null,
    })),
    mac_address: boot.mac_address,
    private_ip: boot.private_ip,
    ovs_port: portName(request.allocation_id),
    // Without a policy the guest has no nodes of its own, and its CPUs and memory are any of the host.
    numa_nodes: request.numa_policy === 'none' ? [] : [...numaNodes],
    cpuset: cpusOf(live, numaNodes),
    vcpu_count: request.vcpu_count,
    memory_mib: request.memory_mib,
    hugepages: chooseHugepages(live, numaNodes, request),
    fabric_partition_id: fabric.partition_id,
    profile: request.profile,
    // Left out where it is the default: the plan of a bundle from before is the same.
    ...(request.numa_policy === undefined || request.numa_policy === 'strict'
      ? {}
      : { numa_policy: request.numa_policy }),
  };
};

const conflict = (message: string): Problem => ({ code: 'conflict', message });
const drift = (message: string): Problem => ({ code: 'drift', message });

/** The NUMA nodes of the GPUs. A GPU that does not report its node may be on any, so the VM may be too. */
const numaNodesOf = (live: LiveHost, request: BundleRequest): readonly number[] => {
  const all = live.system.numa.map((numa) => numa.node);
  if (request.numa_policy === 'none') return all;
  const ofGpus = request.slots.map(
    (slot) => live.pci.find((pci) => pci.address === slot.gpu_pci_address)?.numa_node ?? null,
  );
  const known = ofGpus.filter((node) => node !== null && all.includes(node)) as number[];
  return [...new Set(known.length === ofGpus.length ? known : all)].toSorted((a, b) => a - b);
};

type Partition = Readonly<{ partition_id: number | null; problems: readonly Problem[] }>;

/** On a board with NVSwitches only the partition of exactly these modules carries the bundle, one GPU included. */
const choosePartition = (live: LiveHost, request: BundleRequest, others: readonly Lease[]): Partition => {
  const { nvswitches, manager, partitions } = live.fabric;
  if (nvswitches.length === 0 && partitions.length === 0) return { partition_id: null, problems: [] };
  const refuse = (...problems: Problem[]): Partition => ({ partition_id: null, problems });
  if (!manager.is_running) return refuse({ code: 'host_error', message: 'Fabric Manager is not running; start it' });
  if (manager.driver_version != null && manager.version !== manager.driver_version)
    return refuse({
      code: 'host_error',
      message: `Fabric Manager is ${manager.version ?? 'of an unknown version'} and the driver ${manager.driver_version}; they must be the same`,
    });
  const modules = request.slots.flatMap((slot) => slot.module_id ?? []).toSorted((a, b) => a - b);
  if (modules.length < request.slots.length)
    return refuse(drift('a slot has no module id, but this board has NVSwitches; discover and approve it again'));
  const wanted = partitions.find(
    (partition) => partition.module_ids.toSorted((a, b) => a - b).join() === modules.join(),
  );
  if (wanted === undefined)
    return refuse(drift(`Fabric Manager has no partition of the modules ${modules.join(', ')}`));
  const holderOf = (id: number): string => {
    const holder = others.find((lease) => lease.plan.fabric_partition_id === id);
    return holder === undefined ? 'no allocation known here' : `allocation ${holder.allocation_id}`;
  };
  const blockersOf = partitions.filter(
    (each) => each.is_active && each.module_ids.some((module) => modules.includes(module)),
  );
  const promised = others.flatMap((lease) =>
    lease.slots.some((slot) => slot.module_id !== null && modules.includes(slot.module_id)) ? [lease] : [],
  );
  return {
    partition_id: wanted.partition_id,
    problems: [
      ...blockersOf.map((each) =>
        conflict(`fabric partition ${each.partition_id} is active for ${holderOf(each.partition_id)}`),
      ),
      ...promised.map((lease) => conflict(`modules of the bundle are leased to allocation ${lease.allocation_id}`)),
    ],
  };
};

const networkProblems = (live: LiveHost, request: BundleRequest): readonly Problem[] => {
  const boot = bootSlot(request.slots);
  const name = portName(request.allocation_id);
  const taken = live.ports.flatMap((port) => {
    const shared = [
      port.name === name ? `port ${name}` : [],
      port.mac_address.toLowerCase() === boot.mac_address.toLowerCase() ? `MAC ${boot.mac_address}` : [],
      port.private_ip === boot.private_ip ? `address ${boot.private_ip}` : [],
    ].flat();
    return shared.map((what) => conflict(`${what} is in use by allocation ${port.allocation_id} at port ${port.name}`));
  });
  const bridge: readonly Problem[] =
    live.network.bridges.length > 0
      ? []
      : [{ code: 'host_error', message: 'there is no OVS bridge for VMs; create the slice bridge' }];
  const running = live.domains
    .filter((domain) => domain.allocation_id === request.allocation_id)
    .map((domain) => conflict(`VM ${domain.name} of this allocation is already on the host (${domain.state})`));
  return [...taken, ...bridge, ...running];
};
