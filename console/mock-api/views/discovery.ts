/**
 * The result of discovery: a candidate for each place of the host, its blockers, and its difference from the approved
 * slot.
 */
import { digestOf } from '../core/random.ts';
import type { Candidate, Discovery, Node, NodeTask, Prerequisite, Slot } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { bindingOf, DRIVE_BYTES, PLACES, type Place } from '../seed/host.ts';
import { HOST_GPU } from '../simulation/gpu-model.ts';
import { PARTITIONS, slotsOf } from '../simulation/placement.ts';
import { taskView } from '../simulation/task.ts';

type CandidateView = NonNullable<Discovery['map']>['candidates'][number];

const MET: readonly (readonly [string, string])[] = [
  ['facts_readable', 'Everything could be read.'],
  ['accelerators', '8 found'],
  ['kvm', 'A test VM ran.'],
  ['iommu_kernel_args', 'intel_iommu=on iommu=pt'],
  ['iommu_groups', '36 groups'],
  ['vfio_pci', 'The module is loaded.'],
  ['sriov', '8 virtual functions'],
  ['ovs', 'bridges br-gpuaas'],
  ['libvirt', 'libvirt 10.0.0'],
  ['qemu', '8.2.2'],
  ['nvme_cli', '2.8'],
  ['hugepages', 'node 0: 896 x 1048576 KiB, 640 free; node 1: 896 x 1048576 KiB, 640 free'],
  ['fabric_manager', '580.159.04, shared mode, 15 partitions'],
  ['ip_forwarding', 'on'],
  ['dhcp', '2.90'],
  ['secure_boot', 'off'],
  ['pending_reboot', 'none'],
];

const prerequisitesOf = (node: Node): Prerequisite[] =>
  MET.map(([name, message]) => {
    const unmet = node.unmet.find((one) => one.name === name);
    return unmet ?? { name, is_met: true, needs_reboot: false, message };
  });

export const candidateOf = (node: Node, place: Place): Candidate => {
  const binding = bindingOf(node.number, place);
  return {
    slot_index: place.slot_index,
    gpu_pci_address: place.gpu,
    gpu_uuid: binding.gpu_uuid,
    ...HOST_GPU,
    module_id: place.module_id,
    mig_mode: 'disabled',
    mediated_devices: 0,
    numa_node: place.numa_node,
    upstream_port: place.upstream_port,
    iommu_group: 40 + place.slot_index * 8,
    iommu_group_other_devices: [],
    nvme_serial: binding.nvme_serial,
    nvme_device: binding.nvme_device,
    nvme_size_bytes: DRIVE_BYTES,
    nvme_mounts: [],
    nvme_holders: [],
    nvme_filesystems: [],
    wipe_method: 'nvme_sanitize',
    fabric_parent_pci_address: place.nic,
    fabric_claim_mode: 'per_slot_vf',
    fabric_vf_pci_address: place.vf,
    fabric_vf_guid: digestOf(`${node.name} ${place.vf}`, 16),
    mac_address: binding.mac_address,
    private_ip: binding.private_ip,
    ovs_port: `vm${place.slot_index}`,
    blockers: [],
    ...node.found.get(place.slot_index),
  };
};

const standingOf = (slot: Slot | undefined): CandidateView['approval_status'] =>
  slot === undefined ? 'new' : slot.drift === null ? 'approved' : 'changed';

const viewOf =
  (world: World, node: Node) =>
  (place: Place): CandidateView => {
    const content = candidateOf(node, place);
    const slot = slotsOf(world, node.id).find((one) => one.slot_index === place.slot_index);
    const at = Date.parse(node.discovered_at ?? node.created_at);
    return {
      id: `cnd_${(world.slots.get(slot?.id ?? '')?.id ?? node.id).slice(4, 24)}${digestOf(`${node.id} ${place.slot_index} ${at}`, 6)}`,
      slot_index: place.slot_index,
      content_hash: digestOf(JSON.stringify(content)),
      content,
      blockers: content.blockers,
      slot_id: slot?.id ?? null,
      approval_status: standingOf(slot),
      diff: slot?.drift ?? {},
    };
  };

export const discoveryOf = (world: World, node: Node, task: NodeTask): Discovery => {
  if (node.discovered_at === null || (task.finished_at === null && task.kind === 'slice.topology_discover'))
    return { task: taskView(task), map: null };
  const candidates = PLACES.map(viewOf(world, node));
  const prerequisites = prerequisitesOf(node);
  return {
    task: taskView(task),
    map: {
      map_hash: digestOf(JSON.stringify([node.id, candidates.map((one) => one.content_hash), prerequisites])),
      created_at: node.discovered_at,
      candidates,
      partitions: PARTITIONS.map((one) => ({ ...one, module_ids: [...one.module_ids], is_active: false })),
      prerequisites,
      reboot_required: node.reboot_required || prerequisites.some((one) => !one.is_met && one.needs_reboot),
    },
  };
};
