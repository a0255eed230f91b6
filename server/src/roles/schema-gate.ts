/**
 * A process may start before the migrations of its build are applied: during an upgrade the order is not always kept.
 * On the old schema its queries would fail one by one, and work that it claimed would be charged with those failures. So
 * it serves only its probes until the schema is there: it is alive and not ready, no loop runs and no run is claimed.
 */
import type { AddressInfo } from 'node:net';
import { type Log, pause } from '@gpuaas/kit';
import type { Config } from '../config.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import { sqlState } from '../db/errors.ts';
import { findSchemaFacts } from '../db/health.ts';
import { createWaitingServer, type Probes } from '../http/probes.ts';

const LOOK_AGAIN_MS = 500;

const UNDEFINED_TABLE = '42P01';

const hasMigration = async (database: Database, migration: string): Promise<boolean> => {
  try {
    return (await database.read(PLATFORM, (reader) => findSchemaFacts(reader, migration))).migrated;
  } catch (err) {
    // A database that was never migrated.
    if (sqlState(err) === UNDEFINED_TABLE) return false;
    throw err;
  }
};

/** Returns when the schema has the migration, at once where it has; throws when the process ends before. */
export const awaitSchema = async (
  options: Readonly<{
    config: Pick<Config, 'host' | 'port' | 'public_url'>;
    database: Database;
    expected_migration: string;
    probes: Probes;
    log: Log;
    signal: AbortSignal;
  }>,
): Promise<void> => {
  const { config, database, expected_migration, log, signal } = options;
  if (await hasMigration(database, expected_migration)) return;
  const reason = 'The control plane is being upgraded: its database is not migrated yet.';
  const server = createWaitingServer(options.probes, reason, config.public_url);
  await server.listen({ host: config.host, port: config.port });
  const { port } = server.server.address() as AddressInfo;
  log.warn({ migration: expected_migration, port }, 'the schema lacks a migration; waiting until it is applied');
  try {
    do {
      signal.throwIfAborted();
      await pause(LOOK_AGAIN_MS, signal);
    } while (!(await hasMigration(database, expected_migration).catch(() => false)));
    log.info({ migration: expected_migration }, 'the schema has every migration; starting');
  } finally {
    await server.close();
  }
};
