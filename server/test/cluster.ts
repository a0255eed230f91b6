/**
 * A throwaway PostgreSQL for tests. Its directory is named after the process that created it, so that the next one can
 * remove the leftovers of a killed run: the directory and the server in it.
 */
import { existsSync, mkdtempSync, readdirSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProcessIdentity, isProcessAlive } from '@gpuaas/kit';
import {
  type EmbeddedPostgres,
  removeEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../src/ports/postgres/embedded.ts';

const FOLDER = /^gpuaas-test-(\d+)_([\w-]+)_[^_]{6}$/;

const MEMORY = '/dev/shm';
const MEMORY_BYTES_MIN = 4 * 2 ** 30;

/** Every test creates and drops a database of a thousand files, which is slow on a disk's file system. */
const hasRoomInMemory = (): boolean => {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= MEMORY_BYTES_MIN;
  } catch {
    return false;
  }
};

const clearLeftovers = async (dir: string): Promise<void> => {
  for (const name of readdirSync(dir)) {
    const [, pid, start] = FOLDER.exec(name) ?? [];
    if (pid === undefined || isProcessAlive(`${pid}:${start}`)) continue;
    // Another user's leftovers are not ours to remove.
    await removeEmbeddedPostgres(join(dir, name)).catch(() => {});
  }
};

/** A new directory for a cluster of this process, for tests that stop and start one themselves. */
export const newClusterDir = (): string => {
  const identity = (findProcessIdentity(process.pid) ?? `${process.pid}:0`).replace(':', '_');
  return mkdtempSync(join(hasRoomInMemory() ? MEMORY : tmpdir(), `gpuaas-test-${identity}_`));
};

export const startTestCluster = async (): Promise<EmbeddedPostgres> => {
  await clearLeftovers(tmpdir());
  if (existsSync(MEMORY)) await clearLeftovers(MEMORY);
  const dataDir = newClusterDir();
  return startEmbeddedPostgres({ dataDir, database: 'postgres', durability: 'throwaway' });
};
