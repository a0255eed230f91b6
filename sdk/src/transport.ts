/**
 * One request, repeated as often as it is safe. Only reads and POSTs with an Idempotency-Key are retried, with the same
 * key, after 429, 503, a gateway's 502 or 504, or a broken connection; a change without a key is never repeated,
 * because its first attempt may have succeeded. A 401 is returned before anything runs, so a request with any method
 * may be retried once with a fresh token.
 */
import { errorFromResponse, GpuaasError } from './error.ts';

/**
 * `rejected` is the token that the server just refused: return another one, or the same to fail. With `freshSignIn` the
 * token is valid, but its user must sign in again for this request: a renewed token would be refused too.
 */
export type TokenProvider = (
  options: Readonly<{ rejected?: string; freshSignIn?: true }>,
) => Promise<string | undefined> | string | undefined;

export type RetryOptions = Readonly<{
  /** How often a safe request is retried; 0 for never. */
  retriesMax?: number;
  /** First pause; each next is twice as long, with jitter. Retry-After is used if it is longer. */
  baseMs?: number;
  /** The longest pause. If the server requests more, there is no retry: the error contains the requested delay. */
  waitMaxMs?: number;
}>;

export type TransportOptions = Readonly<{
  baseUrl: string;
  tokenProvider: TokenProvider;
  fetch: typeof globalThis.fetch;
  userAgent: string | undefined;
  timeoutMs: number;
  retry: Required<RetryOptions>;
}>;

export type WireRequest = Readonly<{
  method: string;
  /** Path and query; always below the base URL. */
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** Sent without a credential. */
  anonymous?: boolean;
  signal?: AbortSignal | undefined;
  /** The caller reads the body as a stream. */
  stream?: boolean;
}>;

export type WireResponse = Readonly<{ status: number; headers: Headers; text: string; response: Response }>;

export type Transport = Readonly<{ send(request: WireRequest): Promise<WireResponse> }>;

/** Waits, and rejects with the signal's reason as soon as it is aborted. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });

export const backoffMs = (attempt: number, baseMs: number, capMs: number): number =>
  Math.round(Math.min(capMs, baseMs * 2 ** Math.min(attempt, 20)) * (0.5 + Math.random() / 2));

/** A path that left the base's origin would send the credential there. */
const resolveUrl = (baseUrl: string, path: string): URL => {
  const base = new URL(baseUrl);
  const url = new URL(`${base.pathname.replace(/\/$/, '')}${path}`, base);
  if (!path.startsWith('/') || url.origin !== base.origin)
    throw new GpuaasError('invalid_request', `The path "${path}" is outside ${base.origin}.`);
  return url;
};

const reasonOf = (err: unknown): string => {
  const cause = err instanceof Error && err.cause instanceof Error ? err.cause : err;
  if (!(cause instanceof Error)) return String(cause);
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  return cause.message || code || cause.name;
};

export const networkError = (url: URL, err: unknown): GpuaasError =>
  err instanceof GpuaasError
    ? err
    : new GpuaasError('network', `No response from ${url.origin}: ${reasonOf(err)}.`, { retryable: true, cause: err });

const isTransient = (err: GpuaasError): boolean =>
  err.code === 'network' ||
  err.code === 'idempotency_in_flight' ||
  err.status === 429 ||
  err.status === 502 ||
  err.status === 503 ||
  err.status === 504;

export const createTransport = (options: TransportOptions): Transport => {
  const { retry } = options;

  const attempt = async (request: WireRequest, url: URL, token: string | undefined): Promise<WireResponse> => {
    const timeout = new AbortController();
    const timer = setTimeout(
      () =>
        timeout.abort(
          new GpuaasError('network', `No response from ${url.origin} within ${options.timeoutMs / 1000} s.`, {
            retryable: true,
          }),
        ),
      options.timeoutMs,
    );
    try {
      const response = await options.fetch(url, {
        method: request.method,
        headers: {
          ...(options.userAgent === undefined ? {} : { 'user-agent': options.userAgent }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...request.headers,
        },
        ...(request.body === undefined ? {} : { body: request.body }),
        redirect: 'error',
        signal: request.signal === undefined ? timeout.signal : AbortSignal.any([request.signal, timeout.signal]),
      });
      const text = request.stream && response.ok ? '' : await response.text();
      if (!response.ok) throw errorFromResponse(response.status, response.headers, text);
      return { status: response.status, headers: response.headers, text, response };
    } catch (err) {
      if (request.signal?.aborted) throw request.signal.reason;
      throw networkError(url, err);
    } finally {
      clearTimeout(timer);
    }
  };

  const authorised = async (request: WireRequest, url: URL): Promise<WireResponse> => {
    if (request.anonymous) return attempt(request, url, undefined);
    const token = await options.tokenProvider({});
    try {
      return await attempt(request, url, token);
    } catch (err) {
      if (!(err instanceof GpuaasError) || token === undefined) throw err;
      const isTooOld = err.code === 'fresh_sign_in_required';
      if (err.code !== 'unauthenticated' && !isTooOld) throw err;
      const fresh = await options.tokenProvider({ rejected: token, ...(isTooOld ? { freshSignIn: true } : {}) });
      if (fresh === undefined || fresh === token) throw err;
      return attempt(request, url, fresh);
    }
  };

  const send = async (request: WireRequest): Promise<WireResponse> => {
    const url = resolveUrl(options.baseUrl, request.path);
    const repeatable = request.method === 'GET' || request.headers?.['idempotency-key'] !== undefined;
    for (let tries = 0; ; tries++) {
      try {
        return await authorised(request, url);
      } catch (err) {
        if (!(err instanceof GpuaasError) || !repeatable || !isTransient(err) || tries >= retry.retriesMax) throw err;
        const asked = (err.retry_after_s ?? 0) * 1000;
        if (asked > retry.waitMaxMs) throw err;
        await pause(Math.max(asked, backoffMs(tries, retry.baseMs, retry.waitMaxMs)), request.signal);
      }
    }
  };

  return { send };
};
