/** Tenant access to VMs and to bare metal: connections, serial console and keys. */
import { vmPaths } from '../../vm/host-profile.ts';
import { type Access, HostError } from '../host.ts';
import { createDial } from './access-dial.ts';
import { createKeyInstaller } from './access-keys.ts';
import { createSerial } from './access-serial.ts';
import { foldersOf, HYPERVISOR_DEFAULTS, type HypervisorConfig } from './hypervisor-config.ts';
import type { NetworkConfig } from './network-config.ts';

export const createAccess = (
  given: Readonly<{ hypervisor: HypervisorConfig | undefined; network: NetworkConfig }>,
): Access => {
  const pathsOf = (name: string) => {
    if (given.hypervisor === undefined) throw new HostError('unsupported', 'This host runs no VMs.');
    return vmPaths({ folders: foldersOf(given.hypervisor, name) }, name);
  };
  return {
    guest_username: (given.hypervisor ?? HYPERVISOR_DEFAULTS).username,
    dial: createDial(given.network.command_prefix),
    serial: createSerial(pathsOf),
    setGuestKeys: createKeyInstaller((name) => pathsOf(name).keys),
  };
};
