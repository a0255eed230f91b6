/**
 * The OpenID Connect issuer of the laptop default: two development users, one password, real flows. It replaces
 * Keycloak on a laptop and refuses to run in production, or beside a configured issuer, because its users are publicly
 * known.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, type Log, systemClock } from '@gpuaas/kit';
import { Provider } from 'oidc-provider';
import { type Database, PLATFORM } from '../../db/client.ts';
import { deleteExpiredOidcRecords } from '../../db/oidc.ts';
import type { Secrets } from '../../ports/secrets/secrets.ts';
import { createAccounts } from './accounts.ts';
import { createAdapterFactory } from './adapter.ts';
import { registerDevGrant } from './dev-grant.ts';
import { createInteractionPages } from './interaction.ts';
import { loadSigningKeys, publicPart } from './keys.ts';
import { API_RESOURCE, apiResource, isLoopbackRedirect, providerConfiguration, SCOPE } from './provider-config.ts';
import { createCanonicalHost, createPageGuard } from './provider-http.ts';

export type EmbeddedIssuerOptions = Readonly<{
  /** Where the issuer is reached, with the path it is mounted at: `http://localhost:8080/oidc`. */
  issuerUrl: string;
  database: Database;
  secrets: Secrets;
  audience: string;
  consoleClientId: string;
  cliClientId: string;
  consoleRedirectUris: readonly string[];
  password: string;
  log: Log;
  mode: 'development' | 'production';
  externalIssuer: string | null;
  clock?: Clock;
}>;

export type EmbeddedIssuer = Readonly<{
  issuerUrl: string;
  /** Handles every request whose path is the mount path or lies below it. The body must not have been read. */
  callback(): (req: IncomingMessage, res: ServerResponse) => void;
  /** Answers the discovery document and the key set from memory, for a verifier in the same process. */
  fetch: typeof globalThis.fetch;
}>;

const refuseOutsideDevelopment = (options: EmbeddedIssuerOptions): void => {
  if (options.mode === 'production')
    throw new Error(
      'The embedded issuer does not run in production: set GPUAAS_OIDC_ISSUER to your identity provider.',
    );
  if (options.externalIssuer !== null)
    throw new Error(
      `The embedded issuer does not run beside ${options.externalIssuer}: unset GPUAAS_OIDC_ISSUER to use it.`,
    );
};

/** The library's own lines go to our log, errors as errors and refusals as refusals. */
const routeLog = (provider: Provider, log: Log): void => {
  provider.silent = true;
  provider.on('error', (err: Error) => log.warn({ err }, 'request to the embedded issuer failed'));
  provider.on('server_error', (_ctx, err) => log.error({ err }, 'embedded issuer failed'));
  for (const event of [
    'authorization',
    'grant',
    'device_authorization',
    'revocation',
    'end_session',
    'code_verification',
  ])
    provider.on(`${event}.error`, (_ctx, err) =>
      log.info({ error: err.message, detail: err.error_detail }, `embedded issuer refused: ${event}`),
    );
};

/** Requests inside the process need no listener, no DNS and no route back to the public address. */
const memoryFetch = (issuerUrl: string, keys: readonly object[]): typeof globalThis.fetch => {
  const documents = new Map<string, object>([
    [`${issuerUrl}/.well-known/openid-configuration`, { issuer: issuerUrl, jwks_uri: `${issuerUrl}/jwks` }],
    [`${issuerUrl}/jwks`, { keys }],
  ]);
  return async (input) => {
    const document = documents.get(input instanceof Request ? input.url : String(input));
    return document === undefined ? new Response(null, { status: 404 }) : Response.json(document);
  };
};

export const createEmbeddedIssuer = async (options: EmbeddedIssuerOptions): Promise<EmbeddedIssuer> => {
  refuseOutsideDevelopment(options);
  const { issuerUrl, database, secrets, log, clock = systemClock } = options;
  const mountPath = new URL(issuerUrl).pathname.replace(/\/$/, '');
  const jwks = await loadSigningKeys(database, secrets);
  await database.write(PLATFORM, (tx) => deleteExpiredOidcRecords(tx));

  const provider = new Provider(
    issuerUrl,
    providerConfiguration({
      adapter: createAdapterFactory({ database, secrets }),
      jwks,
      cookieKey: secrets.derive('oidc/cookies', 32).toString('base64url'),
      audience: options.audience,
      consoleClientId: options.consoleClientId,
      cliClientId: options.cliClientId,
      consoleRedirectUris: options.consoleRedirectUris,
      pages: { mountPath },
    }),
  );
  routeLog(provider, log);

  // Addresses are built from the issuer URL, never from a request's Host header.
  const { host, protocol } = new URL(issuerUrl);
  Object.defineProperties(provider.request, {
    host: { get: () => host },
    protocol: { get: () => protocol.slice(0, -1) },
  });
  Object.defineProperty(provider.context, 'mountPath', { value: mountPath });

  const clients = provider.Client.prototype;
  const { redirectUriAllowed, postLogoutRedirectUriAllowed } = clients;
  clients.redirectUriAllowed = function (uri) {
    return redirectUriAllowed.call(this, uri) || isLoopbackRedirect(uri, this.redirectUris);
  };
  clients.postLogoutRedirectUriAllowed = function (uri) {
    return postLogoutRedirectUriAllowed.call(this, uri) || isLoopbackRedirect(uri, this.redirectUris);
  };

  const accounts = createAccounts({ password: options.password, clock });
  const resourceServer = apiResource(options.audience);
  registerDevGrant({ provider, accounts, resource: API_RESOURCE, resourceServer, scope: SCOPE, clock });
  provider.use(createCanonicalHost(issuerUrl));
  provider.use(createPageGuard());
  provider.use(
    createInteractionPages({ provider, accounts, csrfKey: secrets.derive('oidc/csrf', 32), mountPath, log }),
  );

  const handle = provider.callback();
  return {
    issuerUrl,
    fetch: memoryFetch(issuerUrl, jwks.map(publicPart)),
    callback: () => (req, res) => {
      const path = req.url ?? '/';
      req.url = path.slice(mountPath.length) || '/';
      void handle(req, res);
    },
  };
};
