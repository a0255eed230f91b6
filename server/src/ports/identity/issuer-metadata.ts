/**
 * An issuer from its discovery document, with its keys. Both are fetched when first needed and cached; an unknown key
 * id fetches the keys again, but not more often than the cooldown, so that invented tokens cannot cause many requests
 * to the issuer.
 */
import { createRemoteJWKSet, customFetch } from 'jose';
import { AppError } from '../../errors.ts';

export type IssuerKeys = ReturnType<typeof createRemoteJWKSet>;
type IssuerMetadata = Readonly<{
  issuer: string;
  keys: IssuerKeys;
  userinfo_endpoint: string | null;
  /** Its whole discovery document. */
  document: Readonly<Record<string, unknown>>;
}>;

type IssuerMetadataOptions = Readonly<{
  issuer: string;
  fetch: typeof globalThis.fetch;
  nowMs: () => number;
  /** Least time between two fetches of the keys for an unknown key id. */
  keysCooldownMs: number;
}>;

const FETCH_TIMEOUT_MS = 5_000;
const METADATA_MAX_AGE_MS = 60 * 60_000;
const KEYS_MAX_AGE_MS = 10 * 60_000;
const FAILURE_PAUSE_MS = 1_000;

export const withoutSlash = (url: string): string => url.replace(/\/$/, '');

export const issuerUnavailable = (cause: unknown): AppError =>
  new AppError('unavailable', 'The identity provider cannot be reached right now.', { cause, retry_after_s: 2 });

const endpoint = (document: Record<string, unknown>, name: string, issuer: string): string | null => {
  const value = document[name];
  if (typeof value !== 'string' || !URL.canParse(value)) return null;
  const { protocol } = new URL(value);
  // Keys fetched over plain HTTP would defeat an issuer with TLS.
  return protocol === 'https:' || protocol === new URL(issuer).protocol ? value : null;
};

const discover = async (options: IssuerMetadataOptions): Promise<IssuerMetadata> => {
  const expected = withoutSlash(options.issuer);
  const response = await options.fetch(`${expected}/.well-known/openid-configuration`, {
    headers: { accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
  });
  if (response.status !== 200) throw new Error(`discovery answered ${response.status}`);
  const document = (await response.json()) as Record<string, unknown>;
  const { issuer } = document;
  if (typeof issuer !== 'string' || withoutSlash(issuer) !== expected)
    throw new Error(`discovery names another issuer: ${String(issuer).slice(0, 200)}`);
  const jwksUri = endpoint(document, 'jwks_uri', issuer);
  if (jwksUri === null) throw new Error('discovery names no usable jwks_uri');
  return {
    issuer,
    document,
    userinfo_endpoint: endpoint(document, 'userinfo_endpoint', issuer),
    keys: createRemoteJWKSet(new URL(jwksUri), {
      timeoutDuration: FETCH_TIMEOUT_MS,
      cooldownDuration: options.keysCooldownMs,
      cacheMaxAge: KEYS_MAX_AGE_MS,
      [customFetch]: options.fetch,
    }),
  };
};

/** One request at a time goes to the issuer; after a failure all callers fail immediately for a second. */
export const createIssuerMetadata = (options: IssuerMetadataOptions): (() => Promise<IssuerMetadata>) => {
  let known: Readonly<{ metadata: IssuerMetadata; until_ms: number }> | undefined;
  let failed: Readonly<{ err: unknown; until_ms: number }> | undefined;
  let pending: Promise<IssuerMetadata> | undefined;

  const refresh = async (): Promise<IssuerMetadata> => {
    try {
      const metadata = await discover(options);
      known = { metadata, until_ms: options.nowMs() + METADATA_MAX_AGE_MS };
      return metadata;
    } catch (err) {
      failed = { err, until_ms: options.nowMs() + FAILURE_PAUSE_MS };
      // An issuer known an hour ago is better than none: its keys are still checked for age.
      if (known !== undefined) return known.metadata;
      throw issuerUnavailable(err);
    } finally {
      pending = undefined;
    }
  };

  return async () => {
    const now = options.nowMs();
    if (known !== undefined && (now < known.until_ms || (failed !== undefined && now < failed.until_ms)))
      return known.metadata;
    if (failed !== undefined && now < failed.until_ms) throw issuerUnavailable(failed.err);
    pending ??= refresh();
    return pending;
  };
};
