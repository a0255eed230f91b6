/** Files of a tree that react to writes as the PCI subsystem of the kernel does: drivers are bound, unbound and reset. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Files } from '../src/host/linux/files.ts';
import { putTree } from './tree.ts';

const DEVICES = '/sys/bus/pci/devices';
const ADDRESS = /^\/sys\/bus\/pci\/devices\/([^/]+)\/(.+)$/;

/** A configuration header with these ids, memory decoding on. All ones: the function does not respond. */
export const configOf = (vendor: number, device: number): Buffer => {
  const config = Buffer.alloc(64);
  config.writeUInt16LE(vendor, 0);
  config.writeUInt16LE(device, 2);
  config.writeUInt16LE(0x0002, 4);
  return config;
};
export const SILENT_CONFIG = Buffer.alloc(64, 0xff);

export const withPciKernel = (files: Files): Files => {
  const overrides = new Map<string, string>();
  const methods = new Map<string, string>();
  const driverLink = (address: string): string => join(files.root, DEVICES, address, 'driver');
  const unbind = (address: string): Promise<void> => rm(driverLink(address), { force: true });
  const probe = async (address: string): Promise<void> => {
    const driver = overrides.get(address);
    if (driver === undefined || (await files.findLink(`${DEVICES}/${address}/driver`)) !== null) return;
    await putTree(files.root, { [`${DEVICES}/${address}/driver`]: { link: `../../../bus/pci/drivers/${driver}` } });
  };
  const setMethod = async (address: string, text: string): Promise<void> => {
    const path = `${DEVICES}/${address}/reset_method`;
    if (!methods.has(address)) methods.set(address, await files.text(path));
    await putTree(files.root, { [path]: `${text === 'default' ? methods.get(address) : text}\n` });
  };
  return {
    ...files,
    write: async (path, text) => {
      const word = text.trim();
      const [, address = '', name] = ADDRESS.exec(path) ?? [];
      if (path === '/sys/bus/pci/drivers_probe') await probe(word);
      else if (name === 'driver_override')
        if (word === '') overrides.delete(address);
        else overrides.set(address, word);
      else if (name === 'driver/unbind') await unbind(word);
      else if (name === 'reset_method') await setMethod(address, word);
      else if (name !== 'reset') await files.write(path, text);
    },
  };
};
