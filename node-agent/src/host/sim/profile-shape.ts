/** The types of a hardware profile. */
export type GpuModel = Readonly<{
  vendor_device: string;
  subsystem: string;
  class_code: string;
  /** The driver bound at boot, until another is bound. */
  driver: string;
  model: string;
  memory_mib: number;
  driver_version: string;
  bars: ReadonlyArray<Readonly<{ index: number; size_bytes: number }>>;
  reset_methods: readonly string[];
  link: Readonly<{ speed: string; width: number }>;
}>;

export type DriveModel = Readonly<{
  model: string;
  vendor_device: string;
  serial_prefix: string;
  erase: Readonly<{
    sanitize_crypto: boolean;
    sanitize_block: boolean;
    format: boolean;
    format_crypto: boolean;
    discard: boolean;
  }>;
}>;

/** One switch and the devices of the slot below it. Positions are buses: every endpoint is at `<bus>:00.0`. */
export type SlotPlace = Readonly<{
  numa_node: number;
  root_port: string;
  upstream_port: string;
  gpu: string;
  module_id: number | null;
  nvme: string;
  nic: string;
  /** As the kernel numbers it; numbers have gaps. */
  rdma_device: string;
  /** The switch's own management endpoint, which looks like a storage controller but is none. */
  management: string | null;
}>;

/** Functions that belong to no slot. */
export type OtherFunction = Readonly<{
  address: string;
  vendor_device: string;
  subsystem: string | null;
  class_code: string;
  driver: string | null;
  numa_node: number | null;
  root_port: string | null;
  upstream_port: string | null;
  /** Functions with the same value share a group; without one it has its own. */
  iommu_group: string | null;
  reset_methods: readonly string[];
  nic: Readonly<{ netdev: string | null; rdma_device: string | null; is_bluefield: boolean }> | null;
}>;

export type BootDrive = Readonly<{ address: string; root_port: string; numa_node: number }>;

export type Profile = Readonly<{
  product: string;
  kernel: string;
  kernel_command_line: string;
  secure_boot: boolean;
  memory_mib: number;
  numa: ReadonlyArray<Readonly<{ node: number; cpus: string; memory_mib: number }>>;
  /** Pages of `size_kib` on each NUMA node. */
  hugepages: Readonly<{ size_kib: number; per_node: number }>;
  gpu: GpuModel;
  drive: DriveModel;
  boot_drive: DriveModel;
  boot_drives: readonly BootDrive[];
  nic: Readonly<{ vendor_device: string; vf_vendor_device: string; class_code: string; vf_count: number }>;
  slots: readonly SlotPlace[];
  others: readonly OtherFunction[];
  fabric: Readonly<{
    manager_version: string;
    partitions: ReadonlyArray<Readonly<{ partition_id: number; module_ids: readonly number[] }>>;
  }> | null;
  tools: Readonly<Record<string, string>>;
  bridge: Readonly<{ name: string; uplink: string; address: string; ovs_version: string }>;
  image_cache_bytes: number;
}>;
