/** The lab's PostgreSQL: the one that DATABASE_URL names, otherwise an embedded one under the state directory. */
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../../server/src/ports/postgres/embedded.ts';
import type { Settings } from './settings.ts';
import type { StatePaths } from './state.ts';

export type LabDatabase = Readonly<{
  url: string;
  /** Settles if the database ends unexpectedly; never for an external one. */
  ended: Promise<void>;
  stop(): Promise<void>;
}>;

const VERSION_MIN = 150_000;

const checkExternal = async (url: string): Promise<void> => {
  if (!URL.canParse(url)) throw new Error('DATABASE_URL is not a URL (postgresql://user:password@host:5432/name).');
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    const found = await client.query<{ n: number; v: string }>(
      "select current_setting('server_version_num')::int as n, current_setting('server_version') as v",
    );
    const version = found.rows[0];
    if (version === undefined || version.n < VERSION_MIN)
      throw new Error(`it is PostgreSQL ${version?.v}, and 15 or newer is needed`);
  } catch (err) {
    // A refused connection may carry several causes and no message of its own.
    const reason = (err as Error).message || (err as NodeJS.ErrnoException).code;
    throw new Error(`The database of DATABASE_URL cannot be used: ${reason}.`, { cause: err });
  } finally {
    await client.end().catch(() => {});
  }
};

export const openDatabase = async (settings: Settings, paths: StatePaths): Promise<LabDatabase> => {
  if (settings.databaseUrl !== undefined) {
    await checkExternal(settings.databaseUrl);
    return { url: settings.databaseUrl, ended: new Promise(() => {}), stop: async () => {} };
  }
  const postgres = await startEmbeddedPostgres({ dataDir: paths.postgresDir });
  return { url: postgres.url, ended: postgres.exited, stop: postgres.stop };
};
