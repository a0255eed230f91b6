/** The facts of a host in a few lines: the devices of each kind. An unreadable part says so, never "none". */

type Part = { value: unknown } | { unreadable: string };
type Item = Readonly<Record<string, unknown>>;

const DIGEST_SHOWN = 19;

const isPart = (value: unknown): value is Part =>
  typeof value === 'object' && value !== null && ('value' in value || 'unreadable' in value);

const one = (item: unknown, ...names: readonly string[]): string =>
  names
    .map((name) => (item as Item)[name])
    .filter((value) => value !== null && value !== undefined && value !== '' && value !== false)
    .map((value) => (Array.isArray(value) ? value.join('+') : String(value)))
    .join(' ');

const disk = (item: unknown): string => {
  const { is_boot, mounts, filesystems } = item as Item;
  const uses = [is_boot === true ? 'boot' : '', ...(mounts as string[]), ...(filesystems as string[])];
  const used = uses.filter((word) => word !== '').join(', ');
  return `${one(item, 'name', 'serial')}${used === '' ? '' : ` (${used})`}`;
};

const nic = (item: unknown): string => one(item, 'pci_address', 'netdev', 'rdma_device', 'link_layer', 'state');

/** How one device of each kind is written; kinds without a format are counted. */
const WORDS: Readonly<Record<string, (item: unknown) => string>> = {
  gpus: (item) => one(item, 'pci_address', 'model'),
  disks: disk,
  tools: (item) => ((item as Item)['version'] === null ? `${one(item, 'name')} missing` : one(item, 'name', 'version')),
  images: (item) => `${one(item, 'name')} ${one(item, 'digest').slice(0, DIGEST_SHOWN)}`.trim(),
};

const RECORDS: Readonly<Record<string, (value: Item) => string>> = {
  system: (value) => one(value, 'hostname', 'product', 'kernel'),
  fabric: (value) => {
    const { nvswitches, partitions, manager } = value as {
      nvswitches: unknown[];
      partitions: unknown[];
      manager: Item;
    };
    const running = manager['is_running'] === true ? one(manager, 'version', 'mode') : 'not running';
    return `${nvswitches.length} NVSwitches, ${partitions.length} partitions, manager ${running}`;
  },
  network: (value) => {
    const { bridges, ovs_version } = value as { bridges: readonly Item[]; ovs_version: string | null };
    return `OVS ${ovs_version ?? 'missing'}, bridges ${bridges.map((bridge) => one(bridge, 'name')).join(', ') || '-'}`;
  },
};

/** Virtual functions are many and similar; they are counted with their cards. */
const withoutVirtual = (value: readonly unknown[], virtual: ReadonlySet<unknown>): string => {
  const cards = value.filter((item) => !virtual.has((item as Item)['pci_address']));
  const folded = value.length - cards.length;
  return `${cards.length}${folded === 0 ? '' : ` with ${folded} virtual functions`}: ${cards.map(nic).join('; ')}`;
};

const partText = (name: string, part: Part, virtual: ReadonlySet<unknown>): string => {
  if ('unreadable' in part) return `could not be read: ${part.unreadable}`;
  const { value } = part;
  if (Array.isArray(value)) {
    const words = WORDS[name];
    if (value.length === 0) return '0';
    if (name === 'nics') return withoutVirtual(value, virtual);
    return words === undefined ? String(value.length) : `${value.length}: ${value.map(words).join('; ')}`;
  }
  const format = RECORDS[name];
  return format === undefined ? JSON.stringify(value) : format(value as Item);
};

const ORDER = ['observed_at', 'system', 'gpus', 'disks', 'nics', 'fabric', 'network', 'tools', 'images'];

export const factLines = (facts: Item): Record<string, unknown> => {
  const { pci } = facts as { pci?: Part };
  const functions = pci !== undefined && 'value' in pci && Array.isArray(pci.value) ? (pci.value as Item[]) : [];
  const virtual = new Set(functions.filter((item) => item['physical_function'] != null).map((item) => item['address']));
  const names = [...new Set([...ORDER.filter((name) => name in facts), ...Object.keys(facts)])];
  return Object.fromEntries(
    names.map((name) => {
      const value = facts[name];
      return [name, isPart(value) ? partText(name, value, virtual) : value];
    }),
  );
};
