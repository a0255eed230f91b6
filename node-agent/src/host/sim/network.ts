/** The bridge of a simulated host: ports with their reservations, DHCP leases, and network cards. */
import { isDeepStrictEqual } from 'node:util';
import type { NicFacts, PciFunction } from '@gpuaas/contract/node';
import { type DhcpLease, HostError, type Network, type Port } from '../host.ts';
import type { Core } from './core.ts';
import { domainNames } from './domain-check.ts';
import { functionsNow } from './functions.ts';
import { isUp } from './hypervisor.ts';
import { guidOf, macOf } from './identity.ts';

const attach = (core: Core, port: Port): void => {
  const { ports } = core.store.read();
  if (ports.some((other) => isDeepStrictEqual(other, port))) return;
  for (const other of ports) {
    const shared = (['name', 'mac_address', 'private_ip'] as const).find((key) => other[key] === port[key]);
    if (shared !== undefined) {
      throw new HostError('conflict', `${port[shared]} is in use by port ${other.name} of ${other.allocation_id}.`);
    }
  }
  core.store.change((state) => {
    state.ports.push({ ...port });
  });
};

const detach = (core: Core, port: Pick<Port, 'name' | 'mac_address'>, isLie: boolean): boolean => {
  const isIt = (other: Port): boolean => other.name === port.name || other.mac_address === port.mac_address;
  const found = core.store.read().ports.some(isIt);
  if (found && !isLie) {
    core.store.change((state) => {
      state.ports = state.ports.filter((other) => !isIt(other));
    });
  }
  return found;
};

const elsewhere = (ip: string): string => ip.replace(/\d+$/, (last) => String((Number(last) + 100) % 254 || 1));

const lease = (core: Core, mac: string, expectedIp: string): DhcpLease => {
  const none = { state: 'none', ip: null, other_mac: null } as const;
  const { ports, domains } = core.store.read();
  const port = ports.find((one) => one.mac_address === mac);
  const domain = domains.find((one) => one.plan?.mac_address === mac && isUp(core, one));
  const names = domain === undefined ? [mac, expectedIp] : domainNames(domain);
  if (core.fault('mac_conflict', ...names) !== undefined) {
    return { state: 'conflict', ip: expectedIp, other_mac: macOf(core.name, 'stranger', mac) };
  }
  if (port === undefined || domain === undefined) return none;
  if (core.fault('no_lease', ...names) !== undefined) return none;
  const ip = core.fault('wrong_lease', ...names) === undefined ? port.private_ip : elsewhere(port.private_ip);
  return { state: 'bound', ip, other_mac: null };
};

const cardFacts = (core: Core, fn: PciFunction): NicFacts | null => {
  const parent = fn.physical_function ?? fn.address;
  const place = core.profile.slots.find((slot) => slot.nic === parent);
  const other = core.profile.others.find(({ address, nic }) => address === fn.address && nic !== null)?.nic ?? null;
  if (place === undefined && other === null) return null;
  const isHeld = fn.driver === 'mlx5_core' || other !== null;
  const isInfiniband = fn.class_code.startsWith('0207');
  const index = core.hardware.byAddress.get(parent)?.virtual_functions.indexOf(fn.address) ?? -1;
  const rdma =
    place === undefined ? (other?.rdma_device ?? null) : `${place.rdma_device}${index < 0 ? '' : `_vf${index}`}`;
  const netdev =
    place === undefined
      ? (other?.netdev ?? null)
      : `${isInfiniband ? 'ib' : 'en'}${place.nic.split(':')[1]}${index < 0 ? '' : `v${index}`}`;
  return {
    pci_address: fn.address,
    netdev: isHeld ? netdev : null,
    rdma_device: isHeld ? rdma : null,
    link_layer: isInfiniband ? 'infiniband' : 'ethernet',
    state: isHeld ? 'ACTIVE' : null,
    // The card reports the GUIDs of its virtual functions whatever they are bound to.
    guid: rdma === null ? null : guidOf(core.name, fn.address),
    mac: isInfiniband ? null : macOf(core.name, fn.address),
    is_bluefield: other?.is_bluefield ?? false,
  };
};

export const createNetwork = (core: Core): Network => ({
  facts: () =>
    core.act('network.facts', [], () => {
      const { bridge } = core.profile;
      const ports = [bridge.uplink, ...core.store.read().ports.map(({ name }) => name)];
      return {
        ovs_version: bridge.ovs_version,
        bridges: [{ name: bridge.name, ports, address: bridge.address }],
        ip_forwarding: true,
        has_masquerade: true,
      };
    }),
  nics: () => core.act('network.nics', [], () => functionsNow(core).flatMap((fn) => cardFacts(core, fn) ?? [])),
  attach: (port) => core.act('network.attach', [port.name, port.mac_address], () => attach(core, port)),
  detach: (port) => core.act('network.detach', [port.name, port.mac_address], (isLie) => detach(core, port, isLie)),
  ports: () => core.act('network.ports', [], () => core.store.read().ports),
  // Reservation, lease and translation of a simulated host are its port.
  remains: (port) =>
    core.act('network.remains', [port.name, port.mac_address], () => {
      const isThere = core.store
        .read()
        .ports.some(
          (other) =>
            other.name === port.name || other.mac_address === port.mac_address || other.private_ip === port.private_ip,
        );
      return { port: isThere, reservation: isThere, lease: isThere, translation: isThere };
    }),
  lease: (mac, expectedIp) => {
    const names = core.store
      .read()
      .domains.filter((domain) => domain.plan?.mac_address === mac)
      .flatMap(domainNames);
    return core.act('network.lease', [mac, ...names], () => lease(core, mac, expectedIp));
  },
});
