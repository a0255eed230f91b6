/**
 * The only access to PostgreSQL. Every query runs in a transaction that first sets its tenant and user (row-level
 * security reads those two settings), so no code path can inherit another request's tenant. Statements are pipelined:
 * begin, scope and the first query are sent in one packet.
 *
 * Reads take a Reader, writes a Tx, so a write outside a transaction does not compile.
 */
import { createHash } from 'node:crypto';
import { backoffMs, invariant, pause, reportProgress } from '@gpuaas/kit';
import { type PoolClient, type QueryResult, types } from 'pg';
import { AppError } from '../errors.ts';
import { type ConnectionOptions, createConnections } from './connections.ts';
import { socketOf } from './database-url.ts';
import {
  isAborted,
  isRetryable,
  isSilent,
  isWriteRefused,
  ReadOnlyServer,
  toAppError,
  toCommitError,
} from './errors.ts';

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
  /**
   * For a function that sends all its statements before it waits for any: they travel with the end of the transaction, in
   * one packet. A statement sent later is refused, and an error of the function itself undoes nothing.
   */
  readAtOnce<T>(scope: Scope, fn: (reader: Reader) => Promise<T>): Promise<T>;
  writeAtOnce<T>(scope: Scope, fn: (tx: Tx) => Promise<T>): Promise<T>;
  /** A connection outside any transaction, for LISTEN and session locks. The caller releases it. */
  connect(): Promise<PoolClient>;
  end(): Promise<void>;
}

export type DatabaseOptions = ConnectionOptions &
  Readonly<{
    /** Called after each commit of a transaction that requested it. Must not throw. */
    wake?: () => void;
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
  const stream = socketOf(client);
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

type Kind = Readonly<{ mode: 'begin' | 'begin read only'; isAtOnce: boolean }>;

export const createDatabase = (options: DatabaseOptions): Database => {
  const connections = createConnections(options);

  const connect = async (): Promise<PoolClient> => {
    try {
      return await connections.connect();
    } catch (err) {
      throw toAppError(err);
    }
  };

  const once = async <T>({ mode, isAtOnce }: Kind, scope: Scope, fn: (tx: Tx) => Promise<T>): Promise<T> => {
    const client = await connect();
    let isWaking = false;
    let isCommitSent = false;
    let committing: Promise<QueryResult> | undefined;
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
      invariant(committing === undefined, 'no statement is sent after its commit');
      hold();
      const sent = run<R>(client, text, values);
      sent.catch((err: unknown) => {
        cause ??= err;
      });
      return sent;
    };
    const send = (text: string, values?: readonly unknown[]) => void pending.push(query(text, values));
    const commit = (): Promise<QueryResult> => {
      hold();
      isCommitSent = mode === 'begin';
      const sent = client.query('commit');
      sent.catch((err: unknown) => {
        cause ??= err;
      });
      committing = sent;
      return sent;
    };
    try {
      send(mode);
      send(SET_SCOPE, [scope.tenant_id, scope.principal_id]);
      const running = fn({
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
      if (isAtOnce) void commit();
      const result = await running;
      const committed = committing ?? commit();
      // Whichever arrives first, the failure that explains the others is reported.
      const failed = (await Promise.allSettled(pending)).filter((sent) => sent.status === 'rejected');
      if (failed[0] !== undefined) throw (failed.find(({ reason }) => !isAborted(reason)) ?? failed[0]).reason;
      // PostgreSQL answers ROLLBACK to the commit of a transaction that had already failed.
      if ((await committed).command !== 'COMMIT')
        throw new AppError('internal', 'The change was not saved.', { internal: 'commit answered ROLLBACK' });
      if (isWaking) options.wake?.();
      return result;
    } catch (err) {
      const first = isAborted(err) && cause !== undefined ? cause : err;
      if (broken === undefined) await client.query('rollback').catch((rollbackErr: Error) => (broken = rollbackErr));
      // The first failure explains the others: after a silent query the rest only finds a closed connection.
      if (cause instanceof Error && isSilent(cause)) broken = cause;
      // A standby refuses every write, so its connections are dropped and the primary is looked for.
      if (mode === 'begin' && isWriteRefused(first)) {
        broken = new ReadOnlyServer('the database accepts no writes', { cause: first });
        throw broken;
      }
      throw isCommitSent ? toCommitError(first) : first;
    } finally {
      client.off('error', onError);
      client.release(broken);
      reportProgress();
    }
  };

  const withRetry = async <T>(kind: Kind, scope: Scope, fn: (tx: Tx) => Promise<T>): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await once(kind, scope, fn);
      } catch (err) {
        if (!isRetryable(err) || attempt >= ATTEMPTS_MAX) throw toAppError(err);
        await pause(backoffMs(attempt, { baseMs: 10, capMs: 200 }));
      }
    }
  };

  return {
    read: (scope, fn) => withRetry({ mode: 'begin read only', isAtOnce: false }, scope, fn),
    write: (scope, fn) => withRetry({ mode: 'begin', isAtOnce: false }, scope, fn),
    readAtOnce: (scope, fn) => withRetry({ mode: 'begin read only', isAtOnce: true }, scope, fn),
    writeAtOnce: (scope, fn) => withRetry({ mode: 'begin', isAtOnce: true }, scope, fn),
    connect,
    end: connections.end,
  };
};
