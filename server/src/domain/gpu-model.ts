/**
 * Which GPU model a host has. The PCI ID decides, because VFIO hides the driver's name: first the IDs that the site names
 * with its SKUs, then the known ones below, then the name that a driver reports. A GPU that none of these names is shown by
 * its ID, so no node can be sold as a model that was never seen in it.
 */
import type { Candidate } from '@gpuaas/contract/node';

/** Known GPUs, as vendor:device. Add a line for a new product; `names` are those that drivers report for it. */
const KNOWN: Readonly<Record<string, Readonly<{ model: string; names: readonly string[] }>>> = {
  '10de:20b0': { model: 'A100 SXM 40GB', names: ['A100-SXM4-40GB'] },
  '10de:20b2': { model: 'A100 SXM 80GB', names: ['A100-SXM4-80GB'] },
  '10de:20f1': { model: 'A100 PCIe 40GB', names: ['A100-PCIE-40GB'] },
  '10de:20b5': { model: 'A100 PCIe 80GB', names: ['A100 80GB PCIe'] },
  '10de:2330': { model: 'H100 SXM', names: ['H100 80GB HBM3', 'H100'] },
  '10de:2331': { model: 'H100 PCIe', names: [] },
  '10de:2321': { model: 'H100 NVL', names: [] },
  '10de:2335': { model: 'H200 SXM', names: ['H200'] },
  '10de:233b': { model: 'H200 NVL', names: [] },
  '10de:2901': { model: 'B200 SXM', names: ['B200'] },
  '10de:26b9': { model: 'L40S', names: [] },
  '1002:74a1': { model: 'MI300X', names: [] },
  '1002:74a5': { model: 'MI325X', names: [] },
};

const plain = (name: string): string =>
  name
    .trim()
    .replace(/\s+/g, ' ')
    .replace(/^(?:NVIDIA|AMD)(?: Instinct)? /i, '');

const key = (name: string): string => plain(name).toLowerCase();

const MODELS = new Map(
  Object.values(KNOWN).flatMap(({ model, names }) => [model, ...names].map((name) => [key(name), model] as const)),
);

/** The name of a model without its vendor; a name that drivers report becomes the name of its product. */
export const canonicalModel = (name: string): string => MODELS.get(key(name)) ?? plain(name);

export const isSameModel = (a: string, b: string): boolean => key(canonicalModel(a)) === key(canonicalModel(b));

/** Of vendor:device; null for an unknown one. */
export const knownModel = (id: string): string | null => KNOWN[id]?.model ?? null;

/** GPUs of a host that are the same. */
export type SeenGpus = Readonly<{ vendor_device: string; driver_name: string | null; gpu_count: number }>;
export type FoundGpus = SeenGpus & Readonly<{ gpu_model: string }>;

/** Models that the site's SKUs name, by vendor:device. */
export type NamedIds = Readonly<Record<string, string>>;

/** What discovery saw, by vendor:device. */
export const seenGpus = (candidates: readonly Pick<Candidate, 'gpu_vendor_device' | 'gpu_model'>[]): SeenGpus[] => {
  const found = new Map<string, SeenGpus>();
  for (const { gpu_vendor_device: id, gpu_model } of candidates) {
    if (id === null) continue;
    const before = found.get(id);
    const driver_name = before?.driver_name ?? gpu_model;
    found.set(id, { vendor_device: id, driver_name, gpu_count: (before?.gpu_count ?? 0) + 1 });
  }
  return [...found.values()].toSorted((a, b) => (a.vendor_device < b.vendor_device ? -1 : 1));
};

export const modelOf = (
  { vendor_device, driver_name }: Pick<SeenGpus, 'vendor_device' | 'driver_name'>,
  named: NamedIds,
): string =>
  named[vendor_device] ??
  knownModel(vendor_device) ??
  (driver_name === null ? vendor_device : canonicalModel(driver_name));

export const foundGpus = (seen: readonly SeenGpus[], named: NamedIds): FoundGpus[] =>
  seen.map(({ vendor_device, driver_name, gpu_count }) => ({
    ...{ vendor_device, driver_name, gpu_count },
    gpu_model: modelOf({ vendor_device, driver_name }, named),
  }));

type DeclaredNode = Readonly<{ name: string; gpu_model: string }>;

const curesOf = (node: DeclaredNode, other: Readonly<{ gpu_model: string; vendor_device: string }>): string => {
  const rename = `Replace the GPUs, or retire the node and add it again with --gpu-model "${other.gpu_model}".`;
  return other.gpu_model === other.vendor_device
    ? `If ${other.vendor_device} is ${node.gpu_model}, name it: gpuaas admin sku update <sku> --gpu-ids ${other.vendor_device}. Otherwise replace the GPUs.`
    : rename;
};

/** Why the node cannot be sold as the model it was added with; null where every GPU found is of that model. */
export const modelConflict = (node: DeclaredNode, found: readonly FoundGpus[]): string | null => {
  const other = found.find(({ gpu_model }) => !isSameModel(gpu_model, node.gpu_model));
  if (other === undefined) return null;
  const list = found.map(
    ({ gpu_model, gpu_count, vendor_device }) =>
      `${gpu_count} ${gpu_model}${gpu_model === vendor_device ? '' : ` (${vendor_device})`}`,
  );
  return `Node ${node.name} was added as ${node.gpu_model}, but discovery found ${list.join(' and ')}. ${curesOf(node, other)}`;
};

/** Why a SKU may not name these IDs: an ID has one model, and a known one keeps it. */
export const gpuIdsProblem = (
  sku: Readonly<{ name: string; gpu_model: string; gpu_ids: readonly string[] }>,
  others: readonly Readonly<{ name: string; gpu_model: string; gpu_ids: readonly string[] }>[],
): string | null => {
  for (const id of sku.gpu_ids) {
    const known = knownModel(id);
    if (known !== null && !isSameModel(known, sku.gpu_model)) return `${id} is ${known}, not ${sku.gpu_model}`;
    const other = others.find(
      (one) => one.name !== sku.name && one.gpu_ids.includes(id) && !isSameModel(one.gpu_model, sku.gpu_model),
    );
    if (other !== undefined) return `SKU ${other.name} names ${id} as ${other.gpu_model}`;
  }
  return null;
};
