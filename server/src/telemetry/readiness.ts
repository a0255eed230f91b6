/**
 * Ready means the database answers a query now, its schema is the one this build knows, and it holds the application
 * to row-level security. The last is the operator's to get wrong: a sign-in that owns the tables or may pass the
 * policies would work, with the second wall missing.
 */
import { type Database, PLATFORM } from '../db/client.ts';
import { findSchemaFacts } from '../db/health.ts';

export type Readiness = Readonly<{ ready: boolean; checks: Readonly<Record<string, string>> }>;

const check = async (database: Database, expectedMigration: string): Promise<Readiness> => {
  try {
    const facts = await database.read(PLATFORM, (reader) => findSchemaFacts(reader, expectedMigration));
    const checks = {
      database: facts.passes_policies
        ? 'the database role bypasses row-level security: GPUAAS_APP_DATABASE_URL must use a role that owns nothing'
        : 'ok',
      schema: facts.migrated ? 'ok' : `migration ${expectedMigration} is missing`,
    };
    return { ready: facts.migrated && !facts.passes_policies, checks };
  } catch {
    return { ready: false, checks: { database: 'unreachable' } };
  }
};

/** Whoever asks while a look is under way shares it: anybody may ask, and each look takes a connection. */
export const createReadiness = (database: Database, expectedMigration: string): (() => Promise<Readiness>) => {
  let looking: Promise<Readiness> | undefined;
  return () => {
    looking ??= check(database, expectedMigration).finally(() => {
      looking = undefined;
    });
    return looking;
  };
};
