/**
 * The topology of a host as read by its agent: NUMA nodes, their PCIe switches, and the devices below each. The facts
 * are untrusted reports of a host: a part that is unreadable or malformed shows why instead of looking empty.
 */
export type DeviceKind = 'gpu' | 'nic' | 'nvme';
export type Device = Readonly<{
  kind: DeviceKind;
  address: string;
  name: string;
  detail: string;
  numa: number | null;
  /** Index of the slot it is approved or proposed for. */
  slot: number | null;
  module: number | null;
}>;
export type Switch = Readonly<{ port: string | null; devices: readonly Device[] }>;
export type NumaNode = Readonly<{ numa: number | null; switches: readonly Switch[] }>;
export type LinkSet = Readonly<{ id: number; modules: readonly number[]; isActive: boolean }>;
export type Topology = Readonly<{
  hostname: string | null;
  numaNodes: readonly NumaNode[];
  nvswitches: readonly string[];
  linkSets: readonly LinkSet[];
  /** The unreadable parts, as sentences. */
  unreadable: readonly string[];
}>;

/** The fields of a bundle that link devices together. */
export type Binding = Readonly<{
  slot_index: number;
  gpu_pci_address: string | null;
  nvme_serial: string | null;
  fabric_vf_pci_address?: string | null;
  fabric_parent_pci_address?: string | null;
}>;

type Raw = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Raw => typeof value === 'object' && value !== null && !Array.isArray(value);
const objects = (value: unknown): readonly Raw[] => (Array.isArray(value) ? value.filter(isObject) : []);
const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const number = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) ? value : null);
const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];

/** The value of a part, or undefined; the reason is recorded. */
const part = (facts: Raw, name: string, unreadable: string[]): unknown => {
  const fact = facts[name];
  if (isObject(fact) && 'value' in fact) return fact['value'];
  const why = isObject(fact) ? text(fact['unreadable']) : null;
  unreadable.push(`${name}: ${why ?? 'not reported by the host.'}`);
  return undefined;
};

const GIB = 1024;
const detailOf = (...parts: readonly (string | null | false)[]): string =>
  parts.filter((one) => typeof one === 'string' && one !== '').join(', ');

/** Virtual functions belong to their physical card. */
const cardOf = (address: string | null | undefined, pci: ReadonlyMap<string, Raw>): string | null =>
  address === null || address === undefined ? null : (text(pci.get(address)?.['physical_function']) ?? address);

export const readTopology = (facts: unknown, bindings: readonly Binding[] = []): Topology => {
  const unreadable: string[] = [];
  const root = isObject(facts) ? facts : {};
  const system = part(root, 'system', unreadable);
  const pci = new Map(
    objects(part(root, 'pci', unreadable)).flatMap((fn) => {
      const address = text(fn['address']);
      return address === null ? [] : [[address, fn] as const];
    }),
  );
  const fabric = part(root, 'fabric', unreadable);
  const slotBy = (matches: (binding: Binding) => boolean): number | null => bindings.find(matches)?.slot_index ?? null;
  const numaOf = (address: string): number | null => {
    const numa = number(pci.get(address)?.['numa_node']);
    return numa === null || numa < 0 ? null : numa;
  };

  const devices: Device[] = [];
  for (const gpu of objects(part(root, 'gpus', unreadable))) {
    const address = text(gpu['pci_address']);
    if (address === null) continue;
    const memory = number(gpu['memory_mib']);
    devices.push({
      kind: 'gpu',
      address,
      name: text(gpu['model']) ?? 'GPU',
      detail: detailOf(
        memory !== null && `${Math.round(memory / GIB)} GiB`,
        number(gpu['module_id']) !== null && `module ${number(gpu['module_id'])}`,
        text(pci.get(address)?.['driver']) !== null && `driver ${text(pci.get(address)?.['driver'])}`,
        text(gpu['mig_mode']) === 'enabled' && 'MIG on',
      ),
      numa: numaOf(address),
      slot: slotBy((binding) => binding.gpu_pci_address === address),
      module: number(gpu['module_id']),
    });
  }
  for (const nic of objects(part(root, 'nics', unreadable))) {
    const address = text(nic['pci_address']);
    if (address === null || text(pci.get(address)?.['physical_function']) !== null) continue;
    devices.push({
      kind: 'nic',
      address,
      name: text(nic['rdma_device']) ?? text(nic['netdev']) ?? 'Network card',
      detail: detailOf(text(nic['link_layer']), text(nic['state']), nic['is_bluefield'] === true && 'BlueField'),
      numa: numaOf(address),
      slot: slotBy(
        (binding) =>
          cardOf(binding.fabric_vf_pci_address, pci) === address || binding.fabric_parent_pci_address === address,
      ),
      module: null,
    });
  }
  for (const disk of objects(part(root, 'disks', unreadable))) {
    const address = text(disk['pci_address']);
    if (address === null) continue;
    const serial = text(disk['serial']);
    const size = number(disk['size_bytes']);
    devices.push({
      kind: 'nvme',
      address,
      name: text(disk['name']) ?? 'Disk',
      detail: detailOf(
        size !== null && `${(size / 1e12).toFixed(1)} TB`,
        serial !== null && `serial ${serial}`,
        disk['is_boot'] === true && 'boot disk',
        texts(disk['mounts']).length > 0 && `mounted at ${texts(disk['mounts']).join(' ')}`,
      ),
      numa: numaOf(address),
      slot: serial === null ? null : slotBy((binding) => binding.nvme_serial === serial),
      module: null,
    });
  }

  return {
    hostname: isObject(system) ? text(system['hostname']) : null,
    numaNodes: arrange(devices, (device) => text(pci.get(device.address)?.['upstream_port'])),
    nvswitches: isObject(fabric) ? texts(fabric['nvswitches']) : [],
    linkSets: objects(isObject(fabric) ? fabric['partitions'] : undefined).flatMap((set): LinkSet[] => {
      const id = number(set['partition_id']);
      const modules = Array.isArray(set['module_ids'])
        ? set['module_ids'].filter((one) => typeof one === 'number')
        : [];
      return id === null ? [] : [{ id, modules, isActive: set['is_active'] === true }];
    }),
    unreadable,
  };
};

const ORDER: Readonly<Record<DeviceKind, number>> = { gpu: 0, nic: 1, nvme: 2 };
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** NUMA nodes in order, switches by address, devices below no switch last. */
const arrange = (devices: readonly Device[], portOf: (device: Device) => string | null): readonly NumaNode[] => {
  const nodes = Map.groupBy(devices, ({ numa }) => numa);
  return [...nodes]
    .sort(([a], [b]) => (a ?? Number.POSITIVE_INFINITY) - (b ?? Number.POSITIVE_INFINITY))
    .map(([numa, found]) => ({
      numa,
      switches: [...Map.groupBy(found, portOf)]
        .sort(([a], [b]) => Number(a === null) - Number(b === null) || byText(a ?? '', b ?? ''))
        .map(([port, under]) => ({
          port,
          devices: under.toSorted((a, b) => ORDER[a.kind] - ORDER[b.kind] || byText(a.address, b.address)),
        })),
    }));
};
