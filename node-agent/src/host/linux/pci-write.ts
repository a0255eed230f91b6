/**
 * Binding and reset of PCI functions through sysfs. The scope of a reset is computed first and compared with the
 * allowed functions: a secondary bus reset affects every function on the bus. A function-level reset leaves state
 * behind on these GPUs, so it is used only for virtual functions and where nothing else is offered.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { PciFunction } from '@gpuaas/contract/node';
import { isBridge, isNvSwitch } from '../../topology/kinds.ts';
import { HostError, type Reset } from '../host.ts';
import type { Files } from './files.ts';
import { resetMethodsOf } from './gpu/vendors.ts';
import { deviceOf, findOpeners } from './openers.ts';
import { findPci, isUnresponsive, listPci } from './pci.ts';

const DEVICES = '/sys/bus/pci/devices';
const STORAGE = '01';

type Part = Omit<PciFunction, 'upstream_port'>;

/** Reading one is much cheaper than reading all; the scope of a reset needs all. */
const getOne = async (files: Files, address: string): Promise<Part> => {
  const fn = await findPci(files, address);
  if (fn === null) throw new HostError('drift', `PCI function ${address} does not exist.`);
  return fn;
};

const find = async (
  files: Files,
  address: string,
): Promise<Readonly<{ fn: PciFunction; all: readonly PciFunction[] }>> => {
  const all = await listPci(files);
  const fn = all.find((one) => one.address === address);
  if (fn === undefined) throw new HostError('drift', `PCI function ${address} does not exist.`);
  return { fn, all };
};

const driverOf = async (files: Files, address: string): Promise<string | null> =>
  (await files.findLink(`${DEVICES}/${address}/driver`))?.split('/').at(-1) ?? null;

const refuseForeign = (fn: Part): void => {
  if (isNvSwitch(fn)) throw new HostError('blocked', `${fn.address} is an NVSwitch, which stays with the host.`);
  if (isBridge(fn)) throw new HostError('blocked', `${fn.address} is a bridge, which stays with the host.`);
  if (fn.class_code.startsWith(STORAGE))
    throw new HostError('blocked', `${fn.address} is a storage controller, which stays with the host.`);
};

/** Unbinding a function from a running VM would reset it in use, or wait for the end of the VM. */
const refuseInGuest = async (files: Files, functions: readonly Part[]): Promise<void> => {
  for (const { address, iommu_group } of functions) {
    if (iommu_group === null) continue;
    const found = await stat(join(files.root, '/dev/vfio', String(iommu_group))).catch(() => null);
    const device = found === null ? null : deviceOf(found);
    const [opener] = device === null ? [] : await findOpeners(device);
    if (opener !== undefined)
      throw new HostError('blocked', `${address} is in use by ${opener.program} (process ${opener.pid}).`);
  }
};

export const bindPci = async (files: Files, address: string, driver: 'vfio-pci' | null): Promise<void> => {
  const fn = await getOne(files, address);
  refuseForeign(fn);
  if (fn.driver === driver) return;
  const folder = `${DEVICES}/${address}`;
  if (driver !== null && fn.iommu_group === null)
    throw new HostError('blocked', `${address} is in no IOMMU group, so ${driver} cannot hold it.`);
  await refuseInGuest(files, [fn]);
  await files.write(`${folder}/driver_override`, `${driver ?? ''}\n`);
  if (fn.driver !== null) await files.write(`${folder}/driver/unbind`, address);
  if (driver !== null) await files.write('/sys/bus/pci/drivers_probe', address);
  const now = await driverOf(files, address);
  if (now !== driver)
    throw new HostError('host_error', `${address} is held by ${now ?? 'no driver'} and not by ${driver ?? 'none'}.`);
};

/** Everything on the same bus; the bridges below it are there too. */
const onBus = (address: string, all: readonly PciFunction[]): readonly string[] => {
  const bus = address.slice(0, address.lastIndexOf(':'));
  return all.map((one) => one.address).filter((one) => one.startsWith(`${bus}:`));
};

export const resetPci = async (files: Files, address: string, allowed: readonly string[]): Promise<Reset> => {
  const { fn, all } = await find(files, address);
  refuseForeign(fn);
  const isVirtual = fn.physical_function !== null;
  const method = [...resetMethodsOf(fn.vendor_id), ...fn.reset_methods].find(
    (one) => fn.reset_methods.includes(one) && !(isVirtual && one === 'bus'),
  );
  if (method === undefined) throw new HostError('unsupported', `${address} offers no reset.`);
  const scope = method === 'bus' ? onBus(address, all) : [address];
  const others = scope.filter((one) => one !== address && !allowed.includes(one));
  if (others.length > 0)
    throw new HostError('blocked', `A ${method} reset of ${address} would also reset ${others.join(', ')}.`);
  await refuseInGuest(
    files,
    all.filter((one) => scope.includes(one.address)),
  );
  const folder = `${DEVICES}/${address}`;
  await files.write(`${folder}/reset_method`, `${method}\n`);
  try {
    await files.write(`${folder}/reset`, '1\n');
  } finally {
    // The kernel returns to its default methods.
    await files.write(`${folder}/reset_method`, 'default\n');
  }
  return { method, scope, is_ok: (await isUnresponsive(files, address)) === false };
};
