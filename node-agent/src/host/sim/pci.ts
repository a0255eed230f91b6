/** Bindings and resets of a simulated host. Bridges, NVSwitches and the boot disk are refused. */
import type { PciFunction } from '@gpuaas/contract/node';
import { HostError, type Pci } from '../host.ts';
import type { Core } from './core.ts';
import { passedDevices } from './domain-check.ts';
import { functionsNow } from './functions.ts';
import { busOf } from './hardware.ts';

const getFunction = (core: Core, address: string): PciFunction => {
  const fn = functionsNow(core).find((one) => one.address === address);
  if (fn === undefined) throw new HostError('drift', `There is no PCI function at ${address}.`);
  return fn;
};

const domainWith = (core: Core, address: string): string | null =>
  core.store.read().domains.find((domain) => domain.state === 'running' && passedDevices(domain).includes(address))
    ?.name ?? null;

const bind = (core: Core, address: string, driver: 'vfio-pci' | null): void => {
  const fn = getFunction(core, address);
  if (fn.driver === driver) return;
  if (fn.class_code.startsWith('06')) {
    throw new HostError('unsupported', `${address} is a bridge or an NVSwitch and keeps its driver.`);
  }
  if (core.profile.boot_drives.some((drive) => drive.address === address)) {
    throw new HostError('blocked', `${address} is the controller of the boot disk.`);
  }
  const user = domainWith(core, address);
  if (user !== null) throw new HostError('conflict', `${address} is in use by ${user}.`);
  core.store.change((state) => {
    state.drivers[address] = driver;
  });
};

/** A function reset affects the function; a bus reset everything on its bus. */
const scopeOf = (core: Core, fn: PciFunction): Readonly<{ method: string; scope: readonly string[] }> => {
  const method = fn.reset_methods[0];
  if (method === undefined) throw new HostError('unsupported', `${fn.address} cannot be reset.`);
  const near = functionsNow(core).filter((other) => {
    if (core.fault('reset_reaches_neighbours', fn.address) !== undefined) {
      return (
        other.upstream_port === fn.upstream_port &&
        !other.class_code.startsWith('06') &&
        other.physical_function === null
      );
    }
    return method === 'bus' && busOf(other.address) === busOf(fn.address);
  });
  return { method, scope: [...new Set([fn.address, ...near.map(({ address }) => address)])].sort() };
};

export const createPci = (core: Core): Pci => ({
  list: () => core.act('pci.list', [], () => functionsNow(core)),
  iommuGroups: () =>
    core.act('pci.iommuGroups', [], () => {
      const groups = new Map<number, string[]>();
      for (const { address, iommu_group: group } of functionsNow(core)) {
        if (group !== null) groups.set(group, [...(groups.get(group) ?? []), address]);
      }
      return [...groups].sort(([a], [b]) => a - b).map(([group, addresses]) => ({ group, addresses }));
    }),
  bind: (address, driver) => core.act('pci.bind', [address], () => bind(core, address, driver)),
  reset: (address, allowed) =>
    core.act('pci.reset', [address], (isLie) => {
      const fn = getFunction(core, address);
      const { method, scope } = scopeOf(core, fn);
      const outside = scope.filter((other) => other !== address && !allowed.includes(other));
      if (outside.length > 0) {
        throw new HostError('blocked', `A ${method} reset of ${address} would reach ${outside.join(', ')} too.`);
      }
      const user = domainWith(core, address);
      if (user !== null) throw new HostError('conflict', `${address} is in use by ${user}.`);
      const isStuck = (['reset_fails', 'd3cold', 'gpu_off_the_bus'] as const).some(
        (state) => core.fault(state, address) !== undefined,
      );
      return { method, scope, is_ok: isLie || !isStuck };
    }),
});
