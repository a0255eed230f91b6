/**
 * The role `gpuaas-api`: the HTTP API with console, browser sign-in and documents, and the embedded issuer on a laptop.
 */
import type { FastifyInstance } from 'fastify';
import type { Deps } from '../context.ts';
import { readConsole } from '../http/console.ts';
import { createCookies, SIGN_IN_S } from '../http/cookie.ts';
import { fetchInProcess } from '../http/in-process.ts';
import { addressBlock, createRateLimit, refuseFor } from '../http/rate-limit.ts';
import { createHttpServer } from '../http/server.ts';
import { createStreams } from '../http/stream.ts';
import { type Authenticator, createAuthenticator } from '../identity/authenticate.ts';
import { createProjectDirectory } from '../identity/authorize.ts';
import type { EmbeddedIssuer } from '../identity/issuer/embedded.ts';
import { createSignIn, type SignIn } from '../identity/sign-in.ts';
import { createRelyingParty } from '../ports/identity/relying-party.ts';
import { createTokenVerifier } from '../ports/identity/verifier.ts';
import type { RoleContext } from './role.ts';

const DEV_ADMIN_EMAIL = 'dev-admin@gpuaas.local';

const embeddedIssuer = async (deps: Deps, devPassword: string): Promise<EmbeddedIssuer> => {
  const { config } = deps;
  // Its framework is an optional package: an installation behind an external issuer leaves it out.
  const { createEmbeddedIssuer } = await import('../identity/issuer/embedded.ts').catch((cause: unknown) => {
    const message = 'The embedded issuer is not installed. Set GPUAAS_OIDC_ISSUER, or install with optional packages.';
    throw new Error(message, { cause });
  });
  return createEmbeddedIssuer({
    issuerUrl: `${config.public_url}/oidc`,
    database: deps.database,
    secrets: deps.secrets,
    audience: config.oidc.audience,
    consoleClientId: config.oidc.console_client_id,
    cliClientId: config.oidc.cli_client_id,
    // The first is where it returns after signing out.
    consoleRedirectUris: [`${config.public_url}/`, `${config.public_url}/auth/callback`],
    password: devPassword,
    log: deps.log,
    mode: config.mode,
    externalIssuer: config.oidc.issuer,
  });
};

/** Console users sign in through the server; the embedded issuer is called within the process. */
const browserSignIn = (
  deps: Deps,
  authenticate: Authenticator,
  issuer: Readonly<{ url: string; fetch: typeof globalThis.fetch }>,
): SignIn => {
  const { config, clock, database, log, secrets } = deps;
  const { console_client_id, console_client_secret } = config.oidc;
  const relyingParty = createRelyingParty({
    issuer: issuer.url,
    client_id: console_client_id,
    client_secret: console_client_secret,
    redirect_uri: `${config.public_url}/auth/callback`,
    signed_out_uri: `${config.public_url}/`,
    fetch: issuer.fetch,
    clock,
  });
  return createSignIn({
    ...{ database, secrets, clock, log, authenticate, relyingParty, sign_in_s: SIGN_IN_S },
    ...config.web_session,
  });
};

export const createApi = async ({
  deps,
  telemetry,
  probes,
  dev_password,
  shutdown,
}: RoleContext): Promise<FastifyInstance> => {
  const { config, clock, database, log } = deps;
  const issuer = config.oidc.issuer === null ? await embeddedIssuer(deps, dev_password) : null;
  const issuerUrl = config.oidc.issuer ?? `${config.public_url}/oidc`;
  const verifier = createTokenVerifier({
    issuer: issuerUrl,
    audience: config.oidc.audience,
    clients: [config.oidc.console_client_id, config.oidc.cli_client_id, ...config.oidc.other_client_ids],
    groups_claim: config.oidc.groups_claim,
    log,
    clock,
    ...(issuer ? { fetch: issuer.fetch } : {}),
  });
  const now = () => clock.now().getTime();
  const authenticate = createAuthenticator({
    database,
    verifier,
    clock,
    log,
    superadmin_emails: issuer === null ? config.superadmin_emails : [...config.superadmin_emails, DEV_ADMIN_EMAIL],
    web_session_idle_s: config.web_session.idle_s,
  });
  const cookies = createCookies(config.public_url);
  const anonymousLimit = createRateLimit(config.anonymous_rate_limit_per_minute);
  const fetch = issuer === null ? globalThis.fetch : fetchInProcess(() => http);
  const http: FastifyInstance = await createHttpServer({
    gate: {
      deps,
      authenticate,
      cookies,
      organizationOf: createProjectDirectory(database, now),
      callers: createRateLimit(config.rate_limit_per_minute),
      anonymousLimit,
      tickets: createRateLimit(config.ticket_rate_per_minute),
      organizations: {
        requests_per_minute: createRateLimit(config.limits.requests_per_minute),
        tickets_per_minute: createRateLimit(config.limits.tickets_per_minute),
      },
      streams: createStreams(shutdown.signal, config.limits.streams),
    },
    telemetry,
    system: {
      ...probes,
      public_url: config.public_url,
      signIn: {
        signIn: browserSignIn(deps, authenticate, { url: issuerUrl, fetch }),
        cookies,
        public_url: config.public_url,
        fresh_sign_in_max_age_s: config.fresh_sign_in_max_age_s,
        admit: (ip) => refuseFor(anonymousLimit.take(addressBlock(ip), now())),
        onFault: (err, correlation_id) =>
          log.error({ err: err.cause ?? err, correlation_id, internal: err.details.internal }, err.message),
      },
      console:
        config.console_dir === null
          ? null
          : readConsole(config.console_dir, {
              public_url: config.public_url,
              gateway_url: config.gateway.public_url,
              issuer: issuerUrl,
            }),
      issuer: issuer?.callback() ?? null,
      wellKnown: {
        api_version: 'v1',
        issuer: issuerUrl,
        audience: config.oidc.audience,
        cli_client_id: config.oidc.cli_client_id,
        console_client_id: config.oidc.console_client_id,
        embedded_issuer: issuer !== null,
      },
    },
  });
  return http;
};
