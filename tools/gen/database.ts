/** A temporary empty PostgreSQL for a generator or a check. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '@gpuaas/kit';
import { Client } from 'pg';
import { migrate } from '../../server/src/db/migrate.ts';
import { removeEmbeddedPostgres, startEmbeddedPostgres } from '../../server/src/ports/postgres/embedded.ts';

export const withClient = async <T>(url: string, fn: (client: Client) => Promise<T>): Promise<T> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await fn(client);
  } finally {
    await client.end();
  }
};

/** Runs `fn` on a database with all migrations and nothing else. */
export const withMigratedDatabase = async <T>(fn: (url: string) => Promise<T>): Promise<T> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'gpuaas-gen-'));
  try {
    const postgres = await startEmbeddedPostgres({ dataDir, durability: 'throwaway' });
    try {
      await migrate({ url: postgres.url, log: silentLog() });
      return await fn(postgres.url);
    } finally {
      await postgres.stop();
    }
  } finally {
    await removeEmbeddedPostgres(dataDir);
    await rm(dataDir, { recursive: true, force: true });
  }
};
