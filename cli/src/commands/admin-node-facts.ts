/** The facts of a host in a few lines: what there is of each kind. What could not be read says so, never "none". */

type Part = { value: unknown } | { unreadable: string };
type Item = Readonly<Record<string, unknown>>;

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

/** How one of each kind is written; kinds without a line of their own are counted. */
const WORDS: Readonly<Record<string, (item: unknown) => string>> = {
  gpus: (item) => one(item, 'pci_address', 'model'),
  disks: disk,
  nics: (item) => one(item, 'pci_address', 'netdev', 'rdma_device', 'link_layer', 'state'),
  tools: (item) => ((item as Item)['version'] === null ? `${one(item, 'name')} missing` : one(item, 'name', 'version')),
  images: (item) => one(item, 'name', 'digest'),
};

const partText = (name: string, part: Part): string => {
  if ('unreadable' in part) return `could not be read: ${part.unreadable}`;
  const { value } = part;
  const words = WORDS[name];
  if (Array.isArray(value))
    return words === undefined || value.length === 0
      ? String(value.length)
      : `${value.length}: ${value.map(words).join('; ')}`;
  if (name === 'system') return one(value, 'hostname', 'product', 'kernel');
  if (name === 'fabric') {
    const { nvswitches, partitions, manager } = value as {
      nvswitches: unknown[];
      partitions: unknown[];
      manager: Item;
    };
    const running = manager['is_running'] === true ? one(manager, 'version', 'mode') : 'not running';
    return `${nvswitches.length} NVSwitches, ${partitions.length} partitions, manager ${running}`;
  }
  if (name === 'network') {
    const { bridges, ovs_version } = value as { bridges: readonly Item[]; ovs_version: string | null };
    return `OVS ${ovs_version ?? 'missing'}, bridges ${bridges.map((bridge) => one(bridge, 'name')).join(', ') || '-'}`;
  }
  return JSON.stringify(value);
};

export const factLines = (facts: Item): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [name, isPart(value) ? partText(name, value) : value]),
  );
