/**
 * Reads the whole host and compares it with its bundle leases. The only memory is since when a guest has sent no
 * report: after a restart the VMs are found by name.
 */
import type { CachedImage, Fact, HostDrift, HostVm, Inventory } from '@gpuaas/contract/node';
import type { DhcpLease, Host, SeenDomain } from '../host/host.ts';
import { type Lease, readLeases } from '../leases.ts';
import { domainName } from '../tasks/names.ts';
import { allocationNamed, driftOf, type HostState, isManaged, type Part } from './drift.ts';

export type ReadContext = Readonly<{
  host: Host;
  state: string;
  now(): Date;
  /** Since when each running VM has sent no report; kept between reads. */
  no_report_since: Map<string, Date>;
}>;

/** A booting guest OS sends no report for a while, and neither does one that its tenant keeps busy. */
const REPORT_STALE_MS = 10 * 60_000;

const factOf = async <T>(read: Promise<readonly T[]>): Promise<Fact<T[]>> => {
  try {
    return { value: [...(await read)] };
  } catch (err) {
    return { unreadable: (err instanceof Error ? err.message : String(err)).slice(0, 500) };
  }
};

const isRunning = (domains: readonly SeenDomain[], lease: Lease): boolean =>
  domains.some((one) => one.name === domainName(lease.allocation_id) && one.state === 'running');

/** The assigned address of each running VM. */
const readAddresses = async (
  { host }: ReadContext,
  leases: readonly Lease[],
): Promise<ReadonlyMap<string, DhcpLease>> =>
  new Map(
    await Promise.all(
      leases.map(async ({ allocation_id, plan }) => {
        const address = await host.network.lease(plan.mac_address, plan.private_ip);
        return [allocation_id, address] as const;
      }),
    ),
  );

const readGuestReports = async (
  context: ReadContext,
  leases: readonly Lease[],
): Promise<ReadonlyMap<string, string>> => {
  const { host, no_report_since } = context;
  const now = context.now();
  for (const allocationId of no_report_since.keys())
    if (!leases.some((lease) => lease.allocation_id === allocationId)) no_report_since.delete(allocationId);
  await Promise.all(
    leases.map(async ({ allocation_id }) => {
      const report = await host.hypervisor.guest(domainName(allocation_id)).catch(() => null);
      if (report !== null) no_report_since.delete(allocation_id);
      else if (!no_report_since.has(allocation_id)) no_report_since.set(allocation_id, now);
    }),
  );
  const long = [...no_report_since].filter(([, since]) => now.getTime() - since.getTime() >= REPORT_STALE_MS);
  return new Map(long.map(([allocationId, since]) => [allocationId, since.toISOString()]));
};

/**
 * The state of the host, and what could not be read: that is reported, and nothing is concluded from it. Only leases
 * and VMs must be readable, because everything else is compared with them.
 */
export const readHostState = async (
  context: ReadContext,
): Promise<HostState & Readonly<{ unreadable: readonly HostDrift[] }>> => {
  const { host } = context;
  const { leases } = await readLeases(context.state);
  const unreadable: HostDrift[] = [];
  const unread = new Set<Part>();
  const noteUnreadable = (code: string, what: string, err: unknown): void => {
    const message = `${what} could not be read: ${err instanceof Error ? err.message : String(err)}`;
    unreadable.push({ code, allocation_id: null, slot_id: null, message: message.slice(0, 500) });
  };
  const readPart = <T>(part: Part, what: string, read: Promise<readonly T[]>): Promise<readonly T[]> =>
    read.catch((err: unknown) => {
      unread.add(part);
      noteUnreadable(`unreadable_${part}`, what, err);
      return [];
    });
  const [vms, ports, pci, partitions] = await Promise.all([
    host.hypervisor.inspect(),
    readPart('ports', 'the ports of guests', host.network.ports()),
    readPart('pci', 'the PCI functions', host.pci.list()),
    readPart(
      'fabric',
      'the fabric',
      host.fabric.facts().then((facts) => facts.partitions),
    ),
  ]);
  const running = leases.filter(
    (lease) => lease.touched_at !== null && lease.cleaning_since === null && isRunning(vms.domains, lease),
  );
  const addresses = await readAddresses(context, running).catch((err: unknown) => {
    noteUnreadable('unreadable_addresses', 'the addresses of guests', err);
    return new Map<string, DhcpLease>();
  });
  const reports_stale_since = await readGuestReports(context, running);
  // In a fixed order, whichever was read first: a report is due when its content changes.
  unreadable.sort((a, b) => (a.code < b.code ? -1 : 1));
  return { leases, ...vms, ports, pci, partitions, addresses, reports_stale_since, unread, unreadable };
};

/** A disk by its serial, if one of the host's disks has this path or number. */
const serialsOf = async (host: Host): Promise<(device: string) => string> => {
  const disks = await host.disks.list().catch(() => []);
  return (device) => {
    const found = disks.find(
      (disk) =>
        disk.device === device ||
        disk.pci_address === device ||
        device === `/dev/${disk.name}` ||
        new RegExp(`^/dev/${disk.name}p\\d+$`).test(device),
    );
    return found?.serial ?? device;
  };
};

/** The limits of the contract; a report that exceeds one is refused as a whole. */
const LIMITS = {
  vms: 500,
  leases: 200,
  drift: 500,
  leftovers: 500,
  devices: 256,
  images: 500,
  word: 255,
} as const;
const cut = (word: string): string => word.slice(0, LIMITS.word);

const listImages = async (host: Host): Promise<CachedImage[]> =>
  (await host.images.list())
    .slice(0, LIMITS.images)
    .map((image) => ({ ...image, name: image.name === null ? null : cut(image.name) }));

export const inventoryOf = async (
  context: ReadContext,
  hostState: Awaited<ReturnType<typeof readHostState>>,
  repaired: readonly string[],
): Promise<Inventory> => {
  const { host } = context;
  const [system, images, serialOf] = await Promise.all([
    host.system.facts(),
    factOf(listImages(host)),
    serialsOf(host),
  ]);
  const leased = new Set(hostState.leases.map(({ allocation_id }) => allocation_id));
  const present = new Set(hostState.domains.map(({ name }) => name));
  const left = [
    ...hostState.ports.map(({ allocation_id }) => allocation_id),
    ...hostState.leftovers.map(allocationNamed),
  ].filter((id) => id.length <= LIMITS.word && !leased.has(id) && !present.has(domainName(id)));
  return {
    observed_at: context.now().toISOString(),
    boot_id: system.boot_id,
    vms: hostState.domains.slice(0, LIMITS.vms).map(
      (domain): HostVm => ({
        name: cut(domain.name),
        allocation_id: domain.allocation_id === null ? null : cut(domain.allocation_id),
        is_managed: isManaged(domain),
        state: domain.state,
        ended_by: domain.ended_by,
        devices: [...new Set(domain.devices.map((device) => cut(serialOf(device))))].slice(0, LIMITS.devices),
      }),
    ),
    leases: hostState.leases.slice(0, LIMITS.leases).map((lease) => ({
      allocation_id: lease.allocation_id,
      slot_ids: lease.slots.map(({ slot_id }) => slot_id),
      is_used: lease.touched_at !== null,
      is_cleaning: lease.cleaning_since !== null,
      wanted: lease.wanted,
    })),
    drift: [...driftOf(hostState), ...hostState.unreadable].slice(0, LIMITS.drift),
    leftovers: [...new Set(left)].slice(0, LIMITS.leftovers),
    repaired: repaired.map((word) => word.slice(0, 500)).slice(0, 200),
    images,
  };
};
