/** Values from a request's headers. Clients control all of them, so each value has a grammar or is replaced. */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError } from '../errors.ts';

const CORRELATION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/;
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{8,128}$/;
const ETAG = /^(?:W\/)?"v(\d{1,9})"$/;
const UNPRINTABLE = /[^\x20-\x7e]/g;

const single = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value);

/** Taken from the caller when well formed, so that one id connects its logs and ours; generated otherwise. */
export const correlationIdOf = (headers: IncomingHttpHeaders): string => {
  const given = single(headers['x-correlation-id']);
  return given !== undefined && CORRELATION_ID.test(given) ? given : randomUUID();
};

export const userAgentOf = (headers: IncomingHttpHeaders): string =>
  (headers['user-agent'] ?? '').replace(UNPRINTABLE, '').slice(0, 256);

/** A page marks its automatic requests without user activity: they do not extend a session. */
export const isUnattended = (headers: IncomingHttpHeaders): boolean => headers['x-gpuaas-unattended'] === '1';

export const idempotencyKeyOf = (headers: IncomingHttpHeaders): string => {
  const key = single(headers['idempotency-key']);
  if (key === undefined) throw new AppError('idempotency_key_missing', REFUSALS.idempotency_key_missing);
  if (!IDEMPOTENCY_KEY.test(key))
    throw new AppError('invalid_request', REFUSALS.idempotency_key_malformed, {
      errors: [
        {
          pointer: '/headers/idempotency-key',
          code: 'pattern',
          message: 'must be 8 to 128 printable characters without spaces',
        },
      ],
    });
  return key;
};

export const etagOf = (version: number): string => `"v${version}"`;

export const ifMatchOf = (headers: IncomingHttpHeaders): number => {
  const given = single(headers['if-match']);
  if (given === undefined) throw new AppError('precondition_required', REFUSALS.etag_missing);
  const version = ETAG.exec(given)?.[1];
  if (version === undefined)
    throw new AppError('invalid_request', REFUSALS.etag_malformed, {
      errors: [{ pointer: '/headers/if-match', code: 'pattern', message: 'must be an ETag such as "v3"' }],
    });
  return Number(version);
};

/** A malformed one is not left out, or the stream would start from now: it names no event, so the stream is refused. */
export const lastEventIdOf = (headers: IncomingHttpHeaders): string | undefined =>
  single(headers['last-event-id'])?.slice(0, 64) || undefined;

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/;
export const traceIdOf = (headers: IncomingHttpHeaders): string | undefined =>
  TRACEPARENT.exec(single(headers['traceparent']) ?? '')?.[1];
