/** Nodes with a problem: each a case that an operator meets. */
import { NO_HEARTBEAT } from '../../../server/src/domain/heartbeat.ts';
import { REASONS } from '../../../server/src/domain/reasons.ts';
import { digestOf } from '../core/random.ts';
import type { HealthAlert, Node, Slot } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { PLACES } from './host.ts';

const HOUR_MS = 3_600_000;

type Shaper = (world: World, node: Node, slots: readonly Slot[]) => void;

const gpuLost = (world: World, address: string): HealthAlert => ({
  id: 'gpu_off_the_bus',
  target: address,
  since: world.ago(5 * HOUR_MS),
  message: `Xid 79 at ${address}: the GPU has fallen off the bus.`,
  tenant_message: 'A GPU of this allocation stopped responding. Release the allocation and launch a new one.',
  classifications: ['prevent_allocations', 'prevent_host_changes'],
});

const quarantinedAndDrifted: Shaper = (world, node, [, quarantined, drifted, disabled]) => {
  if (quarantined !== undefined) {
    quarantined.status = 'quarantined';
    quarantined.status_reason = 'A GPU reset failed twice; see the task log.';
    quarantined.status_since = world.ago(26 * HOUR_MS);
  }
  if (drifted !== undefined) {
    const found = `S795NC0${digestOf(node.name, 5).toUpperCase()}`;
    drifted.approval = 'needs_reapproval';
    drifted.drift = { nvme_serial: { approved: drifted.nvme_serial, found } };
    node.found.set(drifted.slot_index, { nvme_serial: found });
  }
  if (disabled !== undefined) disabled.approval = 'disabled';
};

const unhealthySlot: Shaper = (world, node, slots) => {
  const slot = slots[5];
  if (slot === undefined) return;
  const alert = gpuLost(world, slot.gpu_pci_address ?? '');
  slot.health = 'unhealthy';
  slot.health_detail = { alerts: [alert.id], message: alert.message };
  node.alerts.push(alert);
  node.vms.push({
    name: 'gpuaas-alc-leftover',
    allocation_id: null,
    is_managed: true,
    state: 'shut_off',
    ended_by: 'host',
    devices: [slot.gpu_pci_address ?? ''],
  });
  node.findings.push({
    code: 'orphan_vm',
    allocation_id: null,
    vm: 'gpuaas-alc-leftover',
    slot_ids: [slot.id],
    message: 'VM gpuaas-alc-leftover (shut_off) is managed by GPUaaS but has no claim on this node.',
    since: world.ago(4 * HOUR_MS),
  });
};

const unhealthyNode: Shaper = (world, node) => {
  node.health = 'unhealthy';
  node.alerts.push(
    {
      id: 'fabric_manager_down',
      target: 'node',
      since: world.ago(2 * HOUR_MS),
      message: 'nv-fabricmanager stopped with exit code 1; GPUs cannot be joined.',
      tenant_message: null,
      classifications: ['prevent_allocations'],
    },
    gpuLost(world, PLACES[3]?.gpu ?? ''),
  );
};

/** A host that was just added: discovered by its agent, and schedulable only after an operator approves it. */
const awaitingApproval: Shaper = (world, node) => {
  node.discovered_at = world.ago(12 * 60_000);
  node.state_since = world.ago(20 * 60_000);
  node.found.set(2, {
    nvme_mounts: ['/var/lib/scratch'],
    nvme_filesystems: ['ext4'],
    blockers: [
      {
        code: 'nvme_mounted',
        field: 'nvme_mounts',
        message: 'The disk is mounted at /var/lib/scratch. Unmount it, or approve the disk for wiping.',
      },
    ],
  });
  node.found.set(6, {
    fabric_vf_pci_address: null,
    fabric_vf_guid: null,
    blockers: [
      {
        code: 'fabric_vf_missing',
        field: 'fabric_vf_pci_address',
        message: 'No virtual function is free on the card beside the GPU. Write their number to sriov_numvfs.',
      },
    ],
  });
  node.unmet.push({
    name: 'hugepages',
    is_met: false,
    needs_reboot: true,
    message: 'None are reserved. Add hugepagesz=1G hugepages=N to the kernel command line and restart the host.',
  });
};

const rebootRequired: Shaper = (_world, node) => {
  node.reboot_required = true;
  node.reboot_reason = REASONS.reboot_for_gpu;
  node.is_runtime_validated = false;
};

const draining: Shaper = (world, node) => {
  node.state = 'draining';
  node.state_reason = 'Firmware of the NVSwitches is updated on Thursday.';
  node.state_since = world.ago(3 * HOUR_MS);
};

const offline: Shaper = (world, node) => {
  node.state = 'offline';
  node.state_reason = NO_HEARTBEAT;
  node.state_since = world.ago(40 * 60_000);
  node.is_connected = false;
  node.last_seen_at = world.ago(41 * 60_000);
  node.reconciled_at = world.ago(42 * 60_000);
};

const notEnrolled: Shaper = (world, node) => {
  node.state = 'bootstrap_issued';
  node.state_reason = null;
  node.state_since = world.ago(6 * 60_000);
  node.is_connected = false;
  node.last_seen_at = null;
  node.reconciled_at = null;
  node.agent_version = null;
  node.certificates = [];
  node.images = [];
  node.health = 'unknown';
  node.is_runtime_validated = false;
  node.discovered_at = null;
};

const heldForBaremetal: Shaper = (_world, node) => {
  node.capacity_mode = 'flexible';
  node.is_held = true;
  node.held_reason = 'Kept for the training run of Globex next week.';
};

const baremetal: Shaper = (_world, node) => {
  node.capacity_mode = 'baremetal';
};

/** The node at each place of the first rack. Those without slots have none approved yet. */
export const ODD_NODES: Readonly<Record<number, Readonly<{ hasSlots: boolean; shape: Shaper }>>> = {
  4: { hasSlots: true, shape: quarantinedAndDrifted },
  5: { hasSlots: false, shape: awaitingApproval },
  6: { hasSlots: false, shape: notEnrolled },
  7: { hasSlots: true, shape: rebootRequired },
  8: { hasSlots: true, shape: baremetal },
  9: { hasSlots: true, shape: baremetal },
  10: { hasSlots: true, shape: draining },
  11: { hasSlots: true, shape: offline },
  12: { hasSlots: true, shape: unhealthyNode },
  13: { hasSlots: true, shape: unhealthySlot },
  14: { hasSlots: true, shape: heldForBaremetal },
};
