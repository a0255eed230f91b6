/** A cluster of the test's own that writes as production does, so that commits survive its crashes. */
import { silentLog } from '@gpuaas/kit';
import { createDatabase } from '../src/db/client.ts';
import { APP_ROLE, migrate } from '../src/db/migrate.ts';
import {
  type EmbeddedPostgres,
  removeEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../src/ports/postgres/embedded.ts';
import { newClusterDir } from './cluster.ts';
import type { TestDatabase } from './database.ts';

type OwnPostgres = Readonly<{
  db: TestDatabase;
  /** A fast shutdown and a new start. */
  restart(): Promise<void>;
  /** An immediate shutdown, as a crash; `start` follows. */
  crash(): Promise<void>;
  start(): Promise<void>;
}>;

export const startOwnPostgres = async (
  t: Readonly<{ after(fn: () => Promise<void>): void }>,
  poolMax: number,
): Promise<OwnPostgres> => {
  const dataDir = newClusterDir();
  const open = (): Promise<EmbeddedPostgres> => startEmbeddedPostgres({ dataDir, durability: 'safe' });
  let postgres = await open();
  t.after(async () => {
    await postgres.stop();
    await removeEmbeddedPostgres(dataDir);
  });
  const { url } = postgres;
  await migrate({ url, log: silentLog() });
  const database = createDatabase({ url, role: APP_ROLE, log: silentLog(), poolMax });
  t.after(() => database.end());
  const start = async (): Promise<void> => {
    postgres = await open();
  };
  return {
    db: { ownerUrl: url, url, database, drop: async () => {} },
    restart: async () => {
      await postgres.stop();
      await start();
    },
    crash: async () => {
      process.kill(postgres.pid, 'SIGQUIT');
      await postgres.exited;
    },
    start,
  };
};
