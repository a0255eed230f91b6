/**
 * A throwaway PostgreSQL for tests. Its directory is named after the process that made it, so that the next one can
 * clear what a killed run left behind: the directory and the server in it.
 */
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProcessIdentity, isProcessAlive } from '@gpuaas/kit';
import {
  type EmbeddedPostgres,
  removeEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../src/ports/postgres/embedded.ts';

const FOLDER = /^gpuaas-test-(\d+)_([\w-]+)_[^_]{6}$/;

const clearLeftovers = async (): Promise<void> => {
  for (const name of readdirSync(tmpdir())) {
    const [, pid, start] = FOLDER.exec(name) ?? [];
    if (pid === undefined || isProcessAlive(`${pid}:${start}`)) continue;
    // Another user's leftovers are theirs to clear.
    await removeEmbeddedPostgres(join(tmpdir(), name)).catch(() => {});
  }
};

/** A new directory for a cluster of this process, for tests that stop and start one themselves. */
export const newClusterDir = (): string => {
  const identity = (findProcessIdentity(process.pid) ?? `${process.pid}:0`).replace(':', '_');
  return mkdtempSync(join(tmpdir(), `gpuaas-test-${identity}_`));
};

export const startTestCluster = async (): Promise<EmbeddedPostgres> => {
  await clearLeftovers();
  const dataDir = newClusterDir();
  return startEmbeddedPostgres({ dataDir, database: 'postgres', durability: 'throwaway' });
};
