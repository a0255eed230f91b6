/** The meaning of a failed query for the caller. SQLSTATE decides, never the text. */
import { AppError } from '../errors.ts';

const sqlState = (err: unknown): string | undefined =>
  err instanceof Error && 'code' in err && typeof err.code === 'string' ? err.code : undefined;

/** Serialisation failure and deadlock: the same transaction may succeed when run again. */
export const isRetryable = (err: unknown): boolean => ['40001', '40P01'].includes(sqlState(err) ?? '');

/** The transaction had failed before this statement, which does not show why. */
export const isAborted = (err: unknown): boolean => sqlState(err) === '25P02';

export const isUniqueViolation = (err: unknown, constraint?: string): boolean =>
  sqlState(err) === '23505' && (constraint === undefined || (err as { constraint?: string }).constraint === constraint);

/** Connection lost or refused, server starting or stopping, out of resources, statement timeout, pool exhausted. */
const isUnavailable = (err: unknown): boolean => {
  const code = sqlState(err) ?? '';
  if (/^(08|53|57P)/.test(code) || code === '57014' || code === '40001' || code === '40P01' || code === '25P03')
    return true;
  if (/^(ECONN|EPIPE|ETIMEDOUT|ENOENT|EHOST|EAI_)/.test(code)) return true;
  return (
    err instanceof Error &&
    /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Connection ended)/.test(
      err.message,
    )
  );
};

/** Keeps our own errors, turns an unreachable database into 503; anything else is a defect and stays unchanged. */
export const toAppError = (err: unknown): unknown =>
  err instanceof AppError || !isUnavailable(err)
    ? err
    : new AppError('unavailable', 'The database cannot be reached right now.', { cause: err, retry_after_s: 1 });
