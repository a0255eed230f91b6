/**
 * Who has a device open. The kernel keeps a disk from being mounted twice, but lets any number of programs write to it: an
 * emulator that runs a guest on it asks for no more than that. And it lets a card be reset under the guest that has it. So
 * every process is looked at before a disk is written over or a card taken back.
 */
import type { Stats } from 'node:fs';
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { majorMinorOf } from './device-number.ts';

export type Opener = Readonly<{ pid: number; program: string }>;

const namesIn = (folder: string): Promise<readonly string[]> => readdir(folder).catch(() => []);

/** A device is its kind and number, whatever it is called. */
export type Device = Readonly<{ kind: 'block' | 'character'; number: string }>;

export const deviceOf = (found: Stats): Device | null => {
  if (!found.isBlockDevice() && !found.isCharacterDevice()) return null;
  return { kind: found.isBlockDevice() ? 'block' : 'character', number: majorMinorOf(found.rdev) };
};

const hasOpen = async (pid: string, device: Device): Promise<boolean> => {
  const folder = `/proc/${pid}/fd`;
  const found = await Promise.all(
    (await namesIn(folder)).map(async (fd) => {
      const at = `${folder}/${fd}`;
      // What is no file has no path; a process may close or end meanwhile.
      if (!(await readlink(at).catch(() => '')).startsWith('/')) return false;
      const opened = await stat(at).catch(() => null);
      const is = opened === null ? null : deviceOf(opened);
      return is?.kind === device.kind && is.number === device.number;
    }),
  );
  return found.includes(true);
};

/** Other processes, or those of these, that have the device open, under whatever name. */
export const findOpeners = async (device: Device, of?: readonly Opener[]): Promise<readonly Opener[]> => {
  const openers: Opener[] = [];
  for (const pid of of?.map((one) => String(one.pid)) ?? (await namesIn('/proc')))
    if (/^\d+$/.test(pid) && Number(pid) !== process.pid && (await hasOpen(pid, device)))
      openers.push({ pid: Number(pid), program: (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim() });
  return openers;
};
