/** Approved values beside discovered ones, field by field, with the labels that operators use. */
export type DiffRow = Readonly<{ field: string; label: string; approved: string; found: string }>;

const LABELS: Readonly<Record<string, string>> = {
  gpu_pci_address: 'GPU address',
  gpu_uuid: 'GPU UUID',
  gpu_vendor_device: 'GPU device ID',
  gpu_model: 'GPU model',
  module_id: 'Module',
  mig_mode: 'MIG mode',
  numa_node: 'NUMA node',
  upstream_port: 'PCIe switch',
  iommu_group: 'IOMMU group',
  nvme_serial: 'NVMe serial',
  nvme_device: 'NVMe device',
  nvme_size_bytes: 'NVMe size',
  wipe_method: 'Wipe method',
  fabric_parent_pci_address: 'Fabric card',
  fabric_claim_mode: 'Fabric claim',
  fabric_vf_pci_address: 'Fabric function',
  fabric_vf_guid: 'Fabric GUID',
  mac_address: 'MAC address',
  private_ip: 'Private IP',
  ovs_port: 'Switch port',
};

export const fieldLabel = (field: string): string => {
  const plain = field.replaceAll('_', ' ');
  return LABELS[field] ?? `${plain.charAt(0).toUpperCase()}${plain.slice(1)}`;
};

/** Any value reported by a host, as text. */
export const valueText = (value: unknown): string => {
  if (value === null || value === undefined || value === '') return 'none';
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueText).join(', ');
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([name, inner]) => `${name.replaceAll('_', ' ')} ${valueText(inner)}`)
      .join('; ');
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value);
};

type Differences = Readonly<Record<string, Readonly<{ approved: unknown; found: unknown }>>>;

const ORDER = Object.keys(LABELS);
const place = (field: string): number => (ORDER.includes(field) ? ORDER.indexOf(field) : ORDER.length);

export const diffRows = (diff: Differences): readonly DiffRow[] =>
  Object.entries(diff)
    .map(([field, { approved, found }]) => ({
      field,
      label: fieldLabel(field),
      approved: valueText(approved),
      found: valueText(found),
    }))
    .sort((a, b) => place(a.field) - place(b.field) || a.field.localeCompare(b.field));
