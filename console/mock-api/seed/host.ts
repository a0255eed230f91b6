/**
 * The hardware of every host of the demo: a Dell XE9680 with eight H200. Eight PCIe switches, four per NUMA node, each
 * with one GPU, one NVMe and one ConnectX-7; bus order does not identify devices, and module IDs do not follow the bus.
 */
export type Place = Readonly<{
  slot_index: number;
  numa_node: number;
  root_port: string;
  upstream_port: string;
  gpu: string;
  module_id: number;
  nvme: string;
  nic: string;
  rdma_device: string;
  vf: string;
}>;

const BUSES = [
  ['15', '16', '1b', 2, '19', '18', 0],
  ['37', '38', '3c', 4, '3b', '3a', 1],
  ['48', '49', '4b', 3, '4c', '4d', 2],
  ['59', '5a', '5c', 1, '5e', '5d', 3],
  ['97', '98', '9a', 5, '9c', '9b', 4],
  ['b7', 'b8', 'bb', 7, 'bd', 'ba', 5],
  ['c7', 'c8', 'cd', 6, 'ca', 'cc', 8],
  ['d7', 'd8', 'dc', 8, 'da', 'db', 9],
] as const;

const at = (bus: string): string => `0000:${bus}:00.0`;

export const PLACES: readonly Place[] = BUSES.map(([root, up, gpu, module_id, nvme, nic, mlx], slot_index) => ({
  slot_index,
  numa_node: slot_index < 4 ? 0 : 1,
  root_port: `0000:${root}:01.0`,
  upstream_port: at(up),
  gpu: at(gpu),
  module_id,
  nvme: at(nvme),
  nic: at(nic),
  rdma_device: `mlx5_${mlx}`,
  vf: `0000:${nic}:00.1`,
}));

export const NVSWITCHES = ['83', '84', '85', '86'].map(at);
export const DRIVE_BYTES = 3_840_755_982_336;

const hex = (value: number): string => value.toString(16).padStart(2, '0');

/** Host-specific values: names and numbers derived from the host. */
export const bindingOf = (number: number, place: Place) => {
  const serial = `S795NC0${String(number).padStart(4, '0')}${place.slot_index}`;
  return {
    gpu_uuid: `GPU-00000000-0000-4000-${number.toString(16).padStart(4, '0')}-${String(place.slot_index).padStart(12, '0')}`,
    nvme_serial: serial,
    nvme_device: `/dev/disk/by-id/nvme-SAMSUNG_MZWLO3T8HCLS-00A07_${serial}`,
    mac_address: `02:67:70:${hex(number >> 8)}:${hex(number & 255)}:${hex(place.slot_index)}`,
    private_ip: `10.100.0.${10 + place.slot_index}`,
  };
};
