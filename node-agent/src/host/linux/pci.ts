/**
 * PCI functions from sysfs. The directory of a function lies inside those of the bridges above it, so its path is its
 * place in the tree. Which bridge is a switch's upstream port is read from its capability, or derived from the order
 * where that is unreadable.
 */
import type { PciFunction } from '@gpuaas/contract/node';
import type { Files } from './files.ts';
import { integerOf } from './files.ts';

const DEVICES = '/sys/bus/pci/devices';
const ADDRESS = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/;
const HOST_BRIDGE = /^pci[0-9a-f]{4,8}:[0-9a-f]{2}$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const VIRTUAL = /^virtfn\d+$/;
const CHILDREN = new RegExp(`${VIRTUAL.source}|${UUID.source}`);

/** Addresses on the way down to a device's directory. A volume management device starts its own tree inside. */
export const addressesIn = (path: string): readonly string[] => {
  const parts = path.split('/');
  return parts.slice(parts.findLastIndex((part) => HOST_BRIDGE.test(part)) + 1).filter((part) => ADDRESS.test(part));
};

const UPSTREAM = 5;
const PCI_EXPRESS = 0x10;
const HEADER_BYTES = 64;

/** The port type of the PCI Express capability; null where the kernel shows the header only. */
export const portTypeOf = (config: Buffer | null): number | null => {
  if (config === null || config.length <= HEADER_BYTES) return null;
  const seen = new Set<number>();
  for (let at = config[0x34] ?? 0; at >= HEADER_BYTES && !seen.has(at); at = config[at + 1] ?? 0) {
    seen.add(at);
    if (config[at] === PCI_EXPRESS) return ((config[at + 2] ?? 0) >> 4) & 0xf;
  }
  return null;
};

/** Below a root port, switches add an upstream and a downstream port each. */
const byOrder = (bridges: readonly string[]): string | null =>
  bridges.length < 2 ? null : (bridges[bridges.length % 2 === 1 ? bridges.length - 2 : bridges.length - 1] ?? null);

const upstreamOf = (bridges: readonly string[], types: ReadonlyMap<string, number | null>): string | null =>
  bridges.some((address) => (types.get(address) ?? null) === null)
    ? byOrder(bridges)
    : (bridges.findLast((address) => types.get(address) === UPSTREAM) ?? null);

const MEMORY = 0x200n;
const PREFETCHABLE = 0x2000n;
const WIDE = 0x100000n;

export const barsOf = (resource: string): PciFunction['bars'] =>
  resource
    .split('\n')
    .slice(0, 6)
    .flatMap((line, index) => {
      const [start = 0n, end = 0n, flags = 0n] = line
        .trim()
        .split(/\s+/)
        .map((word) => BigInt(word || '0'));
      if ((flags & MEMORY) === 0n || end <= start) return [];
      return [
        {
          index,
          size_bytes: Number(end - start + 1n),
          is_64bit: (flags & WIDE) !== 0n,
          is_prefetchable: (flags & PREFETCHABLE) !== 0n,
        },
      ];
    });

const hex = (text: string): string => text.replace(/^0x/, '');
const lastOf = (path: string | null): string | null => path?.split('/').at(-1) ?? null;

const linkOf = async (files: Files, folder: string): Promise<PciFunction['link']> => {
  const [speed, width, maxSpeed, maxWidth] = await Promise.all(
    ['current_link_speed', 'current_link_width', 'max_link_speed', 'max_link_width'].map((name) =>
      // The kernel refuses to read them for functions without a link.
      files.find(`${folder}/${name}`).catch(() => null),
    ),
  );
  if (!speed || !width || !maxSpeed || !maxWidth) return null;
  const widths = [Number(width), Number(maxWidth)];
  if (!widths.every(Number.isInteger)) return null;
  return { speed, width: widths[0] ?? 0, max_speed: maxSpeed, max_width: widths[1] ?? 0 };
};

const COMMAND = 4;

/**
 * Whether the device does not respond: then every byte reads as all ones. Command and status are checked, because a
 * live function never has all ones there; vendor and device are all ones for every virtual function, by the
 * specification of SR-IOV. Null if the configuration is unreadable, as in a recording.
 */
export const isUnresponsive = async (files: Files, address: string): Promise<boolean | null> => {
  const config = await files.findHead(`${DEVICES}/${address}/config`, HEADER_BYTES).catch(() => null);
  return config === null || config.length < COMMAND + 4 ? null : config.readUInt32LE(COMMAND) === 0xffff_ffff;
};

const NO_DEVICE = 'ffff';
const BRIDGE = '06';

/**
 * The kernel remembers removed devices; only the configuration shows whether one responds. Bridges and NVSwitches are
 * not checked.
 */
const vendorNow = async (files: Files, address: string, seen: Seen): Promise<string> =>
  seen.physical === null && !seen.class_code.startsWith(BRIDGE) && (await isUnresponsive(files, address)) === true
    ? NO_DEVICE
    : seen.vendor;

type Seen = Readonly<{ vendor: string; class_code: string; physical: string | null }>;

const readFunction = async (
  files: Files,
  address: string,
  types: ReadonlyMap<string, number | null>,
): Promise<PciFunction> => {
  const folder = `${DEVICES}/${address}`;
  const optional = (name: string): Promise<string | null> => files.find(`${folder}/${name}`);
  const named = async (name: string): Promise<string | null> => lastOf(await files.findLink(`${folder}/${name}`));
  const names = await files.names(folder, CHILDREN);
  const virtual = names.filter((name) => VIRTUAL.test(name));
  const [vendor, device, code, subVendor, subDevice, numa, resource, total, resets] = await Promise.all([
    files.text(`${folder}/vendor`),
    files.text(`${folder}/device`),
    files.text(`${folder}/class`),
    optional('subsystem_vendor'),
    optional('subsystem_device'),
    optional('numa_node'),
    optional('resource'),
    optional('sriov_totalvfs'),
    optional('reset_method'),
  ]);
  const [driver, group, physical, virtuals, link, real] = await Promise.all([
    named('driver'),
    named('iommu_group'),
    named('physfn'),
    Promise.all(virtual.map(named)),
    linkOf(files, folder),
    files.findReal(folder),
  ]);
  const bridges = addressesIn(real ?? folder).slice(0, -1);
  const node = numa === null ? null : integerOf(numa, `${folder}/numa_node`);
  const class_code = hex(code).padStart(6, '0');
  return {
    address,
    vendor_id: await vendorNow(files, address, { vendor: hex(vendor), class_code, physical }),
    device_id: hex(device),
    subsystem_vendor_id: subVendor === null ? null : hex(subVendor),
    subsystem_device_id: subDevice === null ? null : hex(subDevice),
    class_code,
    driver,
    // -1 means that the firmware did not report it.
    numa_node: node === -1 ? null : node,
    iommu_group: group === null ? null : integerOf(group, `${folder}/iommu_group`),
    upstream_port: upstreamOf(bridges, types),
    root_port: bridges[0] ?? null,
    bars: resource === null ? [] : barsOf(resource),
    physical_function: physical,
    virtual_functions: virtuals.filter((one) => one !== null),
    virtual_functions_max: total === null ? 0 : integerOf(total, `${folder}/sriov_totalvfs`),
    link,
    reset_methods: resets === null ? [] : resets.split(/\s+/).filter(Boolean),
    mediated_devices: names.filter((name) => UUID.test(name)).length,
  };
};

export const listPci = async (files: Files): Promise<readonly PciFunction[]> => {
  const addresses = (await files.names(DEVICES)).filter((name) => ADDRESS.test(name));
  const chains = await Promise.all(
    addresses.map(async (one) => addressesIn((await files.findReal(`${DEVICES}/${one}`)) ?? '')),
  );
  const bridges = [...new Set(chains.flatMap((chain) => chain.slice(0, -1)))];
  const types = new Map(
    await Promise.all(
      bridges.map(async (one) => [one, portTypeOf(await files.findBytes(`${DEVICES}/${one}/config`))] as const),
    ),
  );
  return Promise.all(addresses.map((address) => readFunction(files, address, types)));
};

/** One function without its position below switches; null if it does not exist. */
export const findPci = async (files: Files, address: string): Promise<Omit<PciFunction, 'upstream_port'> | null> =>
  (await files.exists(`${DEVICES}/${address}`)) ? readFunction(files, address, new Map()) : null;

const GROUPS = '/sys/kernel/iommu_groups';

export const listIommuGroups = async (
  files: Files,
): Promise<ReadonlyArray<Readonly<{ group: number; addresses: readonly string[] }>>> => {
  // A live kernel without the directory has no IOMMU support at all; in a recording it is unknown.
  const names = files.root === '/' ? ((await files.findNames(GROUPS)) ?? []) : await files.names(GROUPS);
  return Promise.all(
    names.map(async (name) => ({
      group: integerOf(name, GROUPS),
      addresses: (await files.names(`${GROUPS}/${name}/devices`)).filter((one) => ADDRESS.test(one)),
    })),
  );
};
