/**
 * Which processes have a device open. The kernel prevents a second mount but lets any number of programs write to a
 * disk, such as an emulator that runs a guest on it. It also allows a card to be reset while a guest uses it. So all
 * processes are checked before a disk is overwritten or a card taken back.
 */
import { readdirSync, readFileSync, readlinkSync, type Stats, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { majorMinorOf } from './device-number.ts';

export type Opener = Readonly<{ pid: number; program: string }>;

/** A device is its kind and number, whatever it is called. */
export type Device = Readonly<{ kind: 'block' | 'character'; number: string }>;

export const deviceOf = (found: Stats): Device | null => {
  if (!found.isBlockDevice() && !found.isCharacterDevice()) return null;
  return { kind: found.isBlockDevice() ? 'block' : 'character', number: majorMinorOf(found.rdev) };
};

/** A missing entry reads as nothing: a process may close a file, or end, at any moment. */
const orNothing = <T>(read: () => T, nothing: T): T => {
  try {
    return read();
  } catch {
    return nothing;
  }
};
const namesIn = (folder: string): readonly string[] => orNothing(() => readdirSync(folder), []);

/** Synchronous: the kernel answers from memory, and awaiting each would take ten times as long. */
const hasOpen = (pid: string, device: Device): boolean =>
  namesIn(`/proc/${pid}/fd`).some((fd) => {
    const at = `/proc/${pid}/fd/${fd}`;
    // A descriptor that is not a file has no path.
    if (!orNothing(() => readlinkSync(at), '').startsWith('/')) return false;
    const is = orNothing(() => deviceOf(statSync(at)), null);
    return is?.kind === device.kind && is.number === device.number;
  });

/** Other processes, or those of the list, that have the device open, under any name. */
export const findOpeners = async (device: Device, of?: readonly Opener[]): Promise<readonly Opener[]> => {
  const openers: Opener[] = [];
  for (const pid of of?.map((one) => String(one.pid)) ?? namesIn('/proc')) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    if (hasOpen(pid, device))
      openers.push({
        pid: Number(pid),
        program: orNothing(() => readFileSync(`/proc/${pid}/comm`, 'utf8'), '').trim(),
      });
    // Yields between processes.
    await setImmediate();
  }
  return openers;
};
