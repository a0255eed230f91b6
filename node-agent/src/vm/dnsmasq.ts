/**
 * The DHCP server of one bridge. It serves only reserved addresses, only on its own bridge; it resolves no names of
 * VMs, because host names of one tenant must not be visible to another.
 */
import { isIPv4, isIPv6 } from 'node:net';
import { HostError } from '../host/host.ts';
import { ipv4, macAddress, path } from './grammar.ts';
import { type Guest, netmaskOf, type PrivateNetwork } from './private-network.ts';

export type DnsmasqPlan = Readonly<{
  network: PrivateNetwork;
  /** Null: those of the host's own resolver. */
  dns_servers: readonly string[] | null;
  lease_s: number;
  files: Readonly<{ hosts: string; leases: string; pid: string }>;
}>;

const server = (address: string): string => {
  if (!isIPv4(address) && !isIPv6(address)) throw new HostError('blocked', `${address} is no address of a name server`);
  return `server=${address}`;
};

export const dnsmasqConfig = ({ network, dns_servers, lease_s, files }: DnsmasqPlan): string =>
  [
    `interface=${network.bridge}`,
    'except-interface=lo',
    'bind-dynamic',
    'no-hosts',
    'domain-needed',
    'bogus-priv',
    'stop-dns-rebind',
    ...(dns_servers === null ? [] : ['no-resolv', ...dns_servers.map(server)]),
    `dhcp-range=${network.network.text.split('/')[0]},static,${netmaskOf(network.network)},${lease_s}`,
    `dhcp-option=option:router,${network.gateway}`,
    `dhcp-option=option:dns-server,${network.gateway}`,
    'dhcp-authoritative',
    'dhcp-ignore-names',
    'no-ping',
    `dhcp-hostsfile=${path(files.hosts)}`,
    `dhcp-leasefile=${path(files.leases)}`,
    `pid-file=${path(files.pid)}`,
    '',
  ].join('\n');

/** One line in a file that has the port's name. */
export const reservation = ({ mac_address, private_ip }: Guest): string =>
  `${macAddress(mac_address)},${ipv4(private_ip)}\n`;

/** Null for an unrelated line. */
export const readReservation = (text: string): Omit<Guest, 'name'> | null => {
  const [mac = '', ip = '', ...rest] = text.trim().split(',');
  return rest.length === 0 && isIPv4(ip) && /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/.test(mac)
    ? { mac_address: mac, private_ip: ip }
    : null;
};

export type LeaseLine = Readonly<{ expires_at_s: number; mac: string; ip: string; line: string }>;

/** `expiry mac ip name client-id`; an expiry of 0 is none. Other lines of the file are about IPv6. */
export const leaseLines = (text: string): readonly LeaseLine[] =>
  text.split('\n').flatMap((line) => {
    const [expiry = '', mac = '', ip = ''] = line.split(' ');
    return /^\d+$/.test(expiry) && isIPv4(ip)
      ? [{ expires_at_s: Number(expiry), mac: mac.toLowerCase(), ip, line }]
      : [];
  });

export const isLive = ({ expires_at_s }: LeaseLine, nowMs: number): boolean =>
  expires_at_s === 0 || expires_at_s * 1000 > nowMs;
