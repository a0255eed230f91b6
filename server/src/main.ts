/**
 * One image, roles by flag: `gpuaas-server --roles gpuaas-api,gpuaas-outbox-relay`, or `all`.
 *   --migrate       bring the schema up to date first (needs the owner's DATABASE_URL)
 *   --migrate-only  do that and end: the job before a roll-out
 */
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { ConfigError, createLog, createShutdown, stopOnSignals } from '@gpuaas/kit';
import { readConfig } from './config.ts';
import { migrate } from './db/migrate.ts';
import { createLogSink } from './logs/log-sink.ts';
import { startProcess } from './roles/process.ts';

/** A stalled loop does not stop when asked to. */
const EXIT_WITHIN_MS = 15_000;

const HELP = `Usage: gpuaas-server [--roles ROLES] [--migrate | --migrate-only]

  --roles ROLES   roles of this process, separated by commas, or all
  --migrate       update the schema first; needs the DATABASE_URL of the owner
  --migrate-only  update the schema and end
  --help          show this

All other settings are environment variables: doc/operations/configuration.md
`;

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      roles: { type: 'string' },
      migrate: { type: 'boolean', default: false },
      'migrate-only': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const config = readConfig(process.env, values.roles);
  const service = config.roles.length === 1 ? (config.roles[0] ?? 'gpuaas') : 'gpuaas-server';
  const sink = createLogSink();
  const log = createLog({
    service,
    host_role: 'platform_control',
    level: config.log_level,
    also: sink.take,
  });
  process.on('unhandledRejection', (err) => log.error({ err }, 'unhandled promise rejection'));

  const shutdown = createShutdown(log);
  stopOnSignals(shutdown);
  try {
    if (values.migrate || values['migrate-only']) await migrate({ url: config.database_url, log });
    if (values['migrate-only']) return await shutdown.run('migrated');
    await startProcess({
      config,
      log,
      shutdown,
      sink,
      onStall: (loop) => {
        setTimeout(() => process.exit(1), EXIT_WITHIN_MS);
        void shutdown.run(`the loop ${loop} no longer runs`).then(() => process.exit(1));
      },
      dev_password: process.env['GPUAAS_DEV_PASSWORD'] ?? randomBytes(18).toString('base64url'),
    });
  } catch (err) {
    // Asked to end while it waited for the schema.
    if (shutdown.signal.aborted) return;
    log.fatal({ err }, 'failed to start');
    await shutdown.run('start failed');
    process.exitCode = 1;
  }
};

main().catch((err: unknown) => {
  process.stderr.write(
    `${err instanceof ConfigError || err instanceof TypeError ? err.message : String(err instanceof Error ? err.stack : err)}\n`,
  );
  process.exitCode = 2;
});
