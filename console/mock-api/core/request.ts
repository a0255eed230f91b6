/** Request parsing, as the server does it. */
import type { Operation } from '@gpuaas/contract';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { Refusal } from './errors.ts';

const CORRELATION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/;
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{8,128}$/;
const ETAG = /^(?:W\/)?"v(\d{1,9})"$/;

export type Incoming = Readonly<{
  method: string;
  url: URL;
  headers: Headers;
  body: string | null;
  signal: AbortSignal | undefined;
}>;

/** A relative URL refers to this page's origin. */
const baseUrl = (): string =>
  (globalThis as Readonly<{ location?: Readonly<{ origin: string }> }>).location?.origin ?? 'http://mock.invalid';

const textOf = async (body: RequestInit['body']): Promise<string | null> =>
  body === null || body === undefined ? null : typeof body === 'string' ? body : new Response(body).text();

export const incomingOf = async (input: Parameters<typeof fetch>[0], init: RequestInit = {}): Promise<Incoming> => {
  const request = input instanceof Request ? input : null;
  return {
    method: (init.method ?? request?.method ?? 'GET').toUpperCase(),
    url: new URL(request?.url ?? String(input), baseUrl()),
    headers: new Headers(init.headers ?? request?.headers),
    body: init.body === undefined && request !== null ? await request.text() : await textOf(init.body),
    signal: init.signal ?? request?.signal ?? undefined,
  };
};

export const correlationIdOf = (headers: Headers): string | null => {
  const given = headers.get('x-correlation-id');
  return given !== null && CORRELATION_ID.test(given) ? given : null;
};

export const idempotencyKeyOf = (headers: Headers): string => {
  const key = headers.get('idempotency-key');
  if (key === null) throw new Refusal('idempotency_key_missing', REFUSALS.idempotency_key_missing);
  const message = 'must be 8 to 128 printable characters without spaces';
  if (!IDEMPOTENCY_KEY.test(key))
    throw new Refusal('invalid_request', REFUSALS.idempotency_key_malformed, {
      errors: [{ pointer: '/headers/idempotency-key', code: 'pattern', message }],
    });
  return key;
};

export const ifMatchOf = (headers: Headers): number => {
  const given = headers.get('if-match');
  if (given === null) throw new Refusal('precondition_required', REFUSALS.etag_missing);
  const version = ETAG.exec(given)?.[1];
  if (version === undefined)
    throw new Refusal('invalid_request', REFUSALS.etag_malformed, {
      errors: [{ pointer: '/headers/if-match', code: 'pattern', message: 'must be an ETag such as "v3"' }],
    });
  return Number(version);
};

/** The body as its schema requires: JSON, or the fields of a form. */
export const bodyOf = (operation: Operation, { body, headers }: Incoming): unknown => {
  if (operation.body === undefined || body === null || body === '') return undefined;
  const type = headers.get('content-type') ?? '';
  const wanted = operation.bodyType ?? 'application/json';
  if (!type.startsWith(wanted)) throw new Refusal('unsupported_media_type', REFUSALS.content_type);
  if (operation.bodyType !== undefined) return Object.fromEntries(new URLSearchParams(body));
  try {
    return JSON.parse(body) as unknown;
  } catch {
    throw new Refusal('invalid_request', REFUSALS.body_not_json);
  }
};
