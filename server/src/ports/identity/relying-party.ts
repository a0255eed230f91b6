/**
 * The console as an application of the issuer: authorization code with PKCE, by the server and not by the page, so that
 * no token ever reaches a browser. Failures at the issuer are reported in our own words; its response is logged.
 */
import { type Clock, systemClock } from '@gpuaas/kit';
import * as oidc from 'openid-client';
import { AppError } from '../../errors.ts';
import { authTimeOf } from './claims.ts';
import { createIssuerMetadata, issuerUnavailable } from './issuer-metadata.ts';

/** The secrets of this sign-in. They must be stored where no page can read them. */
export type SignInSecrets = Readonly<{ state: string; nonce: string; verifier: string }>;
export type SignInTokens = Readonly<{
  access_token: string;
  id_token: string | null;
  /** When the user signed in at the issuer, from the ID token. */
  auth_time: string | null;
}>;
export type SignInWish = Readonly<{
  /** The user must enter credentials, or may choose another account. */
  prompt?: 'login' | undefined;
  /** The user must have signed in within these seconds, or signs in again. */
  max_age_s?: number | undefined;
}>;

export type RelyingParty = Readonly<{
  /** The sign-in address for the browser. */
  begin(wish: SignInWish): Promise<Readonly<{ url: string; secrets: SignInSecrets }>>;
  /** Redeems the parameters of the issuer's redirect. */
  finish(query: string, secrets: SignInSecrets): Promise<SignInTokens>;
  /** The sign-out address at the issuer; null where it has none. */
  signOutUrl(idToken: string | null): Promise<string | null>;
}>;

export type RelyingPartyOptions = Readonly<{
  issuer: string;
  client_id: string;
  /** For a confidential client; a public one has none. */
  client_secret: string | null;
  redirect_uri: string;
  signed_out_uri: string;
  fetch?: typeof globalThis.fetch;
  clock?: Clock;
}>;

const SCOPE = 'openid profile email';
const TIMEOUT_S = 5;
const ERROR_CODE = /^[a-z_]{1,64}$/;

const refused = (error: string, cause: unknown): AppError => {
  if (error === 'access_denied')
    return new AppError('permission_denied', 'The sign-in was cancelled, or refused by the identity provider.', {
      cause,
    });
  if (error === 'temporarily_unavailable' || error === 'server_error') return issuerUnavailable(cause);
  const word = ERROR_CODE.test(error) ? ` (${error})` : '';
  return new AppError('permission_denied', `The identity provider refused the sign-in${word}.`, { cause });
};

const asAppError = (err: unknown): AppError => {
  if (err instanceof AppError) return err;
  if (err instanceof oidc.AuthorizationResponseError) return refused(err.error, err);
  if (err instanceof oidc.ResponseBodyError) {
    if (err.error === 'invalid_grant')
      return new AppError('invalid_request', 'This sign-in was already used or timed out.', { cause: err });
    if (err.status >= 500) return issuerUnavailable(err);
    return new AppError(
      'internal',
      'The identity provider does not accept this installation. An operator must check its client settings.',
      {
        cause: err,
        internal: `token endpoint: ${err.error} ${err.error_description ?? ''}`.slice(0, 500),
      },
    );
  }
  const isLost = err instanceof TypeError && !('code' in err);
  const isLate = err instanceof oidc.ClientError && (err.code === 'OAUTH_TIMEOUT' || err.code === 'OAUTH_ABORT');
  const isBroken = err instanceof oidc.ClientError && err.cause instanceof Response && err.cause.status >= 500;
  if (isLost || isLate || isBroken) return issuerUnavailable(err);
  return new AppError('invalid_request', 'The response of the identity provider does not belong to this sign-in.', {
    cause: err,
    internal: String(err).slice(0, 500),
  });
};

/** In the form where the issuer supports it: issuers disagree on the escaping in a header. */
const authenticationBy = (secret: string | null): oidc.ClientAuth => {
  if (secret === null) return oidc.None();
  const byHeader = oidc.ClientSecretBasic(secret);
  const byForm = oidc.ClientSecretPost(secret);
  return (server, client, body, headers) => {
    const takesForm = server.token_endpoint_auth_methods_supported?.includes('client_secret_post');
    const apply = takesForm ? byForm : byHeader;
    apply(server, client, body, headers);
  };
};

export const createRelyingParty = (options: RelyingPartyOptions): RelyingParty => {
  const { issuer, client_id, redirect_uri, fetch = globalThis.fetch, clock = systemClock } = options;
  const metadata = createIssuerMetadata({ issuer, fetch, nowMs: () => clock.now().getTime(), keysCooldownMs: 30_000 });
  const authentication = authenticationBy(options.client_secret);

  const configuration = async (): Promise<oidc.Configuration> => {
    const { document, issuer: named } = await metadata();
    const config = new oidc.Configuration({ ...document, issuer: named }, client_id, undefined, authentication);
    config[oidc.customFetch] = fetch as oidc.CustomFetch;
    config.timeout = TIMEOUT_S;
    // A laptop has its issuer on http; production refuses to start with one.
    if (issuer.startsWith('http:')) oidc.allowInsecureRequests(config);
    oidc.enableNonRepudiationChecks(config);
    return config;
  };

  const translateError = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (err) {
      throw asAppError(err);
    }
  };

  return {
    begin: ({ prompt, max_age_s }) =>
      translateError(async () => {
        const secrets = {
          state: oidc.randomState(),
          nonce: oidc.randomNonce(),
          verifier: oidc.randomPKCECodeVerifier(),
        };
        const url = oidc.buildAuthorizationUrl(await configuration(), {
          redirect_uri,
          scope: SCOPE,
          code_challenge: await oidc.calculatePKCECodeChallenge(secrets.verifier),
          code_challenge_method: 'S256',
          state: secrets.state,
          nonce: secrets.nonce,
          ...(prompt === undefined ? {} : { prompt }),
          ...(max_age_s === undefined ? {} : { max_age: String(max_age_s) }),
        });
        return { url: url.href, secrets };
      }),
    finish: (query, { state, nonce, verifier }) =>
      translateError(async () => {
        const tokens = await oidc.authorizationCodeGrant(await configuration(), new URL(`${redirect_uri}?${query}`), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        const { access_token, id_token } = tokens;
        return { access_token, id_token: id_token ?? null, auth_time: authTimeOf({ ...tokens.claims() }) };
      }),
    signOutUrl: async (idToken) => {
      try {
        const config = await configuration();
        if (config.serverMetadata().end_session_endpoint === undefined) return null;
        const url = oidc.buildEndSessionUrl(config, {
          post_logout_redirect_uri: options.signed_out_uri,
          ...(idToken === null ? {} : { id_token_hint: idToken }),
        });
        return url.href;
      } catch {
        // Signing out here must work without the issuer; there the session expires automatically.
        return null;
      }
    },
  };
};
