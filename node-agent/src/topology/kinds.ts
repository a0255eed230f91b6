/**
 * The kind of a PCI function, by class and ID, never by place or size. Only known parts of a slot count: management
 * endpoints, NVSwitches, board graphics and BlueField cards do not.
 */
import type { NicFacts, PciFunction } from '@gpuaas/contract/node';
import { isGpuVendor, isSwitchOfVendor } from '../host/linux/gpu/vendors.ts';

const MELLANOX = '15b3';
/** 3D controller, processing accelerator, other display controller. Board graphics is VGA (0300). */
const ACCELERATOR_CLASSES = ['0302', '1200', '0380'];
/** BlueField device ids are a2xx; their DMA and management functions are no network class. */
const BLUEFIELD = /^a2[0-9a-f]{2}$/;

type Kind = Pick<PciFunction, 'vendor_id' | 'class_code' | 'physical_function'>;

export const idOf = (fn: PciFunction): string => `${fn.vendor_id}:${fn.device_id}`;
export const isBridge = (fn: Kind): boolean => fn.class_code.startsWith('06') && !isNvSwitch(fn);
export const isNvme = (fn: PciFunction): boolean => fn.class_code.startsWith('0108') && fn.physical_function === null;
export const isNvSwitch = (fn: Kind): boolean => isSwitchOfVendor(fn) && fn.physical_function === null;

/** An empty list means every accelerator of the supported vendors. */
export const isAccelerator = (fn: PciFunction, accelerators: readonly string[]): boolean => {
  if (fn.physical_function !== null || isNetwork(fn)) return false;
  if (accelerators.length > 0) return accelerators.includes(idOf(fn));
  return isGpuVendor(fn.vendor_id) && ACCELERATOR_CLASSES.some((code) => fn.class_code.startsWith(code));
};

const isNetwork = (fn: PciFunction): boolean => fn.class_code.startsWith('02');
const isStorage = (fn: PciFunction): boolean => fn.class_code.startsWith('01');

/**
 * Configured by the site and not a virtual function: there is no card behind it. Devices that the host itself needs are
 * excluded.
 */
export const isWholeFabric = (fn: PciFunction, names: readonly string[]): boolean =>
  names.includes(idOf(fn)) &&
  fn.physical_function === null &&
  fn.virtual_functions.length === 0 &&
  !isBridge(fn) &&
  !isNvSwitch(fn) &&
  !isStorage(fn) &&
  !BLUEFIELD.test(fn.vendor_id === MELLANOX ? fn.device_id : '');

/** It does not respond at its address, so its kind is unknown. */
const NO_DEVICE = 'ffff';

/** Cards that can carry a slot's fabric: network functions that can be split and are not the management card. */
export const isFabricCard = (fn: PciFunction, nics: ReadonlyMap<string, NicFacts>): boolean =>
  isNetwork(fn) &&
  fn.vendor_id !== NO_DEVICE &&
  fn.physical_function === null &&
  !BLUEFIELD.test(fn.vendor_id === MELLANOX ? fn.device_id : '') &&
  nics.get(fn.address)?.is_bluefield !== true;

export const isInfiniband = (fn: PciFunction, nic: NicFacts | undefined): boolean =>
  nic?.link_layer === 'infiniband' || (nic?.link_layer == null && fn.class_code.startsWith('0207'));
