/**
 * The hosts of a database URL. `postgresql://user@one:5432,two:5432/name` names a primary and its standbys in any order:
 * connections go to the one that accepts writes. The driver knows a single host and ignores `target_session_attrs`, so
 * this is done here.
 */
import type { Socket } from 'node:net';
import { Client, type ClientConfig, type PoolClient } from 'pg';
import { ReadOnlyServer } from './errors.ts';

/** After the user and password, before the path: a list of hosts, which no URL parser reads. */
const LIST = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/s;

/** One URL per host. */
export const urlsOf = (url: string): readonly [string, ...string[]] => {
  const [, before = '', hosts = '', rest = ''] = LIST.exec(url) ?? [];
  const [first, ...others] = hosts.split(',').filter((host) => host !== '');
  if (first === undefined || others.length === 0) return [url];
  return [`${before}${first}${rest}`, ...others.map((host) => `${before}${host}${rest}`)];
};

export const socketOf = (client: Client | PoolClient): Socket =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream;

/** Reads of a standby may be old, so a connection to one is refused for reading too. */
export const assertPrimary = async (client: Pick<Client, 'query'>, within_ms: number): Promise<void> => {
  const question = { text: 'select pg_is_in_recovery() as standby', query_timeout: within_ms };
  const { rows } = await client.query<{ standby: boolean }>(question);
  if (rows[0]?.standby !== false) throw new ReadOnlyServer('the database server is a standby and accepts no writes');
};

const CONNECT_WITHIN_MS = 5_000;
const QUERY_WITHIN_MS = 15_000;

/**
 * A connection of its own to the host that accepts writes, for work before there is a pool. The caller ends it. A query
 * without a response fails after 15 s, unless `config` says otherwise.
 */
export const connectOnce = async (url: string, config: ClientConfig = {}): Promise<Client> => {
  const failures: string[] = [];
  let first: unknown;
  for (const [at, connectionString] of urlsOf(url).entries()) {
    const limits = { connectionTimeoutMillis: CONNECT_WITHIN_MS, query_timeout: QUERY_WITHIN_MS, keepAlive: true };
    const client = new Client({ ...limits, ...config, connectionString });
    client.on('error', () => {});
    try {
      await client.connect();
      await assertPrimary(client, CONNECT_WITHIN_MS);
      return client;
    } catch (err) {
      first ??= err;
      failures.push(`host ${at + 1}: ${err instanceof Error ? err.message : String(err)}`);
      // Ending it politely would wait for a server that may never respond.
      socketOf(client).destroy();
    }
  }
  throw new Error(`No host of the database URL accepts work: ${failures.join('; ')}.`, { cause: first });
};
