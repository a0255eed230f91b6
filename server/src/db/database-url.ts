/**
 * The hosts of a database URL. `postgresql://user@one:5432,two:5432/name` names a primary and its standbys in any order:
 * connections go to the one that accepts writes. The driver knows a single host and ignores `target_session_attrs`, so
 * this is done here.
 */
import { Client, type ClientConfig } from 'pg';
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

/** Reads of a standby may be old, so a connection to one is refused for reading too. */
export const assertPrimary = async (client: Pick<Client, 'query'>, within_ms: number): Promise<void> => {
  const question = { text: 'select pg_is_in_recovery() as standby', query_timeout: within_ms };
  const { rows } = await client.query<{ standby: boolean }>(question);
  if (rows[0]?.standby !== false) throw new ReadOnlyServer('the database server is a standby and accepts no writes');
};

const CONNECT_WITHIN_MS = 5_000;

/** A connection of its own to the host that accepts writes, for work before there is a pool. The caller ends it. */
export const connectOnce = async (url: string, config: ClientConfig = {}): Promise<Client> => {
  let failure: unknown;
  for (const connectionString of urlsOf(url)) {
    const client = new Client({ connectionTimeoutMillis: CONNECT_WITHIN_MS, ...config, connectionString });
    client.on('error', () => {});
    try {
      await client.connect();
      await assertPrimary(client, CONNECT_WITHIN_MS);
      return client;
    } catch (err) {
      failure ??= err;
      await client.end().catch(() => {});
    }
  }
  throw failure;
};
