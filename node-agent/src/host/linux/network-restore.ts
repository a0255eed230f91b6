/**
 * Restores the network after a restart of agent, switch, firewall or host. The ports in the switch's database name
 * their allocation and are the reference. What belongs to a port is restored; everything else is removed: reservations,
 * leases, flows, translation.
 */
import { translatedAddresses } from '../../vm/nft.ts';
import { BASE_COOKIE, portCookie } from '../../vm/ovs.ts';
import type { Port } from '../host.ts';
import { ownPorts, type Parts, removeBase } from './network-parts.ts';

export const restorePorts = async (parts: Parts): Promise<readonly string[]> => {
  const { ports } = await parts.ovs.read();
  const own = ownPorts(ports ?? []);
  const removed = await removeStale(parts, own, ports !== null);
  if (own.length > 0) return [...removed, ...(await putBack(parts, own))];
  if (await isAnythingLeft(parts, ports !== null)) {
    await removeBase(parts, ports !== null);
    return [...removed, 'removed shared network state: no guests are left'];
  }
  return removed;
};

const isAnythingLeft = async ({ ovs, nat, dhcp }: Parts, hasBridge: boolean): Promise<boolean> =>
  (await dhcp.isRunning()) || (await nat.read()) !== null || (hasBridge && (await ovs.cookies()).length > 0);

/** Parts that belong to none of these ports. */
export const removeStale = async (
  { ovs, nat, dhcp }: Parts,
  own: readonly Port[],
  hasBridge: boolean,
): Promise<readonly string[]> => {
  const repairs: string[] = [];
  for (const one of await dhcp.reservations()) {
    const port = own.find(({ name }) => name === one.name);
    if (port?.mac_address === one.mac_address && port.private_ip === one.private_ip) continue;
    await dhcp.release(one.name);
    repairs.push(`removed the reservation of ${one.private_ip || 'no address'} for ${one.name}`);
  }
  const gone = await dhcp.forget(
    ({ mac, ip }) => !own.some((port) => port.mac_address === mac && port.private_ip === ip),
  );
  if (gone > 0) repairs.push(`removed ${gone} DHCP leases without a port`);
  const known = new Set([BASE_COOKIE, ...own.map(({ name }) => portCookie(name))]);
  for (const cookie of hasBridge ? await ovs.cookies() : [])
    if (!known.has(cookie)) {
      await ovs.removeFlows(cookie);
      repairs.push(`removed flows ${cookie} of a port that is gone`);
    }
  const table = await nat.read();
  for (const ip of table === null ? [] : translatedAddresses(table))
    if (!own.some((port) => port.private_ip === ip)) {
      const count = await nat.forget(ip);
      repairs.push(`ended the translation of ${ip}${count > 0 ? ' and its connections' : ''}`);
    }
  return repairs;
};

const putBack = async ({ ovs, nat, dhcp }: Parts, own: readonly Port[]): Promise<readonly string[]> => {
  const repairs: string[] = [];
  await ovs.ensureBase();
  if (await dhcp.ensure()) repairs.push('started the address server');
  for (const port of own) {
    await dhcp.reserve(port);
    if (await ovs.ensureFlows(port, await ovs.ensurePort(port))) repairs.push(`restored the flows of ${port.name}`);
  }
  if (await nat.ensure(own)) repairs.push('rewrote address translation');
  return repairs;
};
