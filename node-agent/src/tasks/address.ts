/**
 * The address of a slot belongs to its MAC. It is not assigned while another MAC uses it on the network of this host.
 */
import { type DhcpLease, HostError, type Network } from '../host/host.ts';

type Address = Readonly<{ mac_address: string; private_ip: string }>;

/** The state of the address; refused as a `conflict` while another MAC uses it. */
export const readAddress = async (
  network: Network,
  { mac_address: mac, private_ip: ip }: Address,
): Promise<DhcpLease> => {
  const address = await network.lease(mac, ip);
  if (address.state === 'conflict')
    throw new HostError(
      'conflict',
      `address ${ip} is reserved for MAC ${mac} but used by MAC ${address.other_mac ?? 'unknown'}`,
    );
  return address;
};
