/**
 * A server process of a history: real roles on a real database, started in this process. Its only way to the database
 * is a valve. A kill closes that way for good in the middle of whatever it does: like after SIGKILL, nothing is
 * committed, released or reported any more, and its locks and listeners are gone.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Clock, createShutdown, pause, type Shutdown, silentLog } from '@gpuaas/kit';
import { readConfig } from '../../server/src/config.ts';
import { type App, startProcess } from '../../server/src/roles/process.ts';
import { ADMIN_EMAIL } from '../../server/test/app.ts';
import { TEST_KEYS } from '../../server/test/secrets.ts';
import { openValve, upstreamOf, type Valve } from './valve.ts';

export type Sent = Readonly<{
  method: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  payload?: string;
}>;
export type Answer = Readonly<{ status: number; content_type: string; text: string }>;

export type ServerProcess = Readonly<{
  /** Where it listens. */
  url: string;
  /** The listener of agents, where the process has that role. */
  node_api_url: string | null;
  request(sent: Sent): Promise<Answer>;
  /** The way to the database. */
  valve: Valve;
  /** Rejects when the process is killed: its callers get no response. */
  killed: Promise<never>;
  kill(): Promise<void>;
  stop(): Promise<void>;
}>;

export type ProcessOptions = Readonly<{
  database_url: string;
  issuer_url: string;
  /** Beside it is the socket of its valve. */
  state_dir: string;
  roles: string;
  clock: Clock;
  lease_ms: number;
}>;

export class Killed extends Error {
  override name = 'Killed';
}

const NO_LIMIT = '1000000';
const STARTS_MAX = 20;
/** Few connections: each prepares every statement again, which is half of the work of PostgreSQL. */
const POOL_MAX = '5';
/** Above what any query takes on a busy computer, and below how long a database may be silent. */
const QUERY_TIMEOUT_MS = '5000';
const SOCKET_PORT = 5432;

/** The database through a valve, as a URL and as what opens and closes it. */
export const openDatabaseValve = async (
  options: Pick<ProcessOptions, 'database_url' | 'state_dir'>,
): Promise<Readonly<{ valve: Valve; url: string }>> => {
  const folder = await mkdtemp(join(dirname(options.state_dir), 'valve-'));
  const valve = await openValve(upstreamOf(options.database_url), join(folder, `.s.PGSQL.${SOCKET_PORT}`));
  const { username, pathname } = new URL(options.database_url);
  return {
    valve,
    url: `postgresql://${username}@localhost:${SOCKET_PORT}${pathname}?host=${encodeURIComponent(folder)}`,
  };
};

/** Settings of every server of a history. */
export const settingsOf = (options: ProcessOptions, url: string): Readonly<Record<string, string>> => ({
  DATABASE_URL: url,
  GPUAAS_OIDC_ISSUER: options.issuer_url,
  GPUAAS_PORT: '0',
  GPUAAS_NODE_API_PORT: '0',
  GPUAAS_GATEWAY_PORT: '0',
  GPUAAS_GATEWAY_AGENT_PORT: '0',
  GPUAAS_ROLES: options.roles,
  GPUAAS_STATE_DIR: options.state_dir,
  GPUAAS_VALIDATE_RESPONSES: '1',
  GPUAAS_RATE_LIMIT_PER_MINUTE: NO_LIMIT,
  GPUAAS_ANONYMOUS_RATE_LIMIT_PER_MINUTE: NO_LIMIT,
  GPUAAS_NODE_API_RATE_LIMIT_PER_MINUTE: NO_LIMIT,
  GPUAAS_DATABASE_POOL_MAX: POOL_MAX,
  GPUAAS_DATABASE_QUERY_TIMEOUT_MS: QUERY_TIMEOUT_MS,
  GPUAAS_LIMITS: `all=${NO_LIMIT}`,
  GPUAAS_SUPERADMIN_EMAILS: ADMIN_EMAIL,
});

/** As a service manager does: a process that cannot start, on a busy computer, is started again. */
const startAgain = async (start: (shutdown: Shutdown) => Promise<App>): Promise<{ app: App; shutdown: Shutdown }> => {
  for (let attempt = 1; ; attempt++) {
    const shutdown = createShutdown(silentLog(), 2_000);
    try {
      return { app: await start(shutdown), shutdown };
    } catch (err) {
      await shutdown.run('could not start');
      if (attempt >= STARTS_MAX) throw err;
      await pause(attempt * 100);
    }
  }
};

export const startServerProcess = async (options: ProcessOptions): Promise<ServerProcess> => {
  const { valve, url } = await openDatabaseValve(options);
  const config = { ...readConfig(settingsOf(options, url)), ...TEST_KEYS, console_dir: null };
  const { app, shutdown } = await startAgain((closing) =>
    startProcess({
      config: { ...config, trust_keys: config.roles.includes('gpuaas-node-api') ? TEST_KEYS.trust_keys : null },
      log: silentLog(),
      shutdown: closing,
      clock: options.clock,
      dev_password: randomUUID(),
      workflows: { lease_ms: options.lease_ms },
    }),
  );
  const killed = Promise.withResolvers<never>();
  killed.promise.catch(() => {});
  const stop = async (reason: string): Promise<void> => {
    await shutdown.run(reason);
    await valve.close();
  };
  return {
    url: app.url,
    node_api_url: app.node_api?.url ?? null,
    request: async ({ method, path, headers, payload }) => {
      const answer = await app.http.inject({
        method: method as 'GET',
        url: path,
        headers,
        ...(payload === undefined ? {} : { payload }),
      });
      const content_type = String(answer.headers['content-type'] ?? '');
      return { status: answer.statusCode, content_type, text: answer.body };
    },
    valve,
    killed: killed.promise,
    kill: async () => {
      valve.pointAt(null);
      killed.reject(new Killed('The process was killed.'));
      void stop('killed');
    },
    stop: () => stop('the history is over'),
  };
};
