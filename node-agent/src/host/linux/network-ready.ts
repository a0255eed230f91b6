/** Checks before any network change, so that a refusal leaves the host unchanged. */
import type { PrivateNetwork } from '../../vm/private-network.ts';
import { HostError } from '../host.ts';
import type { Files } from './files.ts';
import { act } from './network-config.ts';
import { jsonOf, type Run } from './run.ts';

type Link = Readonly<{
  flags?: readonly string[];
  addr_info?: readonly Readonly<{ local?: string; prefixlen?: number }>[];
}>;

const findLink = async (run: Run, name: string): Promise<Link | null> => {
  const { status, stdout } = await run({
    argv: ['ip', '-json', 'addr', 'show', 'dev', name],
    recorded: 'ip-addr-show.json',
  });
  const [link] = status === 0 ? (jsonOf(stdout, 'ip') as readonly Link[]) : [];
  return link ?? null;
};

const blocked = (message: string): HostError => new HostError('blocked', message);

/** The interface that the site configures: by its name, or by the address of its function. */
export const uplinkName = async (files: Files, uplink: string | null): Promise<string | null> => {
  if (uplink === null || !/^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/.test(uplink)) return uplink;
  const [name] = (await files.findNames(`/sys/bus/pci/devices/${uplink}/net`)) ?? [];
  if (name === undefined) throw blocked(`${uplink} is to be the uplink and has no network interface.`);
  return name;
};

export const refuseUnready = async (
  run: Run,
  { bridge, gateway, network }: PrivateNetwork,
  uplink: string | null,
): Promise<void> => {
  const link = await findLink(run, bridge);
  const address = `${gateway}/${network.prefix}`;
  if (link?.addr_info?.some((one) => `${one.local}/${one.prefixlen}` === address) !== true)
    throw blocked(`Bridge ${bridge} does not have the address ${address} of the gateway.`);
  if (link.flags?.includes('UP') !== true) throw blocked(`Bridge ${bridge} is down.`);
  if (uplink !== null && (await findLink(run, uplink)) === null)
    throw blocked(`The uplink ${uplink} is not on this host.`);
  if ((await act(run, ['cat', '/proc/sys/net/ipv4/ip_forward'])).trim() !== '1')
    throw blocked('The host does not forward: set net.ipv4.ip_forward to 1.');
  // Without it the tracked connections of a VM could not be removed.
  await act(run, ['conntrack', '--version']);
};
