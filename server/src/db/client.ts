/**
 * The only access to PostgreSQL. Every query runs in a transaction that first sets its tenant and user (row-level
 * security reads those two settings), so no code path can inherit another request's tenant. Statements are pipelined:
 * begin, scope and the first query are sent in one packet.
 *
 * Reads take a Reader, writes a Tx, so a write outside a transaction does not compile.
 */
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Log } from '@gpuaas/kit';
import { backoffMs, pause } from '@gpuaas/kit';
import { Pool, type PoolClient, types } from 'pg';
import { AppError } from '../errors.ts';
import { isAborted, isRetryable, toAppError } from './errors.ts';

/** The scope: `tenant_id` is an organization, '' for none, '*' for the platform's own work. */
export type Scope = Readonly<{ tenant_id: string; principal_id: string }>;
export const PLATFORM: Scope = { tenant_id: '*', principal_id: '' };

export type Result<R> = Readonly<{ rows: R[]; rowCount: number }>;

export interface Reader {
  query<R extends object>(text: string, values?: readonly unknown[]): Promise<Result<R>>;
}

export interface Tx extends Reader {
  /**
   * A statement already sent that need not be awaited before the commit is sent too; its failure fails the transaction.
   */
  defer(sent: Promise<unknown>): void;
  /**
   * Wakes readers that wait for work or events: once, when the transaction is durable, and never when it rolled back.
   * Without it, polling finds the new rows.
   */
  wake(): void;
  /** Changes the scope for the rest of the transaction; the caller documents the reason. */
  enter(scope: Scope): void;
}

export interface Database {
  read<T>(scope: Scope, fn: (reader: Reader) => Promise<T>): Promise<T>;
  write<T>(scope: Scope, fn: (tx: Tx) => Promise<T>): Promise<T>;
  /** A connection outside any transaction, for LISTEN and session locks. The caller releases it. */
  connect(): Promise<PoolClient>;
  end(): Promise<void>;
}

export type DatabaseOptions = Readonly<{
  url: string;
  log: Log;
  /** The role that every connection takes after sign-in; undefined when the URL already signs in as the application. */
  role?: string | undefined;
  /** Called after each commit of a transaction that requested it. Must not throw. */
  wake?: () => void;
  poolMax?: number;
  statementTimeoutMs?: number;
}>;

// Times travel as RFC 3339 strings from row to JSON; counters and money fit a double or the query is wrong.
// Every connection's time zone is UTC, so nearly always only the letters between the digits differ.
const UTC = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3,6}\+00$/;
types.setTypeParser(types.builtins.TIMESTAMPTZ, (text) =>
  UTC.test(text) ? `${text.slice(0, 10)}T${text.slice(11, 23)}Z` : new Date(text).toISOString(),
);
types.setTypeParser(types.builtins.INT8, (text) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError('integer from the database exceeds 2^53');
  return value;
});

const ATTEMPTS_MAX = 5;

/** Texts repeat, so each is prepared once per connection under the hash of its text. */
const names = new Map<string, string>();
const statementName = (text: string): string | undefined => {
  let name = names.get(text);
  if (name === undefined && names.size < 1000) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 20);
    names.set(text, name);
  }
  return name;
};

/**
 * The statements of a transaction before its first wait are sent in one write. A write per statement wakes the server
 * as often, which costs more than most statements do.
 */
const holdUntilWaiting = (client: PoolClient): (() => void) => {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  let isHeld = false;
  return () => {
    if (isHeld) return;
    isHeld = true;
    stream.cork();
    process.nextTick(() => {
      isHeld = false;
      stream.uncork();
    });
  };
};

const run = <R extends object>(
  client: PoolClient,
  text: string,
  values: readonly unknown[] = [],
): Promise<Result<R>> => {
  const name = statementName(text);
  return client.query<R>({ ...(name ? { name } : {}), text, values: values as unknown[] }).then((result) => ({
    rows: result.rows,
    rowCount: result.rowCount ?? 0,
  }));
};

const SET_SCOPE = "select set_config('gpuaas.tenant_id', $1, true), set_config('gpuaas.principal_id', $2, true)";

export const createDatabase = (options: DatabaseOptions): Database => {
  const pool = new Pool({
    connectionString: options.url,
    max: options.poolMax ?? 10,
    connectionTimeoutMillis: 2_000,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    pipeline: true,
    options: [
      ...(options.role ? [`-c role=${options.role}`] : []),
      `-c statement_timeout=${options.statementTimeoutMs ?? 15_000}`,
      '-c idle_in_transaction_session_timeout=30000',
      '-c timezone=UTC',
    ].join(' '),
  } as ConstructorParameters<typeof Pool>[0]);
  // A connection that dies while idle is replaced by the pool; without a listener it would end the process.
  pool.on('error', (err) => options.log.warn({ err }, 'idle database connection lost'));
  // So would one that breaks while in use: the running query reports the failure to its caller, and this only keeps the
  // process alive.
  pool.on('connect', (client) => client.on('error', () => {}));

  const connect = async (): Promise<PoolClient> => {
    try {
      return await pool.connect();
    } catch (err) {
      throw toAppError(err);
    }
  };

  const once = async <T>(mode: 'begin' | 'begin read only', scope: Scope, fn: (tx: Tx) => Promise<T>): Promise<T> => {
    const client = await connect();
    let isWaking = false;
    let broken: Error | undefined;
    // A dropped connection surfaces on the client as well as on the query that was running.
    const onError = (err: Error) => {
      broken = err;
    };
    client.on('error', onError);
    // Sent, not awaited: a failure here fails every later statement, which is awaited.
    const pending: Promise<unknown>[] = [];
    // The first failure is the cause; every later statement only reports that the transaction is aborted.
    let cause: unknown;
    const hold = holdUntilWaiting(client);
    const query = <R extends object>(text: string, values?: readonly unknown[]): Promise<Result<R>> => {
      hold();
      const sent = run<R>(client, text, values);
      sent.catch((err: unknown) => {
        cause ??= err;
      });
      return sent;
    };
    const send = (text: string, values?: readonly unknown[]) => void pending.push(query(text, values));
    try {
      send(mode);
      send(SET_SCOPE, [scope.tenant_id, scope.principal_id]);
      const result = await fn({
        query,
        defer: (sent) => {
          sent.catch(() => {});
          pending.push(sent);
        },
        wake: () => {
          isWaking = true;
        },
        enter: (next) => send(SET_SCOPE, [next.tenant_id, next.principal_id]),
      });
      hold();
      const commit = client.query('commit');
      commit.catch(() => {});
      // Whichever arrives first, the failure that explains the others is reported.
      const failed = (await Promise.allSettled(pending)).filter((sent) => sent.status === 'rejected');
      if (failed[0] !== undefined) throw (failed.find(({ reason }) => !isAborted(reason)) ?? failed[0]).reason;
      // PostgreSQL answers ROLLBACK to the commit of a transaction that had already failed.
      if ((await commit).command !== 'COMMIT')
        throw new AppError('internal', 'The change was not saved.', { internal: 'commit answered ROLLBACK' });
      if (isWaking) options.wake?.();
      return result;
    } catch (err) {
      if (broken === undefined) await client.query('rollback').catch((rollbackErr: Error) => (broken = rollbackErr));
      throw isAborted(err) && cause !== undefined ? cause : err;
    } finally {
      client.off('error', onError);
      client.release(broken);
    }
  };

  const withRetry = async <T>(
    mode: 'begin' | 'begin read only',
    scope: Scope,
    fn: (tx: Tx) => Promise<T>,
  ): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await once(mode, scope, fn);
      } catch (err) {
        if (!isRetryable(err) || attempt >= ATTEMPTS_MAX) throw toAppError(err);
        await pause(backoffMs(attempt, { baseMs: 10, capMs: 200 }));
      }
    }
  };

  return {
    read: (scope, fn) => withRetry('begin read only', scope, fn),
    write: (scope, fn) => withRetry('begin', scope, fn),
    connect,
    end: () => pool.end(),
  };
};
