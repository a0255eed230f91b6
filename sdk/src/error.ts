/**
 * The one exception of the SDK. An API error keeps every field of its problem document; a failure without an API
 * response (no network, a proxy's page, a wait that timed out) has its own code, so that a program can always decide by
 * `code` and a person always finds the correlation ID.
 */
import { ERRORS, type ErrorCode, type Problem } from './api.gen.ts';

/** `network`: no response. `timeout`: a wait ended first. `unexpected_response`: the response is not from the API. */
export type GpuaasErrorCode = ErrorCode | 'network' | 'timeout' | 'unexpected_response';

type Details = Partial<
  Pick<
    Problem,
    | 'status'
    | 'title'
    | 'correlation_id'
    | 'retryable'
    | 'retry_after_s'
    | 'errors'
    | 'reasons'
    | 'alternatives'
    | 'actions'
  >
> & { cause?: unknown };

const OWN_TITLES: Readonly<Record<Exclude<GpuaasErrorCode, ErrorCode>, string>> = {
  network: 'No connection',
  timeout: 'Not within the time',
  unexpected_response: 'Not a response of the API',
};

const WIRE_NAMES = [
  'code',
  'status',
  'title',
  'detail',
  'correlation_id',
  'retryable',
  'retry_after_s',
  'errors',
  'reasons',
  'alternatives',
  'actions',
  'help',
] as const;

export class GpuaasError extends Error {
  override name = 'GpuaasError';
  readonly code: GpuaasErrorCode;
  /** HTTP status; 0 if there was no response. */
  readonly status: number;
  readonly title: string;
  /** What went wrong, as a sentence. The same as `message`. */
  readonly detail: string;
  readonly correlation_id: string | null;
  /** Whether the same request may succeed later unchanged. */
  readonly retryable: boolean;
  readonly retry_after_s: number | null;
  readonly errors: Problem['errors'];
  readonly reasons: Problem['reasons'];
  readonly alternatives: Problem['alternatives'];
  readonly actions: Problem['actions'];

  constructor(code: GpuaasErrorCode, detail: string, details: Details = {}) {
    super(detail, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.detail = detail;
    this.status = details.status ?? 0;
    this.title = details.title ?? (isErrorCode(code) ? ERRORS[code].title : OWN_TITLES[code]);
    this.correlation_id = details.correlation_id ?? null;
    this.retryable = details.retryable ?? false;
    this.retry_after_s = details.retry_after_s ?? null;
    this.errors = details.errors ?? [];
    this.reasons = details.reasons ?? [];
    this.alternatives = details.alternatives ?? [];
    this.actions = details.actions ?? [];
  }

  /** What to do next, as a sentence; null if only the detail can say. */
  get help(): string | null {
    return isErrorCode(this.code) ? ERRORS[this.code].help : null;
  }

  /** The wire names, for logs and for programs that read our standard error. */
  toJSON(): Record<string, unknown> {
    return Object.fromEntries(WIRE_NAMES.map((name) => [name, this[name]]));
  }
}

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(ERRORS, code);

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Seconds from a Retry-After header, which may also be a date; null when it is absent or unreadable. */
export const retryAfterSeconds = (header: string | null, nowMs: number): number | null => {
  if (header === null) return null;
  if (/^\d+$/.test(header.trim())) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - nowMs) / 1000));
};

/** Parses an error response. Unknown codes keep their message and are treated by their status. */
export const errorFromResponse = (status: number, headers: Headers, text: string): GpuaasError => {
  const correlation_id = headers.get('x-correlation-id');
  const retry_after_s = retryAfterSeconds(headers.get('retry-after'), Date.now());
  const body = parse(text);
  if (isRecord(body) && typeof body['code'] === 'string' && typeof body['detail'] === 'string') {
    const problem = body as Partial<Problem>;
    const list = <T>(value: readonly T[] | undefined): T[] => (Array.isArray(value) ? value : []);
    return new GpuaasError(isErrorCode(body['code']) ? body['code'] : 'unexpected_response', body['detail'], {
      status,
      title: typeof problem.title === 'string' ? problem.title : body['code'],
      correlation_id: problem.correlation_id ?? correlation_id ?? '',
      retryable: problem.retryable === true,
      retry_after_s: problem.retry_after_s ?? retry_after_s,
      errors: list(problem.errors),
      reasons: list(problem.reasons),
      alternatives: list(problem.alternatives),
      actions: list(problem.actions),
    });
  }
  const gateway = status === 429 || status === 502 || status === 503 || status === 504;
  return new GpuaasError(
    'unexpected_response',
    `The server returned ${status} without a problem document: is this the address of a GPUaaS API?`,
    {
      status,
      retryable: gateway,
      retry_after_s,
      ...(correlation_id === null ? {} : { correlation_id }),
    },
  );
};
