/**
 * Who has a disk open. The kernel keeps a disk from being mounted twice, but lets any number of programs write to it: an
 * emulator that runs a guest on it asks for no more than that. So every process is looked at before a disk is written over.
 */
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { majorMinorOf } from './device-number.ts';

export type Opener = Readonly<{ pid: number; program: string }>;

const namesIn = (folder: string): Promise<readonly string[]> => readdir(folder).catch(() => []);

const hasOpen = async (pid: string, number: string): Promise<boolean> => {
  const folder = `/proc/${pid}/fd`;
  const found = await Promise.all(
    (await namesIn(folder)).map(async (fd) => {
      const at = `${folder}/${fd}`;
      // What is no file has no path; a process may close or end meanwhile.
      if (!(await readlink(at).catch(() => '')).startsWith('/')) return false;
      const opened = await stat(at).catch(() => null);
      return opened?.isBlockDevice() === true && majorMinorOf(opened.rdev) === number;
    }),
  );
  return found.includes(true);
};

/** Other processes, or those of these, that have the block device of this number open, under whatever name. */
export const findOpeners = async (number: string, of?: readonly Opener[]): Promise<readonly Opener[]> => {
  const openers: Opener[] = [];
  for (const pid of of?.map((one) => String(one.pid)) ?? (await namesIn('/proc')))
    if (/^\d+$/.test(pid) && Number(pid) !== process.pid && (await hasOpen(pid, number)))
      openers.push({ pid: Number(pid), program: (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim() });
  return openers;
};
