/** The parts of a VM's network attachment, and how to remove all of them. */
import { portCookie } from '../../vm/ovs.ts';
import type { Port } from '../host.ts';
import type { AddressServer } from './network-dhcp.ts';
import type { Nat } from './network-nat.ts';
import type { Switch, SwitchPort } from './network-switch.ts';

export type Parts = Readonly<{ ovs: Switch; nat: Nat; dhcp: AddressServer }>;

export const ownPorts = (ports: readonly SwitchPort[]): readonly Port[] => ports.flatMap(({ port }) => port ?? []);

type Named = Readonly<{ mac_address: string; private_ip: string }>;

/** Removes everything, the port first: from then on the VM is unreachable. */
export const removeAll = async (
  { ovs, nat, dhcp }: Parts,
  guests: readonly Named[],
  names: readonly string[],
): Promise<void> => {
  const state = await ovs.read();
  if (state.ports !== null)
    for (const name of names) {
      await ovs.removePort(name);
      await ovs.removeFlows(portCookie(name));
    }
  for (const name of names) await dhcp.release(name);
  const left = ownPorts((await ovs.read()).ports ?? []);
  await dhcp.forget(
    ({ mac, ip }) =>
      guests.some((one) => one.mac_address === mac || one.private_ip === ip) &&
      !left.some((one) => one.mac_address === mac),
  );
  if (left.length > 0) await nat.ensure(left);
  else await removeBase({ ovs, nat, dhcp }, state.ports !== null);
  for (const { private_ip } of guests) if (private_ip !== '') await nat.forget(private_ip);
};

/** A host without VMs runs no helper of the agent. */
export const removeBase = async ({ ovs, nat, dhcp }: Parts, hasBridge: boolean): Promise<void> => {
  await dhcp.stop();
  await nat.remove();
  if (hasBridge) await ovs.removeBase();
};
