/**
 * Which disks exist and what uses them, from kernel files only: nothing is started and no disk is read, so it can run
 * before and after every action on a disk. A disk counts as free only if its partitions, everything built on them (LVM,
 * RAID, encryption, loop devices) and swap were all checked.
 */
import type { DiskFacts } from '@gpuaas/contract/node';
import { type Files, integerOf } from './files.ts';
import { isBootTarget, isUsing, type Mount, readLoops, readMounts, readSwaps, type Use } from './mounts.ts';
import { addressesIn } from './pci.ts';

/** Without the values that only the disk itself reports. */
export type DiskUse = Omit<DiskFacts, 'filesystems' | 'unreadable' | 'erase'>;

export const BLOCK = '/sys/block';
const VIRTUAL = '/sys/devices/virtual/';
const SECTOR = 512;
export const NVME = /^(nvme\d+)(?:c\d+)?n\d+$/;

/** The disk, its partitions, and all their holders, up to the top. */
const stackOf = async (files: Files, name: string, partitions: readonly string[]): Promise<readonly string[]> => {
  const seen = new Set<string>();
  const visit = async (folder: string, one: string): Promise<void> => {
    if (seen.has(one)) return;
    seen.add(one);
    for (const holder of (await files.findNames(`${folder}/holders`)) ?? []) await visit(`${BLOCK}/${holder}`, holder);
  };
  await visit(`${BLOCK}/${name}`, name);
  for (const partition of partitions) await visit(`${BLOCK}/${name}/${partition}`, partition);
  return [...seen];
};

/** With multipath the disk belongs to a subsystem, whose links lead to the controller. */
const pciAddressOf = async (files: Files, name: string): Promise<string | null> => {
  const direct = addressesIn((await files.findReal(`${BLOCK}/${name}`)) ?? '').at(-1);
  if (direct !== undefined) return direct;
  for (const controller of (await files.findNames(`${BLOCK}/${name}/device`, /^nvme\d+$/)) ?? []) {
    const address = addressesIn((await files.findReal(`${BLOCK}/${name}/device/${controller}`)) ?? '').at(-1);
    if (address !== undefined) return address;
  }
  return null;
};

const BY_ID = '/dev/disk/by-id';
const rank = (link: string): number => (link.startsWith('nvme-eui.') ? 0 : link.startsWith('nvme-') ? 1 : 2);

/** Persistent names, by kernel name; the identifier of the namespace is preferred to model and serial. */
const stableNames = async (files: Files): Promise<ReadonlyMap<string, string>> => {
  const links = (await files.findNames(BY_ID)) ?? [];
  const found = new Map<string, string>();
  for (const link of links.toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))) {
    const name = (await files.findLink(`${BY_ID}/${link}`))?.split('/').at(-1);
    if (name !== undefined && !found.has(name)) found.set(name, `${BY_ID}/${link}`);
  }
  return found;
};

type Shared = Readonly<{
  mounts: readonly Mount[];
  swaps: readonly Use[];
  loops: Awaited<ReturnType<typeof readLoops>>;
  stable: ReadonlyMap<string, string>;
  names: readonly string[];
}>;

const readUse = async (files: Files, name: string, shared: Shared): Promise<DiskUse> => {
  const folder = `${BLOCK}/${name}`;
  const partitions = (await files.names(folder, /\d$/)).filter((entry) => entry.startsWith(name));
  const stack = await stackOf(files, name, partitions);
  const own = new Set([name, ...partitions]);
  const numbers = await Promise.all(
    stack.map((one) => files.find(own.has(one) && one !== name ? `${folder}/${one}/dev` : `${BLOCK}/${one}/dev`)),
  );
  const known = new Set(stack);
  const devices = new Set(numbers.filter((number) => number !== null));
  const mounts = shared.mounts.filter((mount) => isUsing(mount, known, devices)).map((mount) => mount.target);
  const [serial, model, eui, wwid, number, size, pci_address] = await Promise.all([
    files.find(`${folder}/device/serial`),
    files.find(`${folder}/device/model`),
    files.find(`${folder}/eui`),
    files.find(`${folder}/wwid`),
    files.find(`${folder}/dev`),
    files.text(`${folder}/size`),
    pciAddressOf(files, name),
  ]);
  const controller = NVME.exec(name)?.[1];
  return {
    name,
    serial: serial?.trim() || null,
    model: model?.trim() || null,
    eui: eui?.replaceAll(' ', '') || wwid?.trim() || null,
    device: shared.stable.get(name) ?? null,
    major_minor: number,
    pci_address,
    size_bytes: integerOf(size, `${folder}/size`) * SECTOR,
    namespaces:
      controller === undefined ? null : shared.names.filter((one) => NVME.exec(one)?.[1] === controller).length,
    is_boot: mounts.some(isBootTarget),
    is_swap: shared.swaps.some((swap) => isUsing(swap, known, devices)),
    mounts: [...new Set(mounts)],
    holders: [
      ...stack.filter((one) => !own.has(one)),
      ...shared.loops.filter((loop) => isUsing(loop, known, devices)).map((loop) => loop.name),
    ],
    partitions,
  };
};

/** Loop, RAM and stacked devices are not disks. With multipath an NVMe disk is virtual by its path, and is one. */
const isDisk = async (files: Files, name: string): Promise<boolean> => {
  if (!NVME.test(name)) return (await files.findReal(`${BLOCK}/${name}`))?.startsWith(VIRTUAL) !== true;
  return (await files.find(`${BLOCK}/${name}/hidden`)) !== '1';
};

/** All of them, or those with a serial. */
export const listUses = async (files: Files, serial?: string): Promise<readonly DiskUse[]> => {
  const names: string[] = [];
  for (const name of await files.names(BLOCK)) if (await isDisk(files, name)) names.push(name);
  const serialOf = async (name: string): Promise<string | undefined> =>
    (await files.find(`${BLOCK}/${name}/device/serial`))?.trim() || undefined;
  const serials = serial === undefined ? [] : await Promise.all(names.map(serialOf));
  const wanted = serial === undefined ? names : names.filter((_, index) => serials[index] === serial);
  if (wanted.length === 0) return [];
  const [mounts, swaps, loops, lasting] = await Promise.all([
    readMounts(files),
    readSwaps(files),
    readLoops(files),
    stableNames(files),
  ]);
  return Promise.all(wanted.map((name) => readUse(files, name, { mounts, swaps, loops, stable: lasting, names })));
};
