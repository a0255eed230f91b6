/** How a tenant is let in to its guests, and to a node that is its own: connections, the serial line and keys. */
import { machinePaths } from '../../vm/host-profile.ts';
import { type Access, HostError } from '../host.ts';
import { createDial } from './access-dial.ts';
import { createKeyTeller } from './access-keys.ts';
import { createSerial } from './access-serial.ts';
import { foldersOf, HYPERVISOR_DEFAULTS, type HypervisorConfig } from './hypervisor-config.ts';
import type { NetworkConfig } from './network-config.ts';

export const createAccess = (
  given: Readonly<{ hypervisor: HypervisorConfig | undefined; network: NetworkConfig }>,
): Access => {
  const pathsOf = (name: string) => {
    if (given.hypervisor === undefined) throw new HostError('unsupported', 'This host runs no VMs.');
    return machinePaths({ folders: foldersOf(given.hypervisor, name) }, name);
  };
  return {
    guest_username: (given.hypervisor ?? HYPERVISOR_DEFAULTS).username,
    dial: createDial(given.network.command_prefix),
    serial: createSerial(pathsOf),
    setGuestKeys: createKeyTeller((name) => pathsOf(name).keys),
  };
};
