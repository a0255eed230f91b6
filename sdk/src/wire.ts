/** How a typed request becomes a path and a body, and a response a value. */
import type { OperationInfo } from './api.gen.ts';
import { GpuaasError } from './error.ts';
import type { WireResponse } from './transport.ts';

export type AnyRequest = {
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: Record<string, unknown>;
};

/** Grammar of the server: 8 to 128 printable characters. Random bytes work where randomUUID needs a secure context. */
export const newIdempotencyKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** A dot segment would be normalized away and reach another path than intended. */
export const pathOf = (info: OperationInfo, request: AnyRequest): string => {
  const path = info.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = request.params?.[name];
    if (typeof value !== 'string' || value === '' || value === '.' || value === '..')
      throw new GpuaasError('invalid_request', `The parameter ${name} must be an id or a name, not "${value ?? ''}".`);
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request.query ?? {}))
    if (value !== undefined) query.set(name, String(value));
  return query.size === 0 ? path : `${path}?${query}`;
};

export const encodeBody = (info: OperationInfo, body: Record<string, unknown> = {}): string => {
  if (info.bodyType === undefined) return JSON.stringify(body);
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(body)) if (value !== undefined) fields.set(name, String(value));
  return fields.toString();
};

export const decodeBody = (answer: WireResponse): unknown => {
  if (answer.status === 204 || answer.text === '') return undefined;
  try {
    return JSON.parse(answer.text);
  } catch (cause) {
    throw new GpuaasError('unexpected_response', 'The server returned something other than JSON.', {
      status: answer.status,
      cause,
    });
  }
};
