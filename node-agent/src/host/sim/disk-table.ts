/**
 * The disks of a simulated host and their kernel names. Names and numbers change at every boot; serials and paths by
 * identity stay.
 */
import type { DiskFacts } from '@gpuaas/contract/node';
import { openBlock } from './block.ts';
import type { Core } from './core.ts';
import { functionsNow } from './functions.ts';
import { hexOf, serialOf } from './identity.ts';
import type { DriveModel } from './profile-shape.ts';
import { FIRST_PARTITION, signaturesOn } from './signature.ts';

export type Drive = Readonly<{
  serial: string;
  eui: string;
  address: string;
  drive: DriveModel;
  is_boot: boolean;
  name: string;
  major_minor: string;
  /** Every path under which the disk is found. */
  paths: readonly string[];
  device: string;
}>;

export const blockOf = (core: Core, serial: string) => openBlock(core.dir, serial, core.disk_bytes);

type Fixed = Pick<Drive, 'serial' | 'address' | 'drive' | 'is_boot'>;

const fixedDrives = (core: Core): readonly Fixed[] => {
  const { profile } = core;
  const data = core.slots.map(({ serial, nvme }) => ({ serial, address: nvme, drive: profile.drive, is_boot: false }));
  const boot = profile.boot_drives.map(({ address }, index) => ({
    serial: serialOf(profile.boot_drive.serial_prefix, core.name, 'boot', index),
    address,
    drive: profile.boot_drive,
    is_boot: true,
  }));
  const order = core.hardware.functions.map(({ address }) => address);
  return [...data, ...boot].sort((a, b) => order.indexOf(a.address) - order.indexOf(b.address));
};

/** Those bound to the nvme driver. */
export const drivesOf = (core: Core): readonly Drive[] => {
  const fixed = fixedDrives(core);
  const held = new Set(functionsNow(core).flatMap((fn) => (fn.driver === 'nvme' ? [fn.address] : [])));
  const shift = core.store.read().boot.count;
  return fixed.flatMap((drive, index) => {
    if (!held.has(drive.address)) return [];
    const number = (index + shift) % fixed.length;
    const name = `nvme${number}n1`;
    const eui = hexOf(16, 'eui', drive.serial);
    const device = `/dev/disk/by-id/nvme-eui.${eui}`;
    const byModel = `/dev/disk/by-id/nvme-${drive.drive.model.replaceAll(' ', '_')}_${drive.serial}`;
    return [{ ...drive, eui, name, major_minor: `259:${number}`, device, paths: [device, byModel, `/dev/${name}`] }];
  });
};

export const mountsOf = (core: Core, drive: Drive): readonly string[] => {
  if (drive.is_boot) return ['/', '/boot/efi'];
  return core.fault('disk_mounted', drive.serial, drive.address) === undefined ? [] : [`/mnt/${drive.name}`];
};

export const holdersOf = (core: Core, drive: Drive): readonly string[] => {
  if (drive.is_boot) return ['md0'];
  return core.fault('disk_held', drive.serial, drive.address) === undefined ? [] : ['dm-0'];
};

export const factsOf = async (core: Core, drive: Drive): Promise<DiskFacts> => {
  const block = blockOf(core, drive.serial);
  const found = drive.is_boot ? ['linux_raid_member'] : await signaturesOn(block);
  const mounts = mountsOf(core, drive);
  const holders = holdersOf(core, drive);
  const filesystems = new Set(found);
  // A mounted or held disk carries the signature of its user, whatever the file behind it contains.
  if (mounts.length > 0 && !drive.is_boot) filesystems.add('ext4');
  if (holders.length > 0 && !drive.is_boot) filesystems.add('LVM2_member');
  const hasTable = drive.is_boot || (found.includes('gpt') && block.size_bytes > FIRST_PARTITION);
  return {
    name: drive.name,
    serial: drive.serial,
    model: drive.drive.model,
    eui: drive.eui,
    device: drive.device,
    major_minor: drive.major_minor,
    pci_address: drive.address,
    size_bytes: block.size_bytes,
    namespaces: 1,
    is_boot: drive.is_boot,
    is_swap: false,
    mounts: [...mounts],
    holders: [...holders],
    filesystems: [...filesystems].sort(),
    partitions: hasTable ? [`${drive.name}p1`] : [],
    erase: { value: { ...drive.drive.erase } },
  };
};
