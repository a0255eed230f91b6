/**
 * Wires the roles this process was asked for. Nothing else in the server constructs a dependency: what a module needs
 * it gets as an argument, and what is started here is stopped here, in reverse.
 */
import { timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { type Clock, type Log, type Shutdown, systemClock } from '@gpuaas/kit';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config.ts';
import type { Deps } from '../context.ts';
import { createDatabase, type Database } from '../db/client.ts';
import { APP_ROLE, readMigrations } from '../db/migrate.ts';
import { readConsole } from '../http/console.ts';
import { createCookies, SIGN_IN_S } from '../http/cookie.ts';
import { fetchInProcess } from '../http/in-process.ts';
import { createProbeServer, type Probes } from '../http/probes.ts';
import { addressBlock, createRateLimit, refuseFor } from '../http/rate-limit.ts';
import { createHttpServer } from '../http/server.ts';
import { createStreams } from '../http/stream.ts';
import { type Authenticator, createAuthenticator } from '../identity/authenticate.ts';
import { createProjectDirectory } from '../identity/authorize.ts';
import { createSignIn, type SignIn } from '../identity/sign-in.ts';
import type { LogSink } from '../logs/log-sink.ts';
import { createEventHub } from '../ports/events/hub.ts';
import { createWaker } from '../ports/events/waker.ts';
import type { EmbeddedIssuer } from '../ports/identity/embedded.ts';
import { createRelyingParty } from '../ports/identity/relying-party.ts';
import { createTokenVerifier } from '../ports/identity/verifier.ts';
import { createSecrets } from '../ports/secrets/secrets.ts';
import { createInvariantWatch } from '../reconcilers/check-invariants.ts';
import { addGauges, addInvariantGauge } from '../telemetry/gauges.ts';
import { createReadiness } from '../telemetry/readiness.ts';
import { createTelemetry, type Telemetry } from '../telemetry/telemetry.ts';
import { type NodeApi, startNodeApi } from './node-api.ts';
import { startWorkers, type WorkflowOptions } from './provisioning-worker.ts';
import { type Gateway, startGateway } from './terminal-gateway.ts';

export type AppOptions = Readonly<{
  config: Config;
  log: Log;
  shutdown: Shutdown;
  clock?: Clock;
  /** Password of the laptop users. */
  dev_password: string;
  /** Where the lines of this process's log are kept, beside its output. */
  sink?: LogSink;
  /** How workflows run otherwise than by default: tests hold them at a boundary. No setting of a process leads here. */
  workflows?: WorkflowOptions;
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

const LOOPBACK = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);
const DEV_ADMIN_EMAIL = 'dev-admin@gpuaas.local';

export const connectDatabase = (config: Config, log: Log): Database =>
  createDatabase({
    url: config.app_database_url ?? config.database_url,
    log,
    role: config.app_database_url === null ? APP_ROLE : undefined,
    poolMax: config.database_pool_max,
  });

const embeddedIssuer = async (deps: Deps, devPassword: string): Promise<EmbeddedIssuer> => {
  const { config } = deps;
  // Loaded only where it is used: behind an external issuer its framework would be dead weight.
  const { createEmbeddedIssuer } = await import('../ports/identity/embedded.ts');
  return createEmbeddedIssuer({
    issuerUrl: `${config.public_url}/oidc`,
    database: deps.database,
    secrets: deps.secrets,
    audience: config.oidc.audience,
    consoleClientId: config.oidc.console_client_id,
    cliClientId: config.oidc.cli_client_id,
    // The first is where it returns after signing out.
    consoleRedirectUris: [`${config.public_url}/`, `${config.public_url}/auth/callback`],
    password: devPassword,
    log: deps.log,
    mode: config.mode,
    externalIssuer: config.oidc.issuer,
  });
};

/** The console signs its people in through the server; the embedded issuer is asked without leaving the process. */
const browserSignIn = (
  deps: Deps,
  authenticate: Authenticator,
  issuer: Readonly<{ url: string; fetch: typeof globalThis.fetch }>,
): SignIn => {
  const { config, clock, database, log, secrets } = deps;
  const { console_client_id, console_client_secret } = config.oidc;
  const relyingParty = createRelyingParty({
    issuer: issuer.url,
    client_id: console_client_id,
    client_secret: console_client_secret,
    redirect_uri: `${config.public_url}/auth/callback`,
    signed_out_uri: `${config.public_url}/`,
    fetch: issuer.fetch,
    clock,
  });
  return createSignIn({
    ...{ database, secrets, clock, log, authenticate, relyingParty, sign_in_s: SIGN_IN_S },
    ...config.web_session,
  });
};

/** Metrics name tenants' activity in aggregate: for this machine, or for whoever holds the configured token. */
const metricsGate =
  (config: Config) =>
  (request: Readonly<{ ip: string; authorization: string | undefined }>): boolean => {
    // Behind a proxy on the same host every caller is loopback, so production asks for the token.
    if (config.metrics_token === null) return config.mode === 'development' && LOOPBACK.has(request.ip);
    const given = Buffer.from(request.authorization ?? '');
    const wanted = Buffer.from(`Bearer ${config.metrics_token}`);
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  };

const createApi = async (
  deps: Deps,
  telemetry: Telemetry,
  probes: Probes,
  devPassword: string,
  closing: AbortSignal,
): Promise<FastifyInstance> => {
  const { config, clock, database, log } = deps;
  const issuer = config.oidc.issuer === null ? await embeddedIssuer(deps, devPassword) : null;
  const issuerUrl = config.oidc.issuer ?? `${config.public_url}/oidc`;
  const verifier = createTokenVerifier({
    issuer: issuerUrl,
    audience: config.oidc.audience,
    log,
    clock,
    ...(issuer ? { fetch: issuer.fetch } : {}),
  });
  const now = () => clock.now().getTime();
  const authenticate = createAuthenticator({
    database,
    verifier,
    clock,
    log,
    superadmin_emails: issuer === null ? config.superadmin_emails : [...config.superadmin_emails, DEV_ADMIN_EMAIL],
    web_session_idle_s: config.web_session.idle_s,
  });
  const cookies = createCookies(config.public_url);
  const strangers = createRateLimit(config.anonymous_rate_limit_per_minute);
  const fetch = issuer === null ? globalThis.fetch : fetchInProcess(() => http);
  const http: FastifyInstance = await createHttpServer({
    gate: {
      deps,
      authenticate,
      cookies,
      organizationOf: createProjectDirectory(database, now),
      callers: createRateLimit(config.rate_limit_per_minute),
      strangers,
      tickets: createRateLimit(config.ticket_rate_per_minute),
      streams: createStreams(closing),
    },
    telemetry,
    system: {
      ...probes,
      public_url: config.public_url,
      signIn: {
        signIn: browserSignIn(deps, authenticate, { url: issuerUrl, fetch }),
        cookies,
        public_url: config.public_url,
        admit: (ip) => refuseFor(strangers.take(addressBlock(ip), now())),
        onFault: (err, correlation_id) =>
          log.error({ err: err.cause ?? err, correlation_id, internal: err.details.internal }, err.message),
      },
      console:
        config.console_dir === null
          ? null
          : readConsole(config.console_dir, {
              public_url: config.public_url,
              gateway_url: config.gateway.public_url,
              issuer: issuerUrl,
            }),
      issuer: issuer?.callback() ?? null,
      wellKnown: {
        api_version: 'v1',
        issuer: issuerUrl,
        audience: config.oidc.audience,
        cli_client_id: config.oidc.cli_client_id,
        console_client_id: config.oidc.console_client_id,
        embedded_issuer: issuer !== null,
      },
    },
  });
  return http;
};

export const startApp = async (options: AppOptions): Promise<App> => {
  const { config, log, shutdown } = options;
  const database = connectDatabase(config, log);
  shutdown.add('database', () => database.end());
  options.sink?.start({ database, days: config.log_days });
  shutdown.add('log lines', () => options.sink?.stop());
  const telemetry = createTelemetry({
    otlp_url: config.otlp_url,
    service: config.roles.length === 1 ? (config.roles[0] ?? 'gpuaas') : 'gpuaas',
  });
  shutdown.add('telemetry', () => telemetry.stop());
  addGauges(telemetry, database);
  const hub = createEventHub();
  const waker = createWaker({ database, hub, log });
  shutdown.add('waker', () => waker.stop());
  const deps: Deps = {
    config,
    database,
    log,
    clock: options.clock ?? systemClock,
    secrets: createSecrets(config.platform_key),
    events: waker.events,
  };

  const watch = createInvariantWatch({ database, log });
  addInvariantGauge(telemetry, watch);
  startWorkers(deps, { hub, watch, shutdown, workflows: options.workflows });

  const lastMigration = (await readMigrations()).at(-1)?.name ?? '';
  const probes: Probes = {
    readiness: createReadiness(database, lastMigration),
    metrics: () => telemetry.registry.metrics(),
    metricsAllowed: metricsGate(config),
  };
  const isApi = config.roles.includes('gpuaas-api');
  const http = isApi
    ? await createApi(deps, telemetry, probes, options.dev_password, shutdown.signal)
    : createProbeServer(probes);
  shutdown.add('http', () => http.close());
  await http.listen({ host: config.host, port: config.port });
  const { port } = http.server.address() as AddressInfo;
  log.info({ host: config.host, port }, 'listening');
  const nodeApi = config.roles.includes('gpuaas-node-api') ? await startNodeApi(deps, hub, shutdown) : null;
  const isGateway = config.roles.includes('gpuaas-terminal-gateway');
  const gateway = isGateway ? await startGateway(deps, telemetry, shutdown) : null;
  return { deps, http, url: `http://${config.host}:${port}`, node_api: nodeApi, gateway };
};
