/** VMs of 1, 2, 4 and 8 GPUs on a host laid out as an XE9680: one complex per slot, four on each NUMA node. */
import type { VmPlan } from '../src/host/host.ts';
import { domainName, portName } from '../src/tasks/names.ts';
import type { HostProfile } from '../src/vm/host-profile.ts';

const GIB = 1024 ** 3;
export const ALLOCATION = 'alc_01jtest0000000000000000001';
export const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea';

const GPUS = ['19', '3b', '4c', '5d', '9b', 'bb', 'cb', 'db'];
const CARDS = ['1a', '3c', '4d', '5e', '9c', 'bc', 'cc', 'dc'];
const ROOTS = ['15', '37', '48', '59', '97', 'b7', 'c7', 'd7'];

export const hostProfile = (given: Partial<HostProfile> = {}): HostProfile => ({
  accelerator: 'kvm',
  emulator: '/usr/bin/qemu-system-x86_64',
  machine_type: 'q35',
  physical_address_bits: 46,
  boot: {
    kind: 'uefi',
    plain: { code: '/usr/share/OVMF/OVMF_CODE_4M.fd', vars_template: '/usr/share/OVMF/OVMF_VARS_4M.fd' },
    secure: {
      code: '/usr/share/OVMF/OVMF_CODE_4M.secboot.fd',
      vars_template: '/usr/share/OVMF/OVMF_VARS_4M.ms.fd',
    },
    secure_profiles: ['slice-vm-secure'],
  },
  folders: {
    nvram: '/var/lib/gpuaas/nvram',
    seed: '/var/lib/gpuaas/seed',
    console: '/var/log/gpuaas/console',
    report: '/run/gpuaas/report',
  },
  disk_folders: ['/dev/disk/by-id'],
  passthrough: 'vfio',
  uplink_pci_address: '0000:be:00.2',
  nic: { driver: 'vhost', queues: 8, has_offloads: true },
  devices: GPUS.flatMap((bus, index) => [
    {
      address: `0000:${bus}:00.0`,
      root_complex: `0000:${ROOTS[index]}`,
      numa_node: index < 4 ? 0 : 1,
      physical_function: null,
      mmio64_bytes: 256 * GIB + 48 * 1024 ** 2,
    },
    {
      address: `0000:${CARDS[index]}:00.1`,
      root_complex: `0000:${ROOTS[index]}`,
      numa_node: index < 4 ? 0 : 1,
      physical_function: `0000:${CARDS[index]}:00.0`,
      mmio64_bytes: 2 * 1024 ** 2,
    },
  ]),
  numa: [
    { node: 0, cpus: '0-55,112-167' },
    { node: 1, cpus: '56-111,168-223' },
  ],
  pinned_cpus: null,
  ...given,
});

export const machineOf = (gpus: number, given: Partial<VmPlan['plan']> = {}): VmPlan => ({
  name: domainName(ALLOCATION),
  allocation_id: ALLOCATION,
  passes_fabric: true,
  plan: {
    boot_slot_id: 'slt_0',
    slots: Array.from({ length: gpus }, (_, index) => ({
      slot_id: `slt_${index}`,
      generation: 1,
      gpu_pci_address: `0000:${GPUS[index]}:00.0`,
      fabric_vf_pci_address: `0000:${CARDS[index]}:00.1`,
      nvme_device: `/dev/disk/by-id/nvme-Dell_Ent_NVMe_S6XYNE0T9000${index}`,
      nvme_serial: `S6XYNE0T9000${index}`,
      nvme_major_minor: `259:${index}`,
    })),
    mac_address: '02:00:00:00:00:10',
    private_ip: '10.100.0.10',
    ovs_port: portName(ALLOCATION),
    numa_nodes: gpus > 4 ? [0, 1] : [0],
    cpuset: gpus > 4 ? '0-55,112-167,56-111,168-223' : '0-55,112-167',
    vcpu_count: 24 * gpus,
    memory_mib: 64 * 1024 * gpus,
    hugepages: { size_kib: 1024 ** 2, count: 64 * gpus },
    fabric_partition_id: 0,
    profile: 'slice-vm',
    ...given,
  },
  seed: { hostname: 'trainer', ssh_public_keys: [KEY], user_data: null },
});
