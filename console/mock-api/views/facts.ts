/**
 * The facts that an agent reads from its host, in the contract's format: devices below their switches, disks, cards and
 * fabric.
 */
import { digestOf } from '../core/random.ts';
import type { Node } from '../core/rows.ts';
import type { World } from '../core/world.ts';
import { bindingOf, DRIVE_BYTES, NVSWITCHES, PLACES, type Place } from '../seed/host.ts';
import { HOST_GPU } from '../simulation/gpu-model.ts';
import { PARTITIONS, slotsOf } from '../simulation/placement.ts';

const GIB = 1024 ** 3;
const DRIVER = '580.159.04';

type Fn = Readonly<{
  address: string;
  ids: string;
  class_code: string;
  driver: string | null;
  numa_node: number;
  upstream_port: string | null;
  root_port: string;
  group: number;
  bars?: readonly number[];
  vfs?: readonly string[];
  pf?: string;
}>;

const functionOf = (fn: Fn) => {
  const [vendor_id = '', device_id = ''] = fn.ids.split(':');
  return {
    address: fn.address,
    vendor_id,
    device_id,
    subsystem_vendor_id: vendor_id,
    subsystem_device_id: '0001',
    class_code: fn.class_code,
    driver: fn.driver,
    numa_node: fn.numa_node,
    iommu_group: fn.group,
    upstream_port: fn.upstream_port,
    root_port: fn.root_port,
    bars: (fn.bars ?? []).map((size_bytes, index) => ({
      index: index * 2,
      size_bytes,
      is_64bit: true,
      is_prefetchable: index > 0,
    })),
    physical_function: fn.pf ?? null,
    virtual_functions: [...(fn.vfs ?? [])],
    virtual_functions_max: fn.vfs === undefined ? 0 : 16,
    link: { speed: '32.0 GT/s PCIe', width: 16, max_speed: '32.0 GT/s PCIe', max_width: 16 },
    reset_methods: ['flr', 'bus'],
    mediated_devices: 0,
  };
};

const below = (place: Place) => {
  const { numa_node, upstream_port, root_port } = place;
  const at = { numa_node, upstream_port, root_port };
  const group = 40 + place.slot_index * 8;
  return [
    functionOf({
      ...at,
      address: place.gpu,
      ids: '10de:2335',
      class_code: '030200',
      driver: 'vfio-pci',
      group,
      bars: [16 * 1024 ** 2, 256 * GIB, 32 * 1024 ** 2],
    }),
    functionOf({
      ...at,
      address: place.nvme,
      ids: '144d:a826',
      class_code: '010802',
      driver: 'nvme',
      group: group + 1,
    }),
    functionOf({
      ...at,
      address: place.nic,
      ids: '15b3:1021',
      class_code: '020700',
      driver: 'mlx5_core',
      group: group + 2,
      vfs: [place.vf],
    }),
    functionOf({
      ...at,
      address: place.vf,
      ids: '15b3:101e',
      class_code: '020700',
      driver: 'vfio-pci',
      group: group + 3,
      pf: place.nic,
    }),
  ];
};

const nvswitch = (address: string) =>
  functionOf({
    address,
    ids: '10de:22a3',
    class_code: '068000',
    driver: 'nvidia-nvswitch',
    numa_node: 1,
    upstream_port: '0000:80:00.0',
    root_port: '0000:7e:01.0',
    group: 30,
  });

const systemOf = (node: Node) => ({
  hostname: node.name,
  product: 'PowerEdge XE9680',
  kernel: '6.8.0-60-generic',
  kernel_command_line:
    'BOOT_IMAGE=/vmlinuz-6.8.0-60-generic root=/dev/md0p2 ro intel_iommu=on iommu=pt default_hugepagesz=1G hugepagesz=1G hugepages=1792',
  boot_id: node.boot_id,
  booted_at: node.booted_at,
  has_kvm: true,
  is_reboot_pending: node.reboot_required,
  secure_boot: false,
  memory_mib: 2_048 * 1024,
  numa: [
    { node: 0, cpus: '0-55,112-167', memory_mib: 1_024 * 1024 },
    { node: 1, cpus: '56-111,168-223', memory_mib: 1_024 * 1024 },
  ],
  hugepages: [0, 1].map((numa) => ({ node: numa, size_kib: 1024 * 1024, total: 896, free: 640 })),
});

const diskOf = (node: Node) => (place: Place) => {
  const { nvme_serial, nvme_device } = bindingOf(node.number, place);
  const found = node.found.get(place.slot_index);
  return {
    name: `nvme${place.slot_index + 2}n1`,
    serial: found?.nvme_serial ?? nvme_serial,
    model: 'SAMSUNG MZWLO3T8HCLS-00A07',
    eui: null,
    device: nvme_device,
    major_minor: `259:${place.slot_index}`,
    pci_address: place.nvme,
    size_bytes: DRIVE_BYTES,
    namespaces: 1,
    is_boot: false,
    is_swap: false,
    mounts: found?.nvme_mounts ?? [],
    holders: [],
    filesystems: found?.nvme_filesystems ?? [],
    partitions: [],
    erase: {
      value: { sanitize_crypto: false, sanitize_block: true, format: true, format_crypto: false, discard: true },
    },
  };
};

const gpuOf = (node: Node) => (place: Place) => ({
  pci_address: place.gpu,
  model: HOST_GPU.gpu_model,
  uuid: bindingOf(node.number, place).gpu_uuid,
  memory_mib: 143_771,
  module_id: place.module_id,
  fabric_state: 'Completed',
  driver_version: DRIVER,
  mig_mode: 'disabled',
  ecc_mode: 'enabled',
  ecc_uncorrected: 0,
  temperature_c: 31 + ((node.number + place.slot_index * 3) % 17),
});

const nicOf = (node: Node) => (place: Place) => ({
  pci_address: place.nic,
  netdev: `ibp${place.slot_index}s0`,
  rdma_device: place.rdma_device,
  link_layer: 'infiniband',
  state: 'active',
  guid: digestOf(`${node.name} ${place.nic}`, 16),
  mac: null,
  is_bluefield: false,
});

export const factsOf = (world: World, node: Node) => {
  const pci = [...PLACES.flatMap(below), ...NVSWITCHES.map(nvswitch)];
  const used = new Set(slotsOf(world, node.id).flatMap((slot) => (slot.status === 'in_use' ? [slot.module_id] : [])));
  return {
    schema: 1,
    observed_at: node.discovered_at ?? node.created_at,
    system: { value: systemOf(node) },
    pci: { value: pci },
    iommu_groups: {
      value: [...Map.groupBy(pci, (one) => one.iommu_group)].map(([group, list]) => ({
        group,
        addresses: list.map((one) => one.address),
      })),
    },
    gpus: { value: PLACES.map(gpuOf(node)) },
    disks: { value: PLACES.map(diskOf(node)) },
    nics: { value: PLACES.map(nicOf(node)) },
    fabric: {
      value: {
        nvswitches: NVSWITCHES,
        manager: {
          is_running: true,
          version: DRIVER,
          driver_version: DRIVER,
          mode: 'shared_nvswitch',
          is_restart_mode: true,
        },
        partitions: PARTITIONS.map((one) => ({
          ...one,
          is_active: one.module_ids.length === 1 && one.module_ids.every((module) => used.has(module)),
        })),
      },
    },
    network: {
      value: {
        ovs_version: '3.3.0',
        bridges: [{ name: 'br-gpuaas', ports: ['eno8303'], address: '10.100.0.1/24' }],
        ip_forwarding: true,
        has_masquerade: true,
        unready: null,
      },
    },
    tools: {
      value: Object.entries({
        libvirt: '10.0.0',
        qemu: '8.2.2',
        nvme: '2.8',
        'nvidia-smi': DRIVER,
        dnsmasq: '2.90',
      }).map(([name, version]) => ({ name, version })),
    },
    images: {
      value: node.images.map(({ digest, name, size_bytes }) => ({ digest, name, size_bytes })),
    },
  };
};
