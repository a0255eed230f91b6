/**
 * One agent per state directory: two would each run every task. The lock names the process uniquely (PID and start
 * time), so a lock left by kill -9 is recognized as stale.
 */
import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findProcessIdentity, isProcessAlive } from '@gpuaas/kit';

export class LockedError extends Error {
  override name = 'LockedError';
}

export const takeLock = async (state: string): Promise<() => Promise<void>> => {
  const path = join(state, 'agent.lock');
  await mkdir(state, { recursive: true, mode: 0o700 });
  const own = findProcessIdentity(process.pid) ?? String(process.pid);
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      const handle = await open(path, 'wx', 0o600);
      await handle.writeFile(own);
      await handle.close();
      return () => rm(path, { force: true });
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'EEXIST') throw err;
    }
    const holder = (await readFile(path, 'utf8').catch(() => '')).trim();
    if (isProcessAlive(holder)) throw new LockedError(`Another agent (process ${holder.split(':')[0]}) uses ${state}.`);
    await rm(path, { force: true });
  }
  throw new LockedError(`${path} cannot be locked.`);
};
