/** Ready means the database answers a query now and its schema is the one this build knows. */
import { type Database, PLATFORM } from '../db/client.ts';

export type Readiness = Readonly<{ ready: boolean; checks: Readonly<Record<string, string>> }>;

export const createReadiness = (database: Database, expectedMigration: string) => async (): Promise<Readiness> => {
  try {
    const found = await database.read(PLATFORM, (reader) =>
      reader.query<{ name: string }>('select name from schema_migrations where name = $1', [expectedMigration]),
    );
    if (found.rowCount === 0)
      return { ready: false, checks: { database: 'ok', schema: `migration ${expectedMigration} is missing` } };
    return { ready: true, checks: { database: 'ok', schema: 'ok' } };
  } catch {
    return { ready: false, checks: { database: 'unreachable' } };
  }
};
