/** Facts of hosts for tests: switches that carry a GPU, a disk and a card, in the layouts of real hosts. */
import type { DiskFacts, GpuFacts, HostFacts, NicFacts, PciFunction } from '@gpuaas/contract/node';
import { TOOL_NAMES } from '../src/host/tools.ts';

export const fn = (address: string, rest: Partial<PciFunction> = {}): PciFunction => ({
  address,
  vendor_id: '8086',
  device_id: '1234',
  subsystem_vendor_id: null,
  subsystem_device_id: null,
  class_code: '088000',
  driver: null,
  numa_node: 0,
  iommu_group: null,
  upstream_port: null,
  root_port: null,
  bars: [],
  physical_function: null,
  virtual_functions: [],
  virtual_functions_max: 0,
  link: null,
  reset_methods: ['flr', 'bus'],
  mediated_devices: 0,
  ...rest,
});

export const disk = (address: string, serial: string, rest: Partial<DiskFacts> = {}): DiskFacts => ({
  name: `nvme${Number.parseInt(address.slice(5, 7), 16)}n1`,
  serial,
  model: 'Test drive',
  eui: null,
  device: `/dev/disk/by-id/nvme-${serial}`,
  major_minor: '259:0',
  pci_address: address,
  size_bytes: 3_840_755_982_336,
  namespaces: 1,
  is_boot: false,
  is_swap: false,
  mounts: [],
  holders: [],
  filesystems: [],
  partitions: [],
  erase: {
    value: { sanitize_crypto: true, sanitize_block: true, format: true, format_crypto: true, discard: true },
  },
  ...rest,
});

const gpuFacts = (address: string, rest: Partial<GpuFacts>): GpuFacts => ({
  pci_address: address,
  model: 'NVIDIA H200',
  uuid: `GPU-${address}`,
  memory_mib: 143_771,
  module_id: null,
  fabric_state: null,
  driver_version: '580.1',
  mig_mode: 'disabled',
  ecc_mode: 'enabled',
  ecc_uncorrected: 0,
  temperature_c: 30,
  ...rest,
});

const nic = (address: string, rest: Partial<NicFacts> = {}): NicFacts => ({
  pci_address: address,
  netdev: null,
  rdma_device: null,
  link_layer: 'infiniband',
  state: 'ACTIVE',
  guid: `0c42:a103:00${address.slice(5, 7)}:${address.slice(8, 10)}0${address.slice(11)}`,
  mac: null,
  is_bluefield: false,
  ...rest,
});

/** One switch: bus numbers of its devices, in the order of the board. */
export type SwitchPlan = Readonly<{
  upstream: number;
  gpu: number;
  nvme: number;
  card: number;
  module_id: number;
  numa_node: number;
}>;

export type MachineOptions = Readonly<{
  domain?: string;
  vendor?: 'nvidia' | 'amd';
  vfs?: number;
  nvswitches?: number;
  driver?: string | null;
  /** Disk and card in the GPU's group, as without ACS. */
  shared_groups?: boolean;
}>;

const hex = (bus: number): string => bus.toString(16).padStart(2, '0');

/**
 * Bus numbers of an eight-GPU H200 host: the card comes before the GPU under some switches and after it under others.
 */
export const H200_PLANS: readonly SwitchPlan[] = [
  { upstream: 0x16, gpu: 0x1b, nvme: 0x19, card: 0x18, module_id: 2, numa_node: 0 },
  { upstream: 0x38, gpu: 0x3c, nvme: 0x3b, card: 0x3a, module_id: 4, numa_node: 0 },
  { upstream: 0x49, gpu: 0x4b, nvme: 0x4c, card: 0x4d, module_id: 3, numa_node: 0 },
  { upstream: 0x5a, gpu: 0x5c, nvme: 0x5e, card: 0x5d, module_id: 1, numa_node: 0 },
  { upstream: 0x98, gpu: 0x9a, nvme: 0x9c, card: 0x9b, module_id: 5, numa_node: 1 },
  { upstream: 0xb8, gpu: 0xbb, nvme: 0xbd, card: 0xba, module_id: 7, numa_node: 1 },
  { upstream: 0xca, gpu: 0xcd, nvme: 0xce, card: 0xcc, module_id: 6, numa_node: 1 },
  { upstream: 0xd9, gpu: 0xdc, nvme: 0xda, card: 0xdb, module_id: 8, numa_node: 1 },
];

export const machineFacts = (plans: readonly SwitchPlan[], options: MachineOptions = {}): HostFacts => {
  const { domain = '0000', vendor = 'nvidia', vfs = 2, nvswitches = 4, driver = null, shared_groups = false } = options;
  const at = (bus: number, device = 0, func = 0): string => `${domain}:${hex(bus)}:${hex(device)}.${func}`;
  const pci: PciFunction[] = [];
  const groups = new Map<number, string[]>();
  const disks: DiskFacts[] = [];
  const gpus: GpuFacts[] = [];
  const nics: NicFacts[] = [];
  const add = (group: number, one: PciFunction): void => {
    pci.push({ ...one, iommu_group: group });
    groups.set(group, [...(groups.get(group) ?? []), one.address]);
  };
  for (const [index, plan] of plans.entries()) {
    const base = index * 16;
    const upstream_port = at(plan.upstream);
    const { numa_node } = plan;
    const own = (group: number): number => base + (shared_groups ? 0 : group);
    add(base + 15, fn(upstream_port, { class_code: '060400', vendor_id: '1000', device_id: 'c030', numa_node }));
    add(own(1), fn(at(plan.upstream + 1), { class_code: '060400', vendor_id: '1000', upstream_port, numa_node }));
    // The switch's own management endpoint.
    add(
      base + 14,
      fn(at(plan.upstream + 1, 31), { class_code: '010700', vendor_id: '1000', upstream_port, numa_node }),
    );
    const gpu = at(plan.gpu);
    const id = vendor === 'nvidia' ? ['10de', '2335', '030200'] : ['1002', '74a1', '120000'];
    const [vendor_id = '', device_id = '', class_code = ''] = id;
    add(own(0), fn(gpu, { vendor_id, device_id, class_code, driver, upstream_port, numa_node }));
    gpus.push(gpuFacts(gpu, { module_id: nvswitches > 0 ? plan.module_id : null }));
    const nvme = at(plan.nvme);
    add(own(2), fn(nvme, { class_code: '010802', vendor_id: '144d', driver: 'nvme', upstream_port, numa_node }));
    disks.push(disk(nvme, `SN${hex(plan.nvme)}`));
    const card = at(plan.card);
    const virtual_functions = Array.from({ length: vfs }, (_, number) => at(plan.card, 0, number + 1));
    const mellanox = { vendor_id: '15b3', driver: 'mlx5_core', upstream_port, numa_node };
    add(
      own(3),
      fn(card, { ...mellanox, device_id: '1021', class_code: '020700', virtual_functions, virtual_functions_max: 16 }),
    );
    nics.push(nic(card));
    for (const [number, vf] of virtual_functions.entries()) {
      add(base + 4 + number, fn(vf, { ...mellanox, device_id: '101e', class_code: '020700', physical_function: card }));
      nics.push(nic(vf));
    }
  }
  const switches = Array.from({ length: nvswitches }, (_, index) => at(0x83 + index));
  for (const address of switches)
    add(900, fn(address, { vendor_id: '10de', device_id: '22a3', class_code: '068000', numa_node: 1 }));
  return {
    schema: 1,
    observed_at: '2026-11-15T10:00:00.000Z',
    system: {
      value: {
        hostname: 'test',
        product: 'Test machine',
        kernel: '6.8.0',
        kernel_command_line: 'ro quiet intel_iommu=on iommu=pt',
        boot_id: '00000000-0000-4000-8000-000000000000',
        booted_at: '2026-11-15T09:00:00.000Z',
        has_kvm: true,
        secure_boot: false,
        memory_mib: 2_097_152,
        numa: [...new Set(plans.map((plan) => plan.numa_node))].map((node) => ({
          node,
          cpus: '0-47',
          memory_mib: 1024,
        })),
        hugepages: [{ node: 0, size_kib: 1_048_576, total: 800, free: 800 }],
      },
    },
    pci: { value: pci },
    iommu_groups: { value: [...groups].map(([group, addresses]) => ({ group, addresses })) },
    gpus: { value: gpus },
    disks: { value: disks },
    nics: { value: nics },
    fabric: {
      value: {
        nvswitches: switches,
        manager: { is_running: nvswitches > 0, version: '580.1', mode: nvswitches > 0 ? 'shared_nvswitch' : null },
        partitions:
          nvswitches > 0
            ? plans.map((plan) => ({ partition_id: plan.module_id, module_ids: [plan.module_id], is_active: false }))
            : [],
      },
    },
    network: {
      value: {
        ovs_version: '3.3.0',
        bridges: [{ name: 'ovsbr0', ports: [], address: '10.100.0.1/24' }],
        ip_forwarding: true,
        has_masquerade: true,
      },
    },
    tools: { value: TOOL_NAMES.map((name) => ({ name, version: '1.0' })) },
    images: { value: [{ digest: `sha256:${'0'.repeat(64)}`, name: 'ubuntu', size_bytes: 1 }] },
  };
};
