/**
 * What an agent reads of its host, and nothing it concludes from it. A part that could not be read is marked, with the reason:
 * "cannot read" is a fact of its own and never reads as "there is none".
 */
import Type, { type TSchema } from 'typebox';
import { Closed, HostTime, Nullable, StringEnum } from '../common.ts';

/** A part of the facts: its value, or why it could not be read. */
export const Fact = <T extends TSchema>(value: T) =>
  Type.Union([Closed({ value }), Closed({ unreadable: Type.String({ description: 'Reason, as a sentence.' }) })]);

export const PciAddress = Type.String({
  pattern: '^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]$',
  examples: ['0000:1b:00.0'],
});
const Hex4 = Type.String({ pattern: '^[0-9a-f]{4}$' });
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

export const PciFunction = Closed({
  address: PciAddress,
  vendor_id: Hex4,
  device_id: Hex4,
  subsystem_vendor_id: Nullable(Hex4),
  subsystem_device_id: Nullable(Hex4),
  /** Six hexadecimal digits, e.g. 030200. */
  class_code: Type.String({ pattern: '^[0-9a-f]{6}$' }),
  driver: Nullable(Type.String()),
  numa_node: Nullable(Type.Integer()),
  iommu_group: Nullable(Type.Integer()),
  /** The upstream port of the nearest switch above; null where it hangs on a root port. Pairs are made by it. */
  upstream_port: Nullable(PciAddress),
  root_port: Nullable(PciAddress),
  bars: Type.Array(
    Closed({ index: Count, size_bytes: Count, is_64bit: Type.Boolean(), is_prefetchable: Type.Boolean() }),
  ),
  /** The physical function, for a virtual one. */
  physical_function: Nullable(PciAddress),
  virtual_functions: Type.Array(PciAddress),
  virtual_functions_max: Count,
  link: Nullable(Closed({ speed: Type.String(), width: Count, max_speed: Type.String(), max_width: Count })),
  reset_methods: Type.Array(Type.String()),
  /** Mediated devices (vGPU) made of it. */
  mediated_devices: Count,
});

export const GpuFacts = Closed({
  pci_address: PciAddress,
  /** Null if no driver of the host is bound to it: with VFIO only the guest OS can read it. */
  model: Nullable(Type.String()),
  uuid: Nullable(Type.String()),
  memory_mib: Nullable(Count),
  module_id: Nullable(Count),
  fabric_state: Nullable(Type.String()),
  driver_version: Nullable(Type.String()),
  mig_mode: Nullable(StringEnum(['enabled', 'disabled'])),
  ecc_mode: Nullable(StringEnum(['enabled', 'disabled'])),
  ecc_uncorrected: Nullable(Count),
  temperature_c: Nullable(Type.Integer()),
});

export const DiskFacts = Closed({
  /** Kernel name, e.g. nvme3n1. It may change at the next boot; the serial does not. */
  name: Type.String(),
  serial: Nullable(Type.String()),
  model: Nullable(Type.String()),
  eui: Nullable(Type.String()),
  /** /dev/disk/by-id/… */
  device: Nullable(Type.String()),
  major_minor: Nullable(Type.String({ pattern: '^[0-9]+:[0-9]+$' })),
  pci_address: Nullable(PciAddress),
  size_bytes: Count,
  namespaces: Nullable(Count),
  is_boot: Type.Boolean({ description: 'Holds the root or boot file system.' }),
  is_swap: Type.Boolean(),
  mounts: Type.Array(Type.String()),
  holders: Type.Array(Type.String()),
  /** Signatures found on it or its partitions, e.g. ext4, LVM2_member. */
  filesystems: Type.Array(Type.String()),
  /** Why what is written on this disk could not be read; `filesystems` then proves nothing. */
  unreadable: Type.Optional(Type.String()),
  partitions: Type.Array(Type.String()),
  erase: Fact(
    Closed({
      sanitize_crypto: Type.Boolean(),
      sanitize_block: Type.Boolean(),
      format: Type.Boolean(),
      format_crypto: Type.Boolean(),
      discard: Type.Boolean(),
    }),
  ),
});

export const NicFacts = Closed({
  pci_address: PciAddress,
  netdev: Nullable(Type.String()),
  rdma_device: Nullable(Type.String()),
  link_layer: Nullable(StringEnum(['infiniband', 'ethernet'])),
  state: Nullable(Type.String()),
  guid: Nullable(Type.String()),
  mac: Nullable(Type.String()),
  is_bluefield: Type.Boolean(),
});

export const FabricPartition = Closed({
  partition_id: Type.Integer({ minimum: 0 }),
  module_ids: Type.Array(Type.Integer(), { minItems: 1 }),
  is_active: Type.Boolean(),
});

export const FabricFacts = Closed({
  nvswitches: Type.Array(PciAddress),
  manager: Closed({
    is_running: Type.Boolean(),
    version: Nullable(Type.String()),
    driver_version: Type.Optional(
      Nullable(Type.String({ description: 'Version of the driver, which it must equal.' })),
    ),
    mode: Nullable(StringEnum(['bare_metal', 'shared_nvswitch', 'vgpu'])),
    is_restart_mode: Type.Optional(
      Type.Boolean({ description: 'Whether Fabric Manager reads the partitions in use when it starts.' }),
    ),
  }),
  partitions: Type.Array(FabricPartition),
});

export const NetworkFacts = Closed({
  ovs_version: Nullable(Type.String()),
  bridges: Type.Array(
    Closed({ name: Type.String(), ports: Type.Array(Type.String()), address: Nullable(Type.String()) }),
  ),
  ip_forwarding: Type.Boolean(),
  has_masquerade: Type.Boolean(),
  /** Why no guest could be attached now; null when one could. */
  unready: Type.Optional(Nullable(Type.String())),
});

/**
 * How a VM starts its image: `uefi` runs the boot loader of the image in the firmware of the VM, `kernel` a kernel that the
 * host provides.
 */
export const BOOT_KINDS = ['uefi', 'kernel'] as const;
export type BootKind = (typeof BOOT_KINDS)[number];

export const HypervisorFacts = Closed({
  libvirt_version: Nullable(Type.String({ description: 'Null if libvirt does not respond.' })),
  /** Found by running a guest on it, once in each boot of the host. */
  kvm: Closed({ is_usable: Type.Boolean(), reason: Nullable(Type.String()) }),
  accelerator: StringEnum(['kvm', 'tcg'], { description: 'Accelerator that VMs use on this host.' }),
  missing_files: Type.Array(Type.String(), { description: 'Emulator and firmware that the settings name.' }),
});

export const SystemFacts = Closed({
  hostname: Type.String(),
  product: Nullable(Type.String()),
  kernel: Type.String(),
  kernel_command_line: Type.String(),
  boot_id: Type.String(),
  booted_at: HostTime('When the host booted.'),
  has_kvm: Type.Boolean(),
  /** Packages were installed that wait for a restart of the host. */
  is_reboot_pending: Type.Optional(Type.Boolean()),
  secure_boot: Nullable(Type.Boolean()),
  memory_mib: Count,
  numa: Type.Array(Closed({ node: Type.Integer(), cpus: Type.String(), memory_mib: Count })),
  hugepages: Type.Array(Closed({ node: Type.Integer(), size_kib: Count, total: Count, free: Count })),
});

export const Tool = Closed({
  name: Type.String(),
  version: Nullable(Type.String({ description: 'Null if absent.' })),
});
export const CachedImage = Closed({
  digest: Type.String({ maxLength: 128 }),
  name: Nullable(Type.String({ maxLength: 255 })),
  size_bytes: Count,
  verified_at: Type.Optional(HostTime('When its bytes were last hashed.')),
  last_used_at: Type.Optional(HostTime('When it was last pulled or cloned.')),
});

export const HostFacts = Closed({
  schema: Type.Literal(1),
  observed_at: HostTime('When it was read.'),
  system: Fact(SystemFacts),
  pci: Fact(Type.Array(PciFunction)),
  iommu_groups: Fact(Type.Array(Closed({ group: Type.Integer(), addresses: Type.Array(PciAddress) }))),
  gpus: Fact(Type.Array(GpuFacts)),
  disks: Fact(Type.Array(DiskFacts)),
  nics: Fact(Type.Array(NicFacts)),
  fabric: Fact(FabricFacts),
  network: Fact(NetworkFacts),
  tools: Fact(Type.Array(Tool)),
  images: Fact(Type.Array(CachedImage)),
  hypervisor: Type.Optional(Fact(HypervisorFacts)),
  /** The boot kinds whose files are on the host; absent from agents of earlier releases. */
  boot_kinds: Type.Optional(Fact(Type.Array(StringEnum(BOOT_KINDS)))),
});
