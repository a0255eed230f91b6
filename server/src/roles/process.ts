/**
 * One process: what every role needs (database, telemetry, probes, the wake-up listener), then the requested roles.
 * Only this directory constructs dependencies: a module gets what it needs as an argument, and what is started here is
 * stopped here, in reverse.
 */
import { timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { type Clock, createLoopWatch, type Log, type LoopWatch, type Shutdown, systemClock } from '@gpuaas/kit';
import type { FastifyInstance } from 'fastify';
import { type Config, ROLES, type Role } from '../config.ts';
import type { Deps } from '../context.ts';
import { type AccountPowers, findAccountPowers } from '../db/account.ts';
import { createDatabase, type Database } from '../db/client.ts';
import { APP_ROLE } from '../db/migrate.ts';
import { readMigrations } from '../db/migration-file.ts';
import { createProbeServer, type Probes } from '../http/probes.ts';
import type { LogSink } from '../logs/log-sink.ts';
import { createEventFeed } from '../pipeline/event-feed.ts';
import { createEventHub } from '../ports/events/hub.ts';
import { startListening } from '../ports/events/listen.ts';
import { createWaker } from '../ports/events/waker.ts';
import { createInvariantWatch } from '../reconcilers/check-invariants.ts';
import { startReconciler } from '../reconcilers/reconciler.ts';
import { openKeyRings } from '../sealing/key-ring.ts';
import { addGauges, addInvariantGauge, addLoopGauge } from '../telemetry/gauges.ts';
import { createReadiness } from '../telemetry/readiness.ts';
import { createTelemetry } from '../telemetry/telemetry.ts';
import { createApi } from './api.ts';
import { type NodeApi, startNodeApi } from './node-api.ts';
import { startOutboxRelay } from './outbox-relay.ts';
import { startProvisioningWorker } from './provisioning-worker.ts';
import type { RoleContext, WorkflowOptions } from './role.ts';
import { awaitSchema } from './schema-gate.ts';
import { type Gateway, startTerminalGateway } from './terminal-gateway.ts';

export type AppOptions = Readonly<{
  config: Config;
  log: Log;
  shutdown: Shutdown;
  clock?: Clock;
  /** Password of the laptop users. */
  dev_password: string;
  /** Stores the log lines of this process, besides its output. */
  sink?: LogSink;
  /** Overrides of workflow execution: tests hold runs at a boundary. No process setting reaches this. */
  workflows?: WorkflowOptions;
  /** Of loops by name: tests do not wait for their turns. No process setting reaches this. */
  intervals_ms?: Readonly<Record<string, number>>;
  /** Called when a loop no longer completes its turns: the process must end, so that its supervisor restarts it. */
  onStall?: (loop: string) => void;
}>;
export type App = Readonly<{
  deps: Deps;
  http: FastifyInstance;
  /** Where the API listens, once `listen` resolved. */
  url: string;
  /** The listener of agents, where this process has that role. */
  node_api: NodeApi | null;
  /** The listeners of sessions, where this process has that role. */
  gateway: Gateway | null;
}>;

const FOLLOW_KEYS_INTERVAL_MS = 1_000;
const LOOPBACK = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);

export const connectDatabase = (config: Config, log: Log, wake: () => void = () => {}): Database =>
  createDatabase({
    url: config.app_database_url ?? config.database_url,
    log,
    role: config.app_database_url === null ? APP_ROLE : undefined,
    poolMax: config.database_pool_max,
    queryTimeoutMs: config.database_query_timeout_ms,
    wake,
  });

const powerOf = (can: Omit<AccountPowers, 'account'>): string | null => {
  if (can.is_superuser || can.bypasses_rls) return 'bypasses row-level security';
  if (can.owns_tables) return 'owns the tables';
  return can.creates_roles ? 'creates roles, and so can give itself any power' : null;
};

/** A serving process must not be able to bypass row-level security, even when compromised. */
const assertPlainAccount = async (config: Config): Promise<void> => {
  const settings = { DATABASE_URL: config.database_url, GPUAAS_APP_DATABASE_URL: config.app_database_url };
  for (const [name, url] of Object.entries(settings)) {
    if (url === null) continue;
    const { account, ...can } = await findAccountPowers(url);
    const power = powerOf(can);
    if (power === null) continue;
    throw new Error(
      `${name} signs in as ${account}, which ${power}. In production give it an account that is only a member of ${APP_ROLE}, and run migrations as a job of their own (--migrate-only).`,
    );
  }
};

/** Metrics show tenants' activity in aggregate: only for loopback or the configured token. */
const metricsGate =
  (config: Config) =>
  (request: Readonly<{ ip: string; authorization: string | undefined }>): boolean => {
    // Behind a proxy on the same host every caller is loopback, so production requires the token.
    if (config.metrics_token === null) return config.mode === 'development' && LOOPBACK.has(request.ip);
    const given = Buffer.from(request.authorization ?? '');
    const wanted = Buffer.from(`Bearer ${config.metrics_token}`);
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  };

type Started = Readonly<{ http?: FastifyInstance; node_api?: NodeApi; gateway?: Gateway }>;

/** A role without a line here does not compile. */
const STARTS: Readonly<Record<Role, (context: RoleContext) => Promise<Started>>> = {
  'gpuaas-outbox-relay': async (context) => {
    startOutboxRelay(context);
    return {};
  },
  'gpuaas-provisioning-worker': async (context) => {
    await startProvisioningWorker(context);
    return {};
  },
  'gpuaas-api': async (context) => ({ http: await createApi(context) }),
  'gpuaas-node-api': async (context) => ({ node_api: await startNodeApi(context) }),
  'gpuaas-terminal-gateway': async (context) => ({ gateway: await startTerminalGateway(context) }),
};

const STALL_CHECKS_PER_LIMIT = 20;

/** A process that only seems alive is worse than one that ends. */
const watchLoops = ({ config, log, shutdown, onStall }: AppOptions, loops: LoopWatch): void => {
  const limit = config.loop_stalled_ms.exit;
  const timer = setInterval(() => {
    const [first] = loops.stalled(limit);
    if (first === undefined || onStall === undefined) return;
    clearInterval(timer);
    log.fatal(
      { loop: first.loop, overdue_ms: Math.round(first.overdue_ms) },
      'a loop no longer runs; the process ends',
    );
    onStall(first.loop);
  }, limit / STALL_CHECKS_PER_LIMIT);
  timer.unref();
  shutdown.add('loop watch', () => clearInterval(timer));
};

const listen = async (http: FastifyInstance, { deps, shutdown }: RoleContext): Promise<number> => {
  const { host, port } = deps.config;
  shutdown.add('http', () => http.close());
  await http.listen({ host, port });
  const address = http.server.address() as AddressInfo;
  deps.log.info({ host, port: address.port }, 'listening');
  return address.port;
};

export const startProcess = async (options: AppOptions): Promise<App> => {
  const { config, log, shutdown } = options;
  if (config.mode === 'production') await assertPlainAccount(config);
  const database = connectDatabase(config, log, () => waker.afterCommit());
  shutdown.add('database', () => database.end());
  const loops = createLoopWatch();
  const telemetry = createTelemetry({
    otlp_url: config.otlp_url,
    service: config.roles.length === 1 ? (config.roles[0] ?? 'gpuaas') : 'gpuaas',
  });
  shutdown.add('telemetry', () => telemetry.stop());
  addGauges(telemetry, { database, audit_online_days: config.audit_online_days });
  addLoopGauge(telemetry, loops);
  const expected_migration = (await readMigrations()).at(-1)?.name ?? '';
  const probes: Probes = {
    readiness: createReadiness({
      ...{ database, loops, expected_migration },
      stalled_ms: config.loop_stalled_ms.unready,
    }),
    metrics: () => telemetry.registry.metrics(),
    metricsAllowed: metricsGate(config),
  };
  await awaitSchema({ ...{ config, database, expected_migration, probes, log }, signal: shutdown.signal });
  options.sink?.start({ database, days: config.log_days, loops });
  shutdown.add('log lines', () => options.sink?.stop());
  const startLoop: RoleContext['startLoop'] = (loop) => {
    const intervalMs = options.intervals_ms?.[loop.name] ?? loop.intervalMs;
    const running = startReconciler({ ...loop, intervalMs, log, loops, signal: shutdown.signal });
    shutdown.add(loop.name, () => running.stop());
  };
  const hub = createEventHub();
  const waker = createWaker({ database, hub, log });
  shutdown.add('waker', () => waker.stop());
  const rings = await openKeyRings({
    database,
    service: config.roles.join(','),
    platform_keys: config.platform_keys,
    trust_keys: config.trust_keys,
  });
  shutdown.add('key holder', () => rings.leave());
  startLoop({ name: 'follow-platform-keys', run: rings.follow, intervalMs: FOLLOW_KEYS_INTERVAL_MS });
  const deps: Deps = {
    config,
    database,
    log,
    clock: options.clock ?? systemClock,
    secrets: rings.secrets,
    events: createEventFeed({ database, hub, log, loops }),
  };
  const watch = createInvariantWatch({ database, log });
  addInvariantGauge(telemetry, watch);
  const listener = startListening({ database, hub, log, loops, signal: shutdown.signal });
  shutdown.add('event notifications', () => listener.stop());

  const context: RoleContext = {
    ...{ deps, hub, telemetry, probes, watch, loops, startLoop, shutdown },
    trustSecrets: rings.trustSecrets,
    dev_password: options.dev_password,
    workflows: options.workflows,
  };
  const started: Started = {};
  for (const role of ROLES.filter((one) => config.roles.includes(one)))
    Object.assign(started, await STARTS[role](context));
  const { http = createProbeServer(probes), node_api = null, gateway = null } = started;
  watchLoops(options, loops);
  const port = await listen(http, context);
  return { deps, http, url: `http://${config.host}:${port}`, node_api, gateway };
};
