/**
 * The connections of a process. A network can go silent without closing anything, so every wait has a limit: to connect,
 * and for the response to each query, also in transactions and on LISTEN connections. The server's own limits are
 * shorter, so that a slow statement ends with its reason and keeps its connection; the limit here is for a server that
 * no longer responds. A connection that reached it is destroyed, never returned to the pool, and the others are suspect:
 * idle ones are destroyed too, those in use when they are returned.
 */
import type { Log } from '@gpuaas/kit';
import { Client, type ClientConfig, Pool, type PoolClient } from 'pg';
import { assertPrimary, socketOf, urlsOf } from './database-url.ts';
import { isPoolExhausted, isReadOnlyError, isSilent } from './errors.ts';

export type ConnectionOptions = Readonly<{
  /** May name several hosts; see database-url.ts. */
  url: string;
  log: Log;
  /** The role that every connection takes after sign-in; undefined when the URL already signs in as the application. */
  role?: string | undefined;
  poolMax?: number;
  /** How long the response to a query may take; the server ends statements after three quarters of it. */
  queryTimeoutMs?: number;
  /** How long a connection may take, or the wait for one of the pool. */
  connectTimeoutMs?: number;
}>;

export type Connections = Readonly<{
  /** The caller releases it, with an error when it is not to be used again. */
  connect(): Promise<PoolClient>;
  end(): Promise<void>;
}>;

const QUERY_TIMEOUT_MS = 20_000;
const CONNECT_TIMEOUT_MS = 2_000;
const KEEPALIVE_S = 10;

/** Settings of the server for this connection. Its keepalive ends sessions, and their locks, of clients that vanished. */
const settingsOf = (options: ConnectionOptions, queryTimeoutMs: number): string =>
  [
    ...(options.role ? [`role=${options.role}`] : []),
    `statement_timeout=${Math.ceil(queryTimeoutMs * 0.75)}`,
    `idle_in_transaction_session_timeout=${Math.ceil(queryTimeoutMs * 1.5)}`,
    `tcp_keepalives_idle=${KEEPALIVE_S}`,
    'tcp_keepalives_interval=5',
    'tcp_keepalives_count=3',
    'timezone=UTC',
  ]
    .map((setting) => `-c ${setting}`)
    .join(' ');

export const createConnections = (options: ConnectionOptions): Connections => {
  const { log } = options;
  const queryTimeoutMs = options.queryTimeoutMs ?? QUERY_TIMEOUT_MS;
  const connectTimeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  const poolMax = options.poolMax ?? 10;
  const urls = urlsOf(options.url);
  /** The host of the next connection, and the one that was last used. */
  let next = 0;
  let used = 0;
  let generation = 0;
  const born = new WeakMap<PoolClient, number>();
  const primaries = new WeakSet<PoolClient>();
  const idle = new Set<PoolClient>();
  const busy = new Set<PoolClient>();

  /** This host failed: the first to notice moves all later connections to the next one. */
  const leave = (host: number): void => {
    if (next === host) next = (host + 1) % urls.length;
  };

  /** The pool also connects for those that wait, so the host is chosen when a connection begins. */
  class HostClient extends Client {
    readonly host_at: number;

    constructor(config: ClientConfig) {
      super({ ...config, connectionString: urls[next] });
      this.host_at = next;
    }

    override connect(): Promise<void>;
    override connect(callback: (err: Error) => void): void;
    override connect(callback?: (err: Error) => void): Promise<void> | void {
      if (callback === undefined) return super.connect();
      super.connect((err) => {
        if (err) leave(this.host_at);
        callback(err);
      });
    }
  }
  const hostOf = (client: PoolClient): number => (client as unknown as HostClient).host_at;

  const pool = new Pool({
    Client: HostClient,
    max: poolMax,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_S * 1_000,
    pipeline: true,
    query_timeout: queryTimeoutMs,
    options: settingsOf(options, queryTimeoutMs),
  } as unknown as ConstructorParameters<typeof Pool>[0]);
  // A connection that dies while idle is replaced by the pool; without a listener it would end the process.
  pool.on('error', (err) => log.debug({ err }, 'idle database connection lost'));
  pool.on('connect', (client) => {
    born.set(client, generation);
    // So would one that breaks while in use: the running query reports the failure to its caller.
    client.on('error', () => {});
  });
  pool.on('acquire', (client) => {
    idle.delete(client);
    busy.add(client);
  });
  pool.on('release', (_err, client) => {
    busy.delete(client);
    idle.add(client);
  });
  pool.on('remove', (client) => {
    busy.delete(client);
    idle.delete(client);
  });

  const suspectAll = (cause: Error): void => {
    log.warn({ err: cause, dropped: idle.size }, 'database connections dropped; connecting again');
    generation += 1;
    for (const client of idle) socketOf(client).destroy();
  };

  /** Ending a broken connection politely would wait for a server that may never respond. */
  const withRelease = (client: PoolClient): PoolClient => {
    const release = client.release.bind(client);
    client.release = (broken) => {
      const isOld = born.get(client) !== generation;
      if (broken instanceof Error && !isOld && (isSilent(broken) || isReadOnlyError(broken))) {
        // A host that refuses writes, though it is not in recovery, is left; one that is silent fails to connect.
        if (isReadOnlyError(broken)) leave(hostOf(client));
        suspectAll(broken);
      }
      const isBroken = Boolean(broken) || socketOf(client).destroyed;
      if (isBroken) socketOf(client).destroy();
      release(broken || isBroken || isOld);
    };
    return client;
  };

  /** The pool notices a destroyed connection only when its socket has closed. */
  const takeLive = async (): Promise<PoolClient> => {
    for (;;) {
      const client = withRelease(await pool.connect());
      if (!socketOf(client).destroyed) return client;
      client.release(true);
    }
  };

  const takePrimary = async (): Promise<PoolClient> => {
    const client = await takeLive();
    if (primaries.has(client)) return client;
    try {
      await assertPrimary(client, connectTimeoutMs);
    } catch (err) {
      leave(hostOf(client));
      client.release(true);
      throw err;
    }
    primaries.add(client);
    if (hostOf(client) !== used)
      log.warn({ host: hostOf(client) + 1, hosts: urls.length }, 'using another database host');
    used = hostOf(client);
    return client;
  };

  const connect = async (): Promise<PoolClient> => {
    for (let tried = 1; ; tried++) {
      // Connections in use come back, so those that wait for them have no reason to look elsewhere. Connections that
      // are being made may wait for a silent host.
      const isFull = busy.size >= poolMax;
      try {
        return await takePrimary();
      } catch (err) {
        if (tried >= urls.length || (isFull && isPoolExhausted(err))) throw err;
      }
    }
  };

  return { connect, end: () => pool.end() };
};
