/** Converts any thrown value into the error envelope of the contract. */
import { ERRORS, type ErrorCode, type Problem, type Static } from '@gpuaas/contract';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError } from '../errors.ts';

export type ProblemBody = Static<typeof Problem>;

const RETRY_AFTER_DEFAULT_S = 1;

/** Errors of Fastify and Node before a handler runs, in our format. Any other unknown error is a defect. */
const KNOWN: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['payload_too_large', 'The body is larger than 1 MiB.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', REFUSALS.content_type],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['invalid_request', 'The length of the body differs from Content-Length.'],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['invalid_request', 'The body is empty; send a JSON object.'],
  FST_ERR_CTP_EMPTY_TYPE: ['unsupported_media_type', 'The body has no content type; send application/json.'],
  FST_ERR_BAD_URL: ['invalid_request', REFUSALS.bad_path],
  FST_ERR_MAX_PARAM_LENGTH: ['not_found', REFUSALS.no_resource],
  FST_ERR_ASYNC_CONSTRAINT: ['not_found', REFUSALS.no_resource],
  ECONNRESET: ['request_timeout', 'The connection ended before the request was complete.'],
};

export const toAppError = (err: unknown): AppError => {
  if (err instanceof AppError) return err;
  const code = err instanceof Error && 'code' in err && typeof err.code === 'string' ? err.code : '';
  const known = KNOWN[code];
  if (known) return new AppError(known[0], known[1], { cause: err });
  return new AppError('internal', REFUSALS.internal, { cause: err });
};

export const toProblem = (
  error: AppError,
  request: Readonly<{ correlation_id: string; path: string; public_url: string }>,
): ProblemBody => {
  const { status, retryable, title, help } = ERRORS[error.code];
  const docs = `${request.public_url}/docs/errors/${error.code}`;
  return {
    type: docs,
    title,
    status,
    detail: error.message,
    instance: request.path,
    code: error.code,
    correlation_id: request.correlation_id,
    retryable,
    retry_after_s: retryable ? (error.details.retry_after_s ?? RETRY_AFTER_DEFAULT_S) : null,
    errors: [...(error.details.errors ?? [])],
    reasons: [...(error.details.reasons ?? [])],
    alternatives: [...(error.details.alternatives ?? [])],
    actions: [{ rel: 'help', href: docs, text: help }],
  };
};
