/**
 * The configuration of oidc-provider: two public clients of our own, one API as the audience, and nothing unused. Every
 * default that the library would warn about is set, because those warnings go to the terminal.
 */

import type { JWK } from 'jose';
import {
  type Account,
  type Adapter,
  type Client,
  errors,
  type Grant,
  type OidcRequest,
  type ResourceServerInfo,
  type Token,
} from 'oidc-provider';
import { claimsOf, findDevAccount } from './accounts.ts';
import { DEV_GRANT } from './dev-grant.ts';
import { SESSION_COOKIE } from './provider-http.ts';
import { deviceSources, type IssuerPages, renderError, signOutSources } from './provider-pages.ts';

/** The library wants resources as URIs; tokens carry the audience's own name. */
export const API_RESOURCE = 'urn:gpuaas:api';
export const SCOPE = 'openid profile email offline_access';
const ACCESS_TOKEN_TTL_S = 600;
const DAY_S = 24 * 3600;

type ProviderOptions = Readonly<{
  adapter: (model: string) => Adapter;
  jwks: readonly JWK[];
  cookieKey: string;
  audience: string;
  consoleClientId: string;
  cliClientId: string;
  consoleRedirectUris: readonly string[];
  pages: IssuerPages;
}>;

export const apiResource = (audience: string): ResourceServerInfo => ({
  audience,
  scope: SCOPE,
  accessTokenTTL: ACCESS_TOKEN_TTL_S,
  accessTokenFormat: 'jwt',
  jwt: { sign: { alg: 'RS256' } },
});

const LOOPBACK = new Set(['127.0.0.1', '[::1]']);

/** A local program may listen on any free port (RFC 8252), at one of the console's own paths. */
export const isLoopbackRedirect = (uri: string, registered: readonly string[]): boolean => {
  if (!URL.canParse(uri)) return false;
  const url = new URL(uri);
  return (
    url.href === uri &&
    url.protocol === 'http:' &&
    LOOPBACK.has(url.hostname) &&
    url.username + url.password + url.search + url.hash === '' &&
    registered.some((known) => new URL(known).pathname === url.pathname)
  );
};

const isLoopbackOrigin = (origin: string): boolean =>
  URL.canParse(origin) && new URL(origin).protocol === 'http:' && LOOPBACK.has(new URL(origin).hostname);

/** Our own applications need no consent: their scopes are granted at sign-in. */
const grantFor = async (ctx: OidcRequest, reuse: boolean): Promise<Grant | undefined> => {
  const { provider, client, session } = ctx.oidc;
  const known = reuse ? session.grantIdFor(client.clientId) : undefined;
  const existing = known === undefined ? undefined : await provider.Grant.find(known);
  if (existing !== undefined) return existing;
  if (session.accountId === undefined) return undefined;
  const grant = new provider.Grant({ accountId: session.accountId, clientId: client.clientId });
  grant.addOIDCScope(SCOPE);
  grant.addResourceScope(API_RESOURCE, SCOPE);
  await grant.save();
  return grant;
};

/** The time of the sign-in behind a token. A refreshed token has that of its first one. */
const authTimeOf = (ctx: OidcRequest): Readonly<{ auth_time?: number }> => {
  const { AuthorizationCode, DeviceCode, RefreshToken } = ctx.oidc.entities;
  const auth_time = (AuthorizationCode ?? DeviceCode ?? RefreshToken)?.authTime;
  return auth_time === undefined ? {} : { auth_time };
};

const accountOf = (username: string): Account | undefined => {
  const account = findDevAccount(username);
  if (account === undefined) return undefined;
  return { accountId: username, claims: async () => ({ sub: username, ...claimsOf(account) }) };
};

export const providerConfiguration = (options: ProviderOptions): Record<string, unknown> => {
  const { consoleClientId, cliClientId, consoleRedirectUris, pages } = options;
  const publicClient = {
    application_type: 'web',
    token_endpoint_auth_method: 'none',
    scope: SCOPE,
    require_auth_time: true,
  };
  const consoleOrigins = new Set(consoleRedirectUris.map((uri) => new URL(uri).origin));
  return {
    adapter: options.adapter,
    jwks: { keys: options.jwks },
    clients: [
      {
        ...publicClient,
        client_id: consoleClientId,
        client_name: 'GPUaaS console',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        response_modes: ['query'],
        redirect_uris: consoleRedirectUris,
        post_logout_redirect_uris: consoleRedirectUris,
      },
      {
        ...publicClient,
        client_id: cliClientId,
        client_name: 'GPUaaS command line',
        grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token', DEV_GRANT],
        response_types: [],
        redirect_uris: [],
      },
    ],
    clientAuthMethods: ['none'],
    responseTypes: ['code'],
    scopes: ['openid', 'offline_access'],
    claims: { openid: ['sub'], profile: ['name', 'preferred_username'], email: ['email', 'email_verified'] },
    // There is no userinfo endpoint, so the id token identifies the user.
    conformIdTokenClaims: false,
    clockTolerance: 5,
    cookies: {
      names: { session: SESSION_COOKIE, interaction: 'gpuaas_oidc_interaction', resume: 'gpuaas_oidc_resume' },
      keys: [options.cookieKey],
      long: { httpOnly: true, sameSite: 'lax', signed: true, path: pages.mountPath },
      short: { httpOnly: true, sameSite: 'lax', signed: true },
    },
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      userinfo: { enabled: false },
      deviceFlow: { enabled: true, charset: 'base-20', mask: '****-****', ...deviceSources(pages) },
      revocation: {
        enabled: true,
        allowedPolicy: (_ctx: unknown, client: Client, token: Token) => token.clientId === client.clientId,
      },
      rpInitiatedLogout: { enabled: true, ...signOutSources(pages) },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => API_RESOURCE,
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx: unknown, resource: string) => {
          if (resource !== API_RESOURCE) throw new errors.InvalidTarget();
          return apiResource(options.audience);
        },
      },
    },
    ttl: {
      AccessToken: ACCESS_TOKEN_TTL_S,
      AuthorizationCode: 60,
      DeviceCode: 600,
      Grant: 30 * DAY_S,
      IdToken: 3600,
      Interaction: 900,
      RefreshToken: 14 * DAY_S,
      Session: 14 * DAY_S,
    },
    interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `${pages.mountPath}/interaction/${uid}` },
    findAccount: (_ctx: unknown, username: string) => accountOf(username),
    extraTokenClaims: (ctx: OidcRequest, token: Token) => {
      const account = findDevAccount(token.accountId ?? '');
      return account === undefined ? undefined : { ...claimsOf(account), ...authTimeOf(ctx) };
    },
    // Signing out of the console ends the console's tokens; a terminal stays signed in until it signs out itself, and
    // each terminal has a grant of its own, so that a stolen refresh token of one never ends the others.
    expiresWithSession: (ctx: OidcRequest) => ctx.oidc.client.clientId === consoleClientId,
    loadExistingGrant: (ctx: OidcRequest) => grantFor(ctx, ctx.oidc.client.clientId === consoleClientId),
    issueRefreshToken: (_ctx: unknown, client: Client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    clientBasedCORS: (_ctx: unknown, origin: string) => consoleOrigins.has(origin) || isLoopbackOrigin(origin),
    renderError,
  };
};
