/** Why a call to the control plane failed, classified by how the agent reacts. */
import { backoffMs } from '@gpuaas/kit';

/**
 * `unreachable`: no response. `untrusted`: the server is not in our trust bundle. `refused`: the control plane does not
 * accept our certificate or token. `missing`, `conflict`, `invalid`: retrying does not help. `busy`, `failed`: retrying
 * may help.
 */
export type FailureKind =
  | 'unreachable'
  | 'untrusted'
  | 'refused'
  | 'missing'
  | 'conflict'
  | 'invalid'
  | 'busy'
  | 'failed';

export class ControlPlaneError extends Error {
  override name = 'ControlPlaneError';
  readonly kind: FailureKind;
  readonly status: number | null;
  readonly code: string | null;
  readonly retry_after_s: number | null;

  constructor(
    kind: FailureKind,
    message: string,
    options: ErrorOptions & { status?: number; code?: string; retry_after_s?: number } = {},
  ) {
    super(message, options);
    this.kind = kind;
    this.status = options.status ?? null;
    this.code = options.code ?? null;
    this.retry_after_s = options.retry_after_s ?? null;
  }
}

/** Whether the same call may succeed later without a change. */
export const isPassing = (err: unknown): boolean =>
  err instanceof ControlPlaneError && !['missing', 'conflict', 'invalid'].includes(err.kind);

/** The Retry-After of the control plane. */
export const retryAfterMs = (err: unknown): number =>
  err instanceof ControlPlaneError ? (err.retry_after_s ?? 0) * 1000 : 0;

/** How long to wait before the same call: the requested delay, or longer after several failures. */
export const retryMs = (
  err: unknown,
  failures: number,
  patience: Readonly<{ baseMs: number; capMs: number }>,
): number => Math.max(retryAfterMs(err), backoffMs(failures, patience));

const kindOfStatus = (status: number): FailureKind => {
  if (status === 401 || status === 403) return 'refused';
  if (status === 404 || status === 410) return 'missing';
  if (status === 409) return 'conflict';
  if ([408, 425, 429, 502, 503, 504].includes(status)) return 'busy';
  return status >= 500 ? 'failed' : 'invalid';
};

/** From an unsuccessful response; the body is a problem document of the contract, or the page of a proxy. */
export const failureOf = (status: number, body: string, retryAfter: string | undefined): ControlPlaneError => {
  let problem: { detail?: unknown; code?: unknown; retry_after_s?: unknown } = {};
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === 'object' && parsed !== null) problem = parsed;
  } catch {
    // Not from the control plane: a proxy's page does not belong into the log.
  }
  const seconds = typeof problem.retry_after_s === 'number' ? problem.retry_after_s : Number(retryAfter);
  return new ControlPlaneError(
    kindOfStatus(status),
    typeof problem.detail === 'string' ? problem.detail.slice(0, 500) : `The node API returned ${status}.`,
    {
      status,
      ...(typeof problem.code === 'string' ? { code: problem.code } : {}),
      ...(Number.isFinite(seconds) && seconds > 0 ? { retry_after_s: Math.min(seconds, 300) } : {}),
    },
  );
};

/** TLS alerts of the server about the agent's certificate. */
const ALERTS =
  /ALERT_(?:BAD_CERTIFICATE|CERTIFICATE_|UNKNOWN_CA|ACCESS_DENIED|UNSUPPORTED_CERTIFICATE)|CERTIFICATE_REQUIRED/;
/** Errors of OpenSSL and Node.js about an untrusted server certificate. */
const DISTRUST =
  /^(?:CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|ERR_TLS_CERT|HOSTNAME_MISMATCH)/;

export const failureOfTransport = (err: Error): ControlPlaneError => {
  const code = (err as NodeJS.ErrnoException).code ?? '';
  if (ALERTS.test(code))
    return new ControlPlaneError('refused', 'The node API does not accept this host’s certificate.', {
      cause: err,
      code,
    });
  if (DISTRUST.test(code))
    return new ControlPlaneError('untrusted', `The server is not a node API that this host trusts (${code}).`, {
      cause: err,
      code,
    });
  return new ControlPlaneError('unreachable', `The node API is unreachable (${code || err.message}).`, {
    cause: err,
    ...(code === '' ? {} : { code }),
  });
};
