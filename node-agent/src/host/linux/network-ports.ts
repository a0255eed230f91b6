/**
 * Attaches a VM to the network of its host: a port that passes only the VM's own traffic, a reserved address, and
 * outbound translation. It is all or nothing: a partial failure is undone, and so are leftovers of an agent that died.
 * One change at a time, because the parts belong to the whole bridge.
 */
import { isDeepStrictEqual } from 'node:util';
import { isLive } from '../../vm/dnsmasq.ts';
import { allocationId, interfaceName, macAddress } from '../../vm/grammar.ts';
import { translatedAddresses } from '../../vm/nft.ts';
import { portCookie } from '../../vm/ovs.ts';
import { guestOf, privateNetwork } from '../../vm/private-network.ts';
import { type DhcpLease, HostError, type Network, type NetworkRemains, type Port } from '../host.ts';
import type { Files } from './files.ts';
import { type NetworkConfig, networkRun } from './network-config.ts';
import { createAddressServer } from './network-dhcp.ts';
import { createNat } from './network-nat.ts';
import { ownPorts, type Parts, removeAll } from './network-parts.ts';
import { refuseUnready, uplinkName } from './network-ready.ts';
import { removeStale, restorePorts } from './network-restore.ts';
import { createSwitch, type SwitchPort } from './network-switch.ts';
import type { Run } from './run.ts';

export type Ports = Pick<Network, 'attach' | 'detach' | 'ports' | 'remains' | 'lease'> &
  Readonly<{
    /**
     * Restores what a restart of switch, firewall or host removed from existing ports, and removes rules without a
     * port.
     */
    restore(): Promise<readonly string[]>;
  }>;

type Given = Readonly<{ config: NetworkConfig; files: Files; run: Run; now?: () => number }>;

export const createPorts = ({ config, files, run: plain, now = Date.now }: Given): Ports => {
  const network = privateNetwork(config);
  const run = networkRun(plain, config);
  const partsNow = async (): Promise<Parts & Readonly<{ uplink: string | null }>> => {
    const uplink = await uplinkName(files, config.uplink);
    return {
      uplink,
      ovs: createSwitch(run, config, network),
      nat: createNat(run, network, uplink),
      dhcp: createAddressServer(run, config, network),
    };
  };

  let last: Promise<unknown> = Promise.resolve();
  const alone = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = last.then(work, work);
    last = mine.catch(() => undefined);
    return mine;
  };

  const attach = async (given: Port): Promise<void> => {
    const port = { ...guestOf(given, network), allocation_id: allocationId(given.allocation_id) };
    const { uplink, ...parts } = await partsNow();
    const there = await getPorts(parts, network.bridge);
    await refuseUnready(run, network, uplink);
    refuseTaken(port, there, (await parts.ovs.read()).elsewhere);
    const wasThere = there.some((one) => one.name === port.name);
    try {
      await ensureAll(parts, port, ownPorts(there));
    } catch (error) {
      // A running VM keeps its state: its port is closed by its VLAN if flows are missing.
      if (!wasThere) await removeAll(parts, [port], [port.name]).catch(() => undefined);
      throw error;
    }
  };

  return {
    attach: (port) => alone(() => attach(port)),
    detach: (port) =>
      alone(async () => {
        const named = { name: interfaceName(port.name), mac_address: macAddress(port.mac_address.toLowerCase()) };
        return detachPort(await partsNow(), named);
      }),
    ports: async () => {
      const { ports } = await createSwitch(run, config, network).read();
      return ownPorts(ports ?? []).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    },
    remains: async (port) => findRemains(await partsNow(), port),
    lease: async (mac, expectedIp) => readLease(await partsNow(), { mac: mac.toLowerCase(), expectedIp, now: now() }),
    restore: () => alone(async () => restorePorts(await partsNow())),
  };
};

const getPorts = async ({ ovs }: Parts, bridge: string): Promise<readonly SwitchPort[]> => {
  const { ports } = await ovs.read();
  if (ports === null)
    throw new HostError('blocked', `There is no bridge ${bridge}. Make it with the gateway's address on it.`);
  return ports;
};

const refuseTaken = (port: Port, there: readonly SwitchPort[], elsewhere: readonly string[]): void => {
  if (elsewhere.includes(port.name) || there.some((one) => one.name === port.name && one.port === null))
    throw new HostError('conflict', `a port ${port.name} is on the switch and is not managed by GPUaaS`);
  for (const other of ownPorts(there)) {
    if (isDeepStrictEqual(other, port)) continue;
    const shared = (['name', 'mac_address', 'private_ip'] as const).find((key) => other[key] === port[key]);
    if (shared !== undefined)
      throw new HostError(
        'conflict',
        `${port[shared]} was to go to MAC ${port.mac_address} (port ${port.name} of ${port.allocation_id}) ` +
          `but is held by MAC ${other.mac_address} (port ${other.name} of ${other.allocation_id})`,
      );
  }
};

const ensureAll = async ({ ovs, nat, dhcp }: Parts, port: Port, there: readonly Port[]): Promise<void> => {
  const all = [...there.filter((one) => one.name !== port.name), port];
  await ovs.ensureBase();
  await dhcp.ensure();
  // An address of a former VM without a port would be refused to this one.
  await removeStale({ ovs, nat, dhcp }, all, true);
  await dhcp.reserve(port);
  await nat.ensure(all);
  // The port last: when it opens, everything else is in place.
  const ofport = await ovs.ensurePort(port);
  await ovs.ensureFlows(port, ofport);
};

const detachPort = async (parts: Parts, given: Pick<Port, 'name' | 'mac_address'>): Promise<boolean> => {
  const { ovs, dhcp } = parts;
  const { mac_address: mac } = given;
  const isIt = (one: Readonly<{ name: string; mac_address: string }>): boolean =>
    one.name === given.name || one.mac_address === mac;
  const look = async () => {
    const state = await ovs.read();
    const ports = ownPorts(state.ports ?? []).filter(isIt);
    const reservations = (await dhcp.reservations()).filter(isIt);
    const leases = (await dhcp.leases()).filter((lease) => lease.mac === mac);
    const cookies = state.ports === null ? [] : await ovs.cookies();
    const names = [...new Set([given.name, ...ports.map(({ name }) => name), ...reservations.map(({ name }) => name)])];
    const flows = names.filter((name) => cookies.includes(portCookie(name)));
    return {
      names,
      guests: [
        ...ports,
        ...reservations,
        ...leases.map(({ ip }) => ({ mac_address: mac, private_ip: ip })),
        { mac_address: mac, private_ip: '' },
      ],
      count: ports.length + reservations.length + leases.length + flows.length,
    };
  };
  const { ports } = await ovs.read();
  if (ports?.some((one) => one.name === given.name && one.port === null))
    throw new HostError('conflict', `port ${given.name} is on the switch and is not managed by GPUaaS`);
  const found = await look();
  await removeAll(parts, found.guests, found.names);
  if ((await look()).count > 0)
    throw new HostError('host_error', `port ${given.name} was removed and something of it is still there`);
  return found.count > 0;
};

/** By name, MAC and address separately: a part that lost its name is found by the others. */
const findRemains = async ({ ovs, nat, dhcp }: Parts, port: Omit<Port, 'allocation_id'>): Promise<NetworkRemains> => {
  const mac = port.mac_address.toLowerCase();
  const isIt = (one: Readonly<{ name: string; mac_address: string; private_ip: string }>): boolean =>
    one.name === port.name || one.mac_address === mac || one.private_ip === port.private_ip;
  const [state, reservations, leases, table] = await Promise.all([
    ovs.read(),
    dhcp.reservations(),
    dhcp.leases(),
    nat.read(),
  ]);
  const cookies = state.ports === null ? [] : await ovs.cookies();
  return {
    port:
      state.elsewhere.includes(port.name) ||
      (state.ports ?? []).some((one) => one.name === port.name) ||
      ownPorts(state.ports ?? []).some(isIt) ||
      cookies.includes(portCookie(port.name)),
    reservation: reservations.some(isIt),
    lease: leases.some((lease) => lease.mac === mac || lease.ip === port.private_ip),
    translation: table !== null && translatedAddresses(table).includes(port.private_ip),
  };
};

const readLease = async (
  { ovs, dhcp }: Parts,
  { mac, expectedIp, now }: Readonly<{ mac: string; expectedIp: string; now: number }>,
): Promise<DhcpLease> => {
  const leases = (await dhcp.leases()).filter((lease) => isLive(lease, now));
  const port = ownPorts((await ovs.read()).ports ?? []).find((one) => one.mac_address === mac);
  const holder = leases.find((lease) => lease.ip === expectedIp && lease.mac !== mac)?.mac;
  const other = holder ?? (port === undefined ? null : await ovs.claimant({ ...port, private_ip: expectedIp }));
  if (other !== null) return { state: 'conflict', ip: expectedIp, other_mac: other };
  const own = leases.find((lease) => lease.mac === mac);
  return own === undefined
    ? { state: 'none', ip: null, other_mac: null }
    : { state: 'bound', ip: own.ip, other_mac: null };
};
