/**
 * Handles the postmaster of an earlier start. Its lock file names a pid; only a process that really is the postmaster
 * of this cluster is ever signaled.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { findProcessCommand, findProcessIdentity, isProcessAlive, type Log, pause } from '@gpuaas/kit';

const ORPHAN_STOP_WITHIN_MS = 15_000;

const readLockedPid = (data: string): number | undefined => {
  try {
    const pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
};

const findPostmaster = (data: string): Readonly<{ pid: number; command: string }> | undefined => {
  const pid = readLockedPid(data);
  if (pid === undefined) return undefined;
  const command = findProcessCommand(pid);
  return command?.includes(`-D ${data} -k `) ? { pid, command } : undefined;
};

/** Throws when the cluster is in use; stops its postmaster when the process that started it has ended. */
export const stopOrphan = async (data: string, log?: Log): Promise<void> => {
  const postmaster = findPostmaster(data);
  if (postmaster === undefined) return;
  const owner = /gpuaas\.owner_process=(\S+)/.exec(postmaster.command)?.[1];
  if (owner !== undefined && isProcessAlive(owner))
    throw new Error(`The database in ${data} is in use by process ${owner.split(':')[0]}.`);
  const identity = findProcessIdentity(postmaster.pid);
  if (identity === undefined) return;
  log?.warn({ pid: postmaster.pid }, 'stopping the PostgreSQL that a killed process left behind');
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    process.kill(postmaster.pid, signal);
    const deadline = Date.now() + ORPHAN_STOP_WITHIN_MS;
    while (Date.now() < deadline) {
      if (!isProcessAlive(identity)) return;
      await pause(20);
    }
  }
  throw new Error(`The PostgreSQL left behind in ${data} (pid ${postmaster.pid}) does not stop.`);
};

/**
 * PostgreSQL clears the lock of a dead pid itself, after checking that no session of it survives. It cannot know that a
 * live pid belongs to another program, so only that case is cleared here.
 */
export const clearStaleLock = (data: string): void => {
  const pid = readLockedPid(data);
  if (pid === undefined || findPostmaster(data) !== undefined) return;
  if (findProcessIdentity(pid) !== undefined) rmSync(join(data, 'postmaster.pid'), { force: true });
};

/** Ends a postmaster of ours immediately and returns when it has ended, without yielding. */
export const killPostmaster = (pid: number): void => {
  const identity = findProcessIdentity(pid);
  if (identity === undefined) return;
  const still = new Int32Array(new SharedArrayBuffer(4));
  for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
    process.kill(pid, signal);
    for (let waited = 0; waited < 5_000 && isProcessAlive(identity); waited += 10) Atomics.wait(still, 0, 0, 10);
    if (!isProcessAlive(identity)) return;
  }
};
