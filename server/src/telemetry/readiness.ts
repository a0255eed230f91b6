/**
 * Ready means that the database commits a write now, its schema is the one of this build, row-level security applies to
 * the application, and every loop of the process completes its turns. Row-level security depends on the operator's
 * configuration: an account that owns the tables or may bypass the policies would work, without the second protection.
 */
import type { LoopWatch } from '@gpuaas/kit';
import { type Database, PLATFORM } from '../db/client.ts';
import { isReadOnlyError } from '../db/errors.ts';
import { findSchemaFacts, proveWrite } from '../db/health.ts';
import { AppError } from '../errors.ts';

export type Readiness = Readonly<{ ready: boolean; checks: Readonly<Record<string, string>> }>;

export type ReadinessOptions = Readonly<{
  database: Database;
  expected_migration: string;
  loops: LoopWatch;
  /** How long a loop may show no sign of life. */
  stalled_ms: number;
}>;

const checkDatabase = async ({ database, expected_migration }: ReadinessOptions): Promise<Readiness> => {
  try {
    const facts = await database.write(PLATFORM, async (tx) => {
      const [found] = await Promise.all([findSchemaFacts(tx, expected_migration), proveWrite(tx)]);
      return found;
    });
    const checks = {
      database: facts.passes_policies
        ? 'the database role bypasses row-level security: GPUAAS_APP_DATABASE_URL must use a role that owns nothing'
        : 'ok',
      schema: facts.migrated ? 'ok' : `migration ${expected_migration} is missing`,
    };
    return { ready: facts.migrated && !facts.passes_policies, checks };
  } catch (err) {
    const refusesWrites = err instanceof AppError && isReadOnlyError(err.cause);
    return { ready: false, checks: { database: refusesWrites ? 'accepts no writes' : 'unreachable' } };
  }
};

const check = async (options: ReadinessOptions): Promise<Readiness> => {
  const { ready, checks } = await checkDatabase(options);
  const stalled = options.loops.stalled(options.stalled_ms).map(({ loop }) => loop);
  const loops = stalled.length === 0 ? 'ok' : `no longer running: ${stalled.join(', ')}`;
  return { ready: ready && stalled.length === 0, checks: { ...checks, loops } };
};

/** Concurrent callers share one check: the endpoint is public, and each check takes a connection. */
export const createReadiness = (options: ReadinessOptions): (() => Promise<Readiness>) => {
  let looking: Promise<Readiness> | undefined;
  return () => {
    looking ??= check(options).finally(() => {
      looking = undefined;
    });
    return looking;
  };
};
