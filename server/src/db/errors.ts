/** The meaning of a failed query for the caller. SQLSTATE decides, never the text. */
import { AppError } from '../errors.ts';

export const sqlState = (err: unknown): string | undefined =>
  err instanceof Error && 'code' in err && typeof err.code === 'string' ? err.code : undefined;

/** The server accepts no writes: a standby, or a primary that was demoted. */
export class ReadOnlyServer extends Error {
  override name = 'ReadOnlyServer';
}

/** A write was refused because the transaction is read-only. In one that asked to write, the server is the reason. */
export const isWriteRefused = (err: unknown): boolean => sqlState(err) === '25006' || isReadOnlyError(err);

export const isReadOnlyError = (err: unknown): boolean => err instanceof ReadOnlyServer;

/** Serialization failure, deadlock, a server that lost its role: the same transaction may succeed when run again. */
export const isRetryable = (err: unknown): boolean =>
  ['40001', '40P01'].includes(sqlState(err) ?? '') || isReadOnlyError(err);

/** The transaction had failed before this statement, which does not show why. */
export const isAborted = (err: unknown): boolean => sqlState(err) === '25P02';

export const isUniqueViolation = (err: unknown, constraint?: string): boolean =>
  sqlState(err) === '23505' && (constraint === undefined || (err as { constraint?: string }).constraint === constraint);

/** A row that this one refers to is not as it must be, or another row still refers to it. */
export const isForeignKeyViolation = (err: unknown, constraint?: string): boolean =>
  sqlState(err) === '23503' && (constraint === undefined || (err as { constraint?: string }).constraint === constraint);

export const isCheckViolation = (err: unknown, constraint: string): boolean =>
  sqlState(err) === '23514' && (err as { constraint?: string }).constraint === constraint;

const messageOf = (err: unknown): string => (err instanceof Error ? err.message : '');

/** The server did not respond to a query within the limit; the driver has closed the connection. */
export const isSilent = (err: unknown): boolean => messageOf(err) === 'Query read timeout';

export const isPoolExhausted = (err: unknown): boolean => messageOf(err) === 'timeout exceeded when trying to connect';

/** Nothing more comes from this connection: it broke, was silent, or the server ended the session. */
const isConnectionLost = (err: unknown): boolean =>
  isSilent(err) ||
  /^(08|57P|25P03|ECONN|EPIPE|ETIMEDOUT|ENOENT|EHOST|ENET|EAI_)/.test(sqlState(err) ?? '') ||
  /^(Connection terminated|Connection ended|Client (has encountered a connection error|was closed))/.test(
    messageOf(err),
  );

/** Also out of resources, statement timeout, a standby, pool exhausted, retries used up. */
const isUnavailable = (err: unknown): boolean =>
  isConnectionLost(err) || isPoolExhausted(err) || isRetryable(err) || /^(53|57014)/.test(sqlState(err) ?? '');

/** Keeps our own errors, turns an unreachable database into 503; anything else is a defect and stays unchanged. */
export const toAppError = (err: unknown): unknown =>
  err instanceof AppError || !isUnavailable(err)
    ? err
    : new AppError('unavailable', 'The database cannot be reached right now.', { cause: err, retry_after_s: 1 });

/**
 * The commit was sent and its response was lost: the change exists or it does not. Never repeated here; the caller asks
 * again in a way that finds the first attempt: by idempotency key, run lease or task id.
 */
export const toCommitError = (err: unknown): unknown =>
  isConnectionLost(err)
    ? new AppError(
        'unavailable',
        'The database did not confirm the change, which may have been saved. Repeat the request with the same Idempotency-Key.',
        { cause: err, retry_after_s: 1, internal: 'commit outcome unknown' },
      )
    : err;
