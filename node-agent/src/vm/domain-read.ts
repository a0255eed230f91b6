/**
 * A domain read back, and the check that it equals the plan. It is read as libvirt has it, after libvirt added its
 * defaults; every device that reaches the host or the network counts, so an unplanned one is a difference too.
 */
import { HostError, type VmPlan } from '../host/host.ts';
import { drivesOf } from './drives.ts';
import type { HostProfile } from './host-profile.ts';
import { OWNER_NAMESPACE, planHash } from './identity.ts';
import { devicesOf } from './pci-plan.ts';
import { standInFor } from './stand-in.ts';
import { elementAt, elementsOf, readXml, textOf, type XmlElement } from './xml.ts';

export type ParsedDomain = Readonly<{
  name: string | null;
  uuid: string | null;
  /** Null: it has no tag of the agent. */
  allocation_id: string | null;
  plan_sha256: string | null;
  memory_kib: number | null;
  /** The kernel may merge its memory pages with equal ones of other VMs. */
  shares_pages: boolean;
  vcpu_count: number | null;
  /** CPUs of the host that are dedicated to one vCPU. */
  pinned_cpus: readonly number[];
  hostdevs: readonly Readonly<{ address: string; is_managed: boolean }>[];
  /** In guest order. */
  drives: readonly Readonly<{ device: string; serial: string | null; target: string }>[];
  cdroms: readonly string[];
  /** The backing paths of all its disks, of any kind. */
  sources: readonly string[];
  /** `plugs`: settings that would connect it to anything but the port of its name. */
  nics: readonly Readonly<{ mac: string; port: string; plugs: readonly string[] }>[];
  /** Addresses of the devices that emulated ones replace. */
  stand_ins: readonly string[];
  /** Arguments that bypass libvirt, without those. */
  arguments: readonly string[];
  /** Devices of kinds that no plan contains. */
  others: readonly string[];
}>;

/** They reach nothing outside the VM, or are checked one by one. */
const KNOWN = new Set(
  'emulator disk controller interface hostdev serial console channel rng memballoon input watchdog'.split(' '),
);
/** Of an interface. libvirt runs a script as root. */
const PLUGS = new Set(['source', 'virtualport', 'script', 'downscript', 'filterref', 'vlan', 'ip', 'route']);
const UNITS: Readonly<Record<string, number>> = { KiB: 1, k: 1, MiB: 1024, M: 1024, GiB: 1024 ** 2, G: 1024 ** 2 };

const numberOf = (text: string | null | undefined): number | null =>
  text !== null && text !== undefined && /^\d+$/.test(text) ? Number(text) : null;

const addressOf = (source: XmlElement | undefined): string => {
  const at = elementAt(source, 'address')?.attributes ?? {};
  const part = (name: string, digits: number): string =>
    (at[name] ?? '').replace(/^0x/, '').toLowerCase().padStart(digits, '0');
  return `${part('domain', 4)}:${part('bus', 2)}:${part('slot', 2)}.${part('function', 1)}`;
};

/** A prefix alone means nothing: its namespace decides. */
const ownerOf = (domain: XmlElement): Readonly<Record<string, string>> | undefined =>
  elementsOf(elementAt(domain, 'metadata')).find((tag) => {
    const [first = '', second] = tag.name.split(':');
    const namespace = tag.attributes[second === undefined ? 'xmlns' : `xmlns:${first}`];
    return (second ?? first) === 'machine' && namespace === OWNER_NAMESPACE;
  })?.attributes;

const isKnown = (device: XmlElement): boolean =>
  KNOWN.has(device.name) ||
  (device.name === 'video' && elementAt(device, 'model')?.attributes['type'] === 'none') ||
  (device.name === 'audio' && device.attributes['type'] === 'none');

const isDrive = (disk: XmlElement): boolean =>
  disk.attributes['type'] === 'block' && (disk.attributes['device'] ?? 'disk') === 'disk';
const isCdrom = (disk: XmlElement): boolean =>
  disk.attributes['type'] === 'file' && disk.attributes['device'] === 'cdrom';
const isPci = (hostdev: XmlElement): boolean => hostdev.attributes['type'] === 'pci';
const isPort = (nic: XmlElement): boolean => nic.attributes['type'] === 'ethernet';

const splitArguments = (all: readonly string[]): Pick<ParsedDomain, 'arguments' | 'stand_ins'> => {
  const found = all.map((arg, index) => (all[index - 1] === '-device' ? standInFor(arg) : null));
  return {
    stand_ins: found.filter((address) => address !== null),
    arguments: all.filter((_, index) => found[index] === null && (found[index + 1] ?? null) === null),
  };
};

export const parseDomain = (xml: string): ParsedDomain => {
  const domain = readXml(xml);
  if (domain.name !== 'domain') throw new HostError('host_error', `this is a ${domain.name}, not a domain`);
  const devices = elementAt(domain, 'devices');
  const all = (name: string): readonly XmlElement[] => elementsOf(devices, name);
  const memory = elementAt(domain, 'memory');
  const amount = numberOf(textOf(memory));
  const owner = ownerOf(domain);
  return {
    name: textOf(elementAt(domain, 'name')),
    uuid: textOf(elementAt(domain, 'uuid')),
    allocation_id: owner?.['allocation_id'] ?? null,
    plan_sha256: owner?.['plan_sha256'] ?? null,
    memory_kib: amount === null ? null : amount * (UNITS[memory?.attributes['unit'] ?? 'KiB'] ?? Number.NaN),
    shares_pages: elementAt(domain, 'memoryBacking', 'nosharepages') === undefined,
    vcpu_count: numberOf(textOf(elementAt(domain, 'vcpu'))),
    pinned_cpus: elementsOf(elementAt(domain, 'cputune'), 'vcpupin').flatMap(
      (pin) => numberOf(pin.attributes['cpuset']) ?? [],
    ),
    hostdevs: all('hostdev')
      .filter(isPci)
      .map((hostdev) => ({
        address: addressOf(elementAt(hostdev, 'source')),
        is_managed: hostdev.attributes['managed'] === 'yes',
      })),
    drives: all('disk')
      .filter(isDrive)
      .map((disk) => ({
        device: elementAt(disk, 'source')?.attributes['dev'] ?? '',
        serial: textOf(elementAt(disk, 'serial')),
        target: elementAt(disk, 'target')?.attributes['dev'] ?? '',
      })),
    sources: all('disk').flatMap((disk) => {
      const { dev, file } = elementAt(disk, 'source')?.attributes ?? {};
      return dev ?? file ?? [];
    }),
    cdroms: all('disk').flatMap((disk) => (isCdrom(disk) ? (elementAt(disk, 'source')?.attributes['file'] ?? '') : [])),
    nics: all('interface')
      .filter(isPort)
      .map((nic) => ({
        mac: elementAt(nic, 'mac')?.attributes['address']?.toLowerCase() ?? '',
        port: elementAt(nic, 'target')?.attributes['dev'] ?? '',
        plugs: elementsOf(nic).flatMap(({ name }) => (PLUGS.has(name) ? name : [])),
      })),
    ...splitArguments(elementsOf(elementAt(domain, 'qemu:commandline')).map((arg) => arg.attributes['value'] ?? '')),
    others: [
      ...elementsOf(devices).filter((device) => !isKnown(device)),
      ...all('disk').filter((disk) => !isDrive(disk) && !isCdrom(disk)),
      ...all('hostdev').filter((hostdev) => !isPci(hostdev)),
      ...all('interface').filter((nic) => !isPort(nic)),
    ].map((device) => [device.name, ...Object.values(device.attributes)].join(' ')),
  };
};

const differences = (
  machine: VmPlan,
  parsed: ParsedDomain,
  passthrough: HostProfile['passthrough'],
): readonly string[] => {
  const { plan } = machine;
  const devices = devicesOf(machine).toSorted();
  const addresses = parsed.hostdevs.map((one) => one.address);
  const difference = (what: string, is: unknown, wanted: unknown): string[] =>
    JSON.stringify(is) === JSON.stringify(wanted)
      ? []
      : [`${what} is ${JSON.stringify(is)}, the plan has ${JSON.stringify(wanted)}`];
  const memory = plan.hugepages === null ? plan.memory_mib * 1024 : plan.hugepages.size_kib * plan.hugepages.count;
  return [
    ...difference('its name', parsed.name, machine.name),
    ...difference('its allocation', parsed.allocation_id, machine.allocation_id),
    ...difference('its plan', parsed.plan_sha256, planHash(plan)),
    ...difference('its memory in KiB', parsed.memory_kib, memory),
    ...difference('its sharing of memory pages', parsed.shares_pages, false),
    ...difference('its number of CPUs', parsed.vcpu_count, plan.vcpu_count),
    ...difference('what is passed through', addresses.toSorted(), passthrough === 'vfio' ? devices : []),
    ...difference('what is emulated', parsed.stand_ins.toSorted(), passthrough === 'vfio' ? [] : devices),
    ...difference(
      'what libvirt would bind',
      parsed.hostdevs.filter((one) => one.is_managed),
      [],
    ),
    ...difference(
      'its drives',
      parsed.drives.map((one) => [one.device, one.serial]),
      drivesOf(plan).map((slot) => [slot.nvme_device, slot.nvme_serial]),
    ),
    ...difference('its number of seeds', parsed.cdroms.length, 1),
    ...difference(
      'its network',
      parsed.nics.map((one) => [one.mac, one.port, ...one.plugs]),
      [[plan.mac_address, plan.ovs_port]],
    ),
    ...difference('what else it has', parsed.others, []),
    ...difference(
      'arguments beside libvirt',
      parsed.arguments.filter((arg) => arg !== '-fw_cfg' && !/^name=opt\/ovmf\/X-PciMmio64Mb,string=\d+$/.test(arg)),
      [],
    ),
  ];
};

/**
 * The same VM, whether or not its definition passes the fabric functions of its slots through. The region may isolate
 * tenants now and not at the last start: a stopped VM is then defined again.
 */
export const assertSameButFabric = (
  machine: VmPlan,
  parsed: ParsedDomain,
  passthrough: HostProfile['passthrough'] = 'vfio',
): void => {
  const other = { ...machine, passes_fabric: !machine.passes_fabric };
  if (differences(other, parsed, passthrough).length > 0) assertSame(machine, parsed, passthrough);
};

/** Throws with every difference. */
export const assertSame = (
  machine: VmPlan,
  parsed: ParsedDomain,
  passthrough: HostProfile['passthrough'] = 'vfio',
): void => {
  const found = differences(machine, parsed, passthrough);
  if (found.length > 0)
    throw new HostError('conflict', `VM ${parsed.name} differs from its plan: ${found.join('; ')}.`);
};
