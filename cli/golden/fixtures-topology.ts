/** Responses about the topology of hosts, their slots and disks, and their health. */
import type { Operations, Slot } from '@gpuaas/sdk';
import { agentAnswers } from './fixtures-agent.ts';
import { placementIds } from './fixtures-allocation.ts';
import { placementAnswers } from './fixtures-placement.ts';

const id = (prefix: string, last: string): string => `${prefix}_01k9zv3m8q4t6w2x5y7r0s1n${last.padStart(2, '0')}`;
const time = '2026-11-15T10:03:21.000Z';
const later = '2026-11-15T11:03:21.000Z';
const page = <T>(...items: T[]) => ({ items, next_cursor: null });

type Discovery = Operations['adminNodeDiscoveryGet']['response'];
type TopologyMap = NonNullable<Discovery['map']>;
type View = TopologyMap['candidates'][number];
type Disk = Operations['adminNodeDiskApprove']['response'];
type Health = Operations['adminNodeHealthGet']['response'];
type Breaker = Operations['adminHealthBreakerGet']['response'];

const task = { ...agentAnswers.adminNodeAgentUpdate, kind: 'slice.topology_discover', label: 'Discover hardware' };
const hex = (index: number): string => (0x1b + index * 0x10).toString(16);

const candidate = (index: number): View => ({
  id: id('cnd', String(index)),
  slot_index: index,
  content_hash: 'c0'.repeat(32),
  content: {
    slot_index: index,
    gpu_pci_address: `0000:${hex(index)}:00.0`,
    gpu_uuid: null,
    gpu_vendor_device: '10de:2335',
    gpu_model: null,
    module_id: index + 1,
    mig_mode: null,
    mediated_devices: 0,
    numa_node: index < 4 ? 0 : 1,
    upstream_port: '0000:15:01.0',
    iommu_group: 40 + index,
    iommu_group_other_devices: [],
    nvme_serial: `S6XNNE0W50000${index}`,
    nvme_device: `/dev/disk/by-id/nvme-S6XNNE0W50000${index}`,
    nvme_size_bytes: 3_840_755_982_336,
    nvme_mounts: [],
    nvme_holders: [],
    nvme_filesystems: [],
    wipe_method: 'nvme_sanitize',
    fabric_parent_pci_address: `0000:${hex(index)}:01.0`,
    fabric_claim_mode: 'per_slot_vf',
    fabric_vf_pci_address: `0000:${hex(index)}:01.1`,
    fabric_vf_guid: null,
    mac_address: `02:00:00:00:00:0${index}`,
    private_ip: `10.100.0.${10 + index}`,
    ovs_port: `gp0000000000${index}`,
    blockers: [],
  },
  blockers: [],
  slot_id: null,
  approval_status: 'new',
  diff: {},
});

const blocked: View = {
  ...candidate(2),
  blockers: [
    {
      code: 'mounted',
      field: 'nvme_mounts',
      message:
        'Slot 2: the disk is mounted at /share. Unmount it on the host, approve the disk for wiping, then rerun discovery.',
    },
    {
      code: 'not_per_slot_vf',
      field: 'fabric_claim_mode',
      message: 'The fabric would be shared. Assign it a dedicated virtual function.',
    },
  ],
};
const changed: View = {
  ...candidate(1),
  slot_id: id('slt', '2b'),
  approval_status: 'changed',
  diff: {
    nvme_serial: { approved: 'S6XNNE0W500009', found: 'S6XNNE0W500001' },
    iommu_group_other_devices: { approved: [], found: ['0000:2b:00.1'] },
  },
};

export const map: TopologyMap = {
  map_hash: '5e'.repeat(32),
  created_at: time,
  candidates: [candidate(0), changed, blocked, { ...candidate(3), blockers: blocked.blockers.slice(1) }],
  partitions: [{ partition_id: 1, module_ids: [1, 2, 3, 4], is_active: false }],
  prerequisites: [
    { name: 'vfio', is_met: true, needs_reboot: false, message: 'vfio-pci is loaded.' },
    {
      name: 'hugepages',
      is_met: false,
      needs_reboot: true,
      message: 'None are reserved. Add hugepagesz=1G hugepages=N to the kernel command line and restart the host.',
    },
    { name: 'ovs', is_met: false, needs_reboot: false, message: 'Open vSwitch does not respond. Start it.' },
  ],
  reboot_required: true,
};
/** A host whose candidates can be approved. */
export const cleanMap: TopologyMap = {
  ...map,
  candidates: [candidate(0), candidate(1)],
  prerequisites: map.prerequisites.slice(0, 1),
  reboot_required: false,
};

const [slot] = placementAnswers.adminNodeSlotList.items as [Slot];
const disk: Disk = {
  id: id('dsk', '1a'),
  node_id: placementIds.node,
  serial: 'S6XNNE0W500002',
  device: '/dev/disk/by-id/nvme-S6XNNE0W500002',
  state: 'approved',
  state_reason: null,
  state_since: time,
  approved_by: id('usr', '1a'),
  reason: 'It is empty.',
  wipe_proof_id: null,
  version: 1,
  created_at: time,
};
const override = {
  id: id('sov', '1a'),
  slot_id: id('slt', '1a'),
  kind: 'mark_wiped' as const,
  reason: 'The disk was replaced.',
  requested_by: id('usr', '1a'),
  requested_at: time,
  expires_at: later,
  confirmed_by: null,
  confirmed_at: null,
};
const alert = {
  id: 'gpu_off_the_bus',
  target: '0000:1b:00.0',
  since: time,
  message: 'GPU 0000:1b:00.0 has fallen off the bus (once). Release its allocations and power-cycle the host.',
  tenant_message: 'A GPU of this allocation stopped responding. Release the allocation and launch a new one.',
  classifications: ['prevent_allocations' as const],
};
export const health: Health = {
  node_id: placementIds.node,
  health: 'ok',
  prevents: ['prevent_allocations'],
  alerts: [alert],
  reports: [{ source: 'node-agent', observed_at: time, successes: ['gpu_count', 'fabric'], alerts: [alert] }],
  overrides: [
    {
      source: 'node-agent',
      mode: 'merge',
      alerts: [],
      muted_alert_ids: ['gpu_temperature'],
      reason: 'The aisle is being cooled.',
      created_by: id('usr', '1a'),
      created_at: time,
      expires_at: later,
    },
  ],
  slots: [
    { slot_id: id('slt', '1a'), slot_index: 0, health: 'unhealthy', alerts: [alert] },
    { slot_id: id('slt', '2b'), slot_index: 1, health: 'ok', alerts: [] },
  ],
};
const clock: Operations['adminClockGet']['response'] = {
  is_held: true,
  database_time: later,
  checked_at: later,
  held_since: time,
  reason: 'The clock of the database stepped 6 hours ahead.',
  jump_ms: 21_600_000,
  agents: { known: 40, reported: 38, agreeing: 0 },
  ended_at: null,
  ended_by: null,
  version: 2,
};
export const breaker: Breaker = {
  is_tripped: true,
  tripped_at: time,
  reason: '6 of 40 hosts became unhealthy within 10 minutes.',
  reset_by: null,
  reset_at: null,
  version: 3,
};
const heldKey = {
  allocation_id: placementIds.allocation,
  user_id: id('usr', '1a'),
  user_name: 'ada',
  fingerprint: 'SHA256:7rYVRfDhxxWfyLlzkwrYkfOeBmyXjP0Z9yWn1vM0Yp4',
} as const;
export const restored: Operations['adminRestoreGet']['response'] = {
  restore: {
    id: id('rst', '1a'),
    began_at: time,
    began_by: id('usr', '1a'),
    reason: 'The disk of the database failed.',
    older_than: time,
    ended: {
      api_tokens: 12,
      service_account_secrets: 3,
      web_sessions: 5,
      terminal_sessions: 1,
      invitations: 2,
      enrollments: 0,
      node_certificates: 0,
    },
    lost_changes: [
      { organization_id: null, audit_rows: 4 },
      { organization_id: id('org', '1a'), audit_rows: 9 },
    ],
    identity_changes: [
      {
        at: time,
        action: 'organization.member.remove',
        target_kind: 'user',
        target_id: id('usr', '1b'),
        actor_id: id('usr', '1a'),
        organization_id: id('org', '1a'),
      },
    ],
  },
  held_nodes: [
    { node_id: id('nod', '1a'), name: 'j22u15', inventory_at: later, findings: 0, ssh_keys: [heldKey] },
    { node_id: id('nod', '2b'), name: 'j22u17', inventory_at: null, findings: 0, ssh_keys: [] },
  ],
};
/** A slot with every optional field set. */
export const drifted: Slot = {
  ...slot,
  approval: 'needs_reapproval',
  status: 'cleanup_blocked',
  status_reason: 'The disks could not be wiped.',
  health_detail: { alerts: [], allocation_id: placementIds.allocation, event: 'cleanup_blocked', at: time },
  drift: { nvme_serial: { approved: 'S6XN0001', found: 'S6XN0009' } },
};

export const topologyAnswers = {
  adminNodeDiscoveryCreate: task,
  adminNodeDiscoveryGet: { task: { ...task, state: 'completed', finished_at: time }, map },
  adminNodeDiscoveryFactsGet: {
    schema: 1,
    observed_at: time,
    system: { value: { hostname: 'j22u15', product: 'PowerEdge XE9680', kernel: '6.8.0-48' } },
    gpus: { value: [{ pci_address: '0000:1b:00.0', model: 'NVIDIA H200' }] },
    disks: {
      value: [
        { name: 'nvme0n1', serial: 'BOSS-1', is_boot: true, mounts: ['/'], filesystems: ['ext4'] },
        { name: 'nvme1n1', serial: 'S6XNNE0W500000', is_boot: false, mounts: [], filesystems: [] },
      ],
    },
    pci: { value: [{ address: '0000:18:00.0' }, { address: '0000:18:00.1', physical_function: '0000:18:00.0' }] },
    nics: {
      value: [
        {
          pci_address: '0000:18:00.0',
          netdev: 'ib18',
          rdma_device: 'mlx5_0',
          link_layer: 'infiniband',
          state: 'ACTIVE',
        },
        { pci_address: '0000:18:00.1', netdev: 'ib18v0', rdma_device: null, link_layer: 'infiniband', state: 'ACTIVE' },
      ],
    },
    iommu_groups: { unreadable: '/sys/kernel/iommu_groups is empty.' },
    fabric: { value: { nvswitches: [], partitions: [], manager: { is_running: false } } },
    network: { value: { ovs_version: null, bridges: [] } },
    tools: {
      value: [
        { name: 'qemu-img', version: '8.2.2' },
        { name: 'nvme', version: null },
      ],
    },
    images: { value: [] },
  },
  adminNodeSlotGet: slot,
  adminNodeSlotApprove: { slots: [slot, { ...slot, id: id('slt', '2b'), slot_index: 1 }] },
  adminNodeSlotDisable: { ...slot, approval: 'disabled', version: 5 },
  adminNodeSlotEnable: { ...slot, version: 5 },
  adminNodeSlotQuarantine: { ...slot, status: 'quarantined', version: 5 },
  adminNodeSlotRepair: { ...slot, status: 'quarantined', version: 5 },
  adminNodeSlotMarkWiped: { override, slot },
  adminNodeDiskList: page<Disk>(disk, {
    ...disk,
    id: id('dsk', '2b'),
    serial: 'S6XNNE0W500003',
    state: 'blocked',
    state_reason: 'it is mounted at /share',
  }),
  adminNodeDiskApprove: disk,
  adminNodeDiskExclude: { ...disk, state: 'excluded' },
  adminNodeDiskRevoke: { ...disk, state: 'revoked', version: 2 },
  adminNodeHealthGet: health,
  adminNodeHealthProbe: { ...task, kind: 'diag.health_probe' },
  adminNodeHealthOverridePut: health,
  adminNodeHealthOverrideDelete: undefined,
  adminRestoreGet: restored,
  adminRestoreBegin: restored,
  adminNodeRestoreRelease: { ...restored, held_nodes: restored.held_nodes.slice(1) },
  adminClockGet: clock,
  adminClockConfirm: { ...clock, is_held: false, held_since: null, reason: null, jump_ms: null, version: 3 },
  adminHealthBreakerGet: breaker,
  adminHealthBreakerReset: { ...breaker, is_tripped: false, reset_by: id('usr', '1a'), reset_at: later, version: 4 },
} satisfies { [K in keyof Operations]?: Operations[K]['response'] };
