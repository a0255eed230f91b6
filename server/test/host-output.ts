/** The output of a host after its work, for the task kinds of which tests expect more than a valid shape. */
import type { TaskKind, TaskOutput, TaskParams } from '@gpuaas/contract/node';
import { mintId } from '@gpuaas/kit';
import { discovery } from './discovered.ts';
import { cleanedUp, gpuReset, isolated, provenDisk } from './wipe-evidence.ts';

type Outputs = { readonly [K in TaskKind]?: (params: TaskParams<K>) => TaskOutput<K> };

const cleanUp = (
  slots: TaskParams<'slice.cleanup'>['slots'],
  disks: TaskParams<'node.cleanup'>['disks'],
): TaskOutput<'slice.cleanup'> =>
  cleanedUp(
    [
      ...slots.map(({ nvme_serial, ...slot }) => provenDisk({ ...slot, serial: nvme_serial })),
      ...disks.map(({ serial }) => provenDisk({ slot_id: null, serial, generation: null })),
    ],
    {
      gpu_resets: slots.map((slot) => gpuReset(slot.gpu_pci_address)),
      isolation: isolated(slots.map((slot) => slot.fabric_vf_pci_address)),
    },
  );

export const HOST_OUTPUTS: Outputs = {
  'diag.health_probe': () => ({
    report: { source: 'node-agent', observed_at: new Date().toISOString(), successes: [], alerts: [] },
  }),
  'slice.topology_discover': () => discovery(),
  'slice.bundle_lease': ({ vcpu_count, memory_mib, profile }) => ({
    plan: {
      boot_slot_id: mintId('slt'),
      slots: [],
      mac_address: '52:54:00:00:00:01',
      private_ip: '10.100.0.11',
      ovs_port: 'gp0',
      numa_nodes: [0],
      cpuset: '0-7',
      vcpu_count,
      memory_mib,
      hugepages: null,
      fabric_partition_id: null,
      profile,
    },
  }),
  'image.pull': ({ image }) => ({ digest: image.digest ?? '', size_bytes: 1 }),
  'image.evict': () => ({ freed_bytes: 1 }),
  'image.verify': () => ({ is_intact: true, size_bytes: 1 }),
  'slice.image_clone': ({ image }) => ({ bytes_written: 1, digest: image.digest }),
  'slice.vm_start': ({ allocation_id }) => ({ domain: allocation_id }),
  'slice.vm_readiness': () => ({
    mac: '52:54:00:00:00:01',
    expected_ip: '10.100.0.11',
    actual_ip: null,
    lease_state: 'bound',
    ssh_host_key: null,
    gpu_count: null,
  }),
  'slice.vm_reboot': () => ({ how: 'graceful' }),
  'slice.vm_stop': () => ({ how: 'graceful' }),
  'slice.cleanup': ({ slots }) => cleanUp(slots, []),
  'slice.reconcile': () => ({ domains: [], findings: [], rebound: [] }),
  'slice.orphan_remove': () => ({ removed: [] }),
  'node.cleanup': ({ slots, disks }) => cleanUp(slots, disks),
  'allocation.provision_user': ({ username }) => ({ username, ssh_host_key: null }),
  'allocation.install_authorized_keys': ({ ssh_public_keys }) => ({ key_count: ssh_public_keys.length }),
  'allocation.deprovision_user': () => ({ sessions_ended: 0, was_present: true }),
  'stream.open': ({ session_id }) => ({ session_id }),
  'agent.update': ({ version }) => ({ version }),
};
