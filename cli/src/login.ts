/**
 * Signing in. The API names its issuer in /.well-known/gpuaas; the rest is standard OpenID Connect discovery and the
 * device flow, so any issuer works. The embedded issuer of a laptop also supports a password grant.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { GpuaasError } from '@gpuaas/sdk';
import { CliError } from './exit.ts';
import { USER_AGENT } from './version.ts';

export const DEV_GRANT = 'urn:gpuaas:grant:dev';
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const SCOPE = 'openid profile email offline_access';
/** One second and not zero, which the library of the embedded issuer loses in the device flow. */
const FRESH = { prompt: 'login', max_age: '1' };
const REQUEST_TIMEOUT_MS = 20_000;

export type Platform = Readonly<{
  issuer: string;
  cli_client_id: string;
  embedded_issuer: boolean;
  api_version: string;
}>;
export type Issuer = Readonly<{ token_endpoint: string; device_authorization_endpoint: string | null }>;
export type Tokens = Readonly<{ access_token: string; refresh_token: string | null; expires_at: string }>;

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

const isLoopback = (url: URL): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);

/** Passwords and tokens are never sent in the clear, except to this computer itself. */
const requireSecure = (address: string): URL => {
  const url = new URL(address);
  if (url.protocol !== 'https:' && !isLoopback(url))
    throw new CliError('auth', `${url.origin} is not https: a sign-in over it could be read by others.`);
  return url;
};

type Reply = Readonly<{ status: number; body: Record<string, unknown>; date: string | null }>;

const request = async (address: string, init: RequestInit, signal: AbortSignal): Promise<Reply> => {
  const url = new URL(address);
  try {
    const response = await fetch(url, {
      ...init,
      headers: { 'user-agent': USER_AGENT },
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
    });
    const body: unknown = await response.json().catch(() => null);
    return { status: response.status, body: isRecord(body) ? body : {}, date: response.headers.get('date') };
  } catch (err) {
    if (signal.aborted) throw signal.reason;
    const cause = err instanceof Error && err.cause instanceof Error ? err.cause.message : String(err);
    throw new GpuaasError('network', `No response from ${url.origin}: ${cause || 'the connection failed'}.`, {
      retryable: true,
    });
  }
};

export const readPlatform = async (url: string, signal: AbortSignal): Promise<Platform & { date: string | null }> => {
  const { status, body, date } = await request(`${url}/.well-known/gpuaas`, {}, signal);
  const { issuer, cli_client_id, embedded_issuer, api_version } = body;
  if (status !== 200 || typeof issuer !== 'string' || typeof cli_client_id !== 'string')
    throw new GpuaasError('unexpected_response', `${url} is not a GPUaaS API (status ${status}).`, {
      status,
    });
  return {
    issuer,
    cli_client_id,
    embedded_issuer: embedded_issuer === true,
    api_version: String(api_version ?? ''),
    date,
  };
};

export const discover = async (issuer: string, signal: AbortSignal): Promise<Issuer> => {
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  requireSecure(address);
  const { status, body } = await request(address, {}, signal);
  const { token_endpoint, device_authorization_endpoint } = body;
  // An issuer with another name is not the one that the API trusts.
  if (status !== 200 || body['issuer'] !== issuer || typeof token_endpoint !== 'string')
    throw new GpuaasError('unexpected_response', `${issuer} is not an OpenID Connect issuer (status ${status}).`, {
      status,
    });
  requireSecure(token_endpoint);
  return {
    token_endpoint,
    device_authorization_endpoint:
      typeof device_authorization_endpoint === 'string' ? device_authorization_endpoint : null,
  };
};

const post = (address: string, fields: Record<string, string>, signal: AbortSignal): Promise<Reply> => {
  requireSecure(address);
  return request(address, { method: 'POST', body: new URLSearchParams(fields) }, signal);
};

const tokensOf = (body: Record<string, unknown>): Tokens | null => {
  const { access_token, refresh_token, expires_in } = body;
  if (typeof access_token !== 'string') return null;
  const lifetimeS = typeof expires_in === 'number' ? expires_in : 300;
  return {
    access_token,
    refresh_token: typeof refresh_token === 'string' ? refresh_token : null,
    expires_at: new Date(Date.now() + lifetimeS * 1000).toISOString(),
  };
};

const refused = (body: Record<string, unknown>, status: number): GpuaasError => {
  const description =
    typeof body['error_description'] === 'string'
      ? body['error_description']
      : String(body['error'] ?? `status ${status}`);
  const sentence = /[.!?]$/.test(description) ? description : `${description}.`;
  if (status === 429 || status >= 500)
    return new GpuaasError('unavailable', `The issuer is unavailable: ${sentence}`, { status, retryable: true });
  return new GpuaasError('unauthenticated', `The issuer refused the sign-in: ${sentence}`, { status });
};

const tokenRequest = async (endpoint: string, fields: Record<string, string>, signal: AbortSignal): Promise<Tokens> => {
  const { status, body } = await post(endpoint, fields, signal);
  const tokens = status === 200 ? tokensOf(body) : null;
  if (tokens === null) throw refused(body, status);
  return tokens;
};

export const devLogin = (
  issuer: Issuer,
  options: Readonly<{ client_id: string; username: string; password: string }>,
  signal: AbortSignal,
): Promise<Tokens> => tokenRequest(issuer.token_endpoint, { grant_type: DEV_GRANT, scope: SCOPE, ...options }, signal);

export const refresh = (
  issuer: Issuer,
  options: Readonly<{ client_id: string; refresh_token: string }>,
  signal: AbortSignal,
): Promise<Tokens> => tokenRequest(issuer.token_endpoint, { grant_type: 'refresh_token', ...options }, signal);

export type DeviceCode = Readonly<{
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string | null;
}>;

/**
 * Shows the code, then polls the issuer until the user has approved in the browser, denied, or the code has expired.
 */
export const deviceLogin = async (
  issuer: Issuer,
  { client_id, fresh }: Readonly<{ client_id: string; fresh: boolean }>,
  show: (code: DeviceCode) => void,
  signal: AbortSignal,
): Promise<Tokens> => {
  if (issuer.device_authorization_endpoint === null)
    throw new CliError(
      'failure',
      'The issuer does not offer the device flow.',
      'Sign in with a token: gpuaas login --token-stdin',
    );
  const fields = { client_id, scope: SCOPE, ...(fresh ? FRESH : {}) };
  const { status, body } = await post(issuer.device_authorization_endpoint, fields, signal);
  const { device_code, user_code, verification_uri, verification_uri_complete } = body;
  if (
    status !== 200 ||
    typeof device_code !== 'string' ||
    typeof user_code !== 'string' ||
    typeof verification_uri !== 'string'
  )
    throw refused(body, status);
  show({
    user_code,
    verification_uri,
    verification_uri_complete: typeof verification_uri_complete === 'string' ? verification_uri_complete : null,
  });
  let intervalS = typeof body['interval'] === 'number' ? body['interval'] : 5;
  const deadline = Date.now() + (typeof body['expires_in'] === 'number' ? body['expires_in'] : 600) * 1000;
  while (Date.now() < deadline) {
    await sleep(intervalS * 1000, undefined, { signal }).catch(() => {
      throw signal.reason;
    });
    const reply = await post(issuer.token_endpoint, { grant_type: DEVICE_GRANT, client_id, device_code }, signal);
    const tokens = reply.status === 200 ? tokensOf(reply.body) : null;
    if (tokens !== null) return tokens;
    if (reply.body['error'] === 'slow_down') intervalS += 5;
    else if (reply.body['error'] !== 'authorization_pending') throw refused(reply.body, reply.status);
  }
  throw new CliError('timeout', 'The code expired before you approved it.', 'Start again: gpuaas login');
};
