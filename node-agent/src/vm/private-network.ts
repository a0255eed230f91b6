/**
 * The network of the slices of one host, as data: flows, address translation and reservations are rendered from it. A
 * VM has one address and communicates only with the gateway, and through it with the internet.
 */
import { HostError } from '../host/host.ts';
import { interfaceName, ipv4, ipv4Network, isInNetwork, macAddress, type Network } from './grammar.ts';

export type PrivateNetwork = Readonly<{
  bridge: string;
  network: Network;
  gateway: string;
  /** Networks that VMs must not reach although the host could route to them, such as management networks. */
  denied_networks: readonly Network[];
}>;

/** A VM on its port. */
export type Guest = Readonly<{ name: string; mac_address: string; private_ip: string }>;

export const privateNetwork = (
  given: Readonly<{ bridge: string; network: string; gateway: string; denied_networks: readonly string[] }>,
): PrivateNetwork => {
  const network = ipv4Network(given.network);
  const made = {
    bridge: interfaceName(given.bridge),
    network,
    gateway: ipv4(given.gateway),
    denied_networks: given.denied_networks.map(ipv4Network),
  };
  if (network.prefix < 8 || network.prefix > 30 || !isGuestAddress(made.gateway, network))
    throw new HostError('blocked', `${made.gateway} cannot be the gateway of ${network.text}`);
  return made;
};

const numberOf = (ip: string): number => ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);

/** Neither the first address, which is the network's, nor the last, which is the broadcast address. */
const isGuestAddress = (ip: string, network: Network): boolean => {
  const place = numberOf(ip) - network.address;
  return isInNetwork(ip, network) && place > 0 && place < 2 ** (32 - network.prefix) - 1;
};

/** Everything that reaches a switch, a firewall or a DHCP server is validated first. */
export const guestOf = (given: Guest, { network, gateway }: PrivateNetwork): Guest => {
  const guest = {
    name: interfaceName(given.name),
    mac_address: macAddress(given.mac_address),
    private_ip: ipv4(given.private_ip),
  };
  if (!isGuestAddress(guest.private_ip, network) || guest.private_ip === gateway)
    throw new HostError('blocked', `${guest.private_ip} is not a guest address of ${network.text}`);
  return guest;
};

export const netmaskOf = ({ mask }: Network): string => [24, 16, 8, 0].map((shift) => (mask >>> shift) & 255).join('.');
