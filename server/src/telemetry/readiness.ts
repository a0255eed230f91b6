/**
 * Ready means that the database responds to a query now, its schema is the one of this build, and row-level security
 * applies to the application. The last depends on the operator's configuration: an account that owns the tables or may
 * bypass the policies would work, without the second protection.
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

/** Concurrent callers share one check: the endpoint is public, and each check takes a connection. */
export const createReadiness = (database: Database, expectedMigration: string): (() => Promise<Readiness>) => {
  let looking: Promise<Readiness> | undefined;
  return () => {
    looking ??= check(database, expectedMigration).finally(() => {
      looking = undefined;
    });
    return looking;
  };
};
