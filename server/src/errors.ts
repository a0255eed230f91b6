/**
 * The server's one exception. `message` is for the caller; `internal` and the cause chain go to the log, once, at the
 * edge. Expected negative results inside the domain are values, not exceptions.
 */
import { ERRORS, type ErrorCode } from '@gpuaas/contract';

export type FieldError = Readonly<{ pointer: string; code: string; message: string }>;

export type AppErrorDetails = Readonly<{
  internal?: string;
  cause?: unknown;
  errors?: readonly FieldError[];
  reasons?: readonly (Readonly<{ code: string }> & Readonly<Record<string, unknown>>)[];
  alternatives?: readonly Readonly<Record<string, unknown>>[];
  retry_after_s?: number;
  /** The largest age of a sign-in that is accepted, for the challenge of RFC 9470. */
  max_age_s?: number;
  /** The subject of the refused request, for its audit row, where the path does not name it. */
  about?: Readonly<{ kind: string; id: string }>;
}>;

export class AppError extends Error {
  override name = 'AppError';
  readonly code: ErrorCode;
  readonly details: AppErrorDetails;

  constructor(code: ErrorCode, message: string, details: AppErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** A resource the caller may not see and a missing one get the same response, built fresh each time. */
export const notFound = (noun: string): AppError => new AppError('not_found', `No such ${noun}.`);
export const conflict = (sentence: string): AppError => new AppError('conflict', sentence);
/** `problem` continues the sentence that begins with the field's name. */
export const invalidField = (name: string, problem: string, code = 'not_allowed'): AppError =>
  new AppError('invalid_request', `Invalid request: ${name} ${problem}.`, {
    errors: [{ pointer: `/body/${name}`, code, message: problem }],
  });
