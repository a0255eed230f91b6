/**
 * Decides whether a JWT is an access token of the configured issuer for this API. Any OpenID Connect issuer works. A
 * refusal states what is wrong with the token, because its holder can read the token anyway; an unreachable issuer is a
 * server error (503), never a refusal. A verified token is cached until it expires.
 */
import { createHash } from 'node:crypto';
import { type Clock, type Log, systemClock } from '@gpuaas/kit';
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose';
import { AppError } from '../../errors.ts';
import {
  authTimeOf,
  clientsOf,
  type GroupsClaim,
  groupsOf,
  isAccessToken,
  issuedAtOf,
  personOf,
  SCOPES_MAX,
  scopesOf,
  subjectOf,
} from './claims.ts';
import { createIssuerMetadata, type IssuerKeys, issuerUnavailable, withoutSlash } from './issuer-metadata.ts';
import { fetchUserinfo } from './userinfo.ts';

export type VerifiedToken = Readonly<{
  issuer: string;
  subject: string;
  name: string;
  email: string | null;
  email_verified: boolean;
  /** RFC 3339. */
  expires_at: string;
  /** When the user signed in, RFC 3339; null without the claim. */
  auth_time: string | null;
  scopes: readonly string[];
  groups: GroupsClaim;
  /** RFC 3339; null without the claim. Of two tokens the newer one knows the groups. */
  issued_at: string | null;
}>;

export type TokenVerifier = Readonly<{ verify(jwt: string): Promise<VerifiedToken> }>;

export type TokenVerifierOptions = Readonly<{
  issuer: string;
  audience: string;
  /** The clients whose tokens are accepted. A token without a client is checked by its audience alone. */
  clients: readonly string[];
  /** The claim that lists the groups of a user. */
  groups_claim?: string;
  log: Log;
  fetch?: typeof globalThis.fetch;
  clock?: Clock;
  keysCooldownMs?: number;
  /** The number of cached tokens. */
  remembered?: number;
}>;

/** Public-key signatures only: with a shared secret every verifier could also sign. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'EdDSA', 'Ed25519'];
const TOKEN_MAX_CHARS = 16 * 1024;
const TOLERANCE_S = 5;
const EXPIRY_MAX_S = 8_640_000_000_000;
const WITHOUT_EMAIL_KEPT_MS = 60_000;

/** Refusals that a wrong clock causes: of this server, or of the issuer. */
export const CLOCK_REFUSALS: readonly string[] = [
  'The token has expired.',
  'The token is not valid yet.',
  'The token was issued in the future.',
];

const refuse = (sentence: string, cause?: unknown): AppError =>
  new AppError('unauthenticated', sentence, cause === undefined ? {} : { cause });

const WRONG_ISSUER = 'The token is from another issuer.';
const WRONG_CLAIM: Readonly<Record<string, string>> = {
  aud: 'The token is for another audience.',
  iss: WRONG_ISSUER,
  nbf: 'The token is not valid yet.',
  iat: 'The token was issued in the future.',
};

/** Every verification failure, as the caller reads it. */
const asRefusal = (err: unknown): AppError => {
  if (err instanceof AppError) return err;
  if (err instanceof errors.JWTExpired) return refuse('The token has expired.', err);
  if (err instanceof errors.JWTClaimValidationFailed)
    return refuse(WRONG_CLAIM[err.claim] ?? `The token has no valid ${err.claim} claim.`, err);
  if (err instanceof errors.JWSSignatureVerificationFailed) return refuse('The token has a bad signature.', err);
  if (err instanceof errors.JWKSNoMatchingKey) return refuse('The token is signed with an unknown key.', err);
  if (err instanceof errors.JOSEAlgNotAllowed || err instanceof errors.JOSENotSupported)
    return refuse('The token is signed with an algorithm that is not accepted.', err);
  if (err instanceof errors.JWTInvalid || err instanceof errors.JWSInvalid || err instanceof errors.JWKInvalid)
    return refuse('The token is malformed.', err);
  return issuerUnavailable(err);
};

/** Faults visible without a key are refused before keys are fetched. */
const precheck = (jwt: string, issuer: string): void => {
  if (jwt.length > TOKEN_MAX_CHARS) throw refuse('The token is too long.');
  let header: ReturnType<typeof decodeProtectedHeader>;
  let claims: JWTPayload;
  try {
    header = decodeProtectedHeader(jwt);
    claims = decodeJwt(jwt);
  } catch (err) {
    throw refuse('The token is malformed.', err);
  }
  if (header.alg === undefined || !ALGORITHMS.includes(header.alg))
    throw refuse('The token is signed with an algorithm that is not accepted.');
  if (typeof claims.iss !== 'string' || withoutSlash(claims.iss) !== withoutSlash(issuer)) throw refuse(WRONG_ISSUER);
};

/** A token without a key id may fit several keys of the issuer: each is tried. */
const verifySignature = async (jwt: string, keys: IssuerKeys, options: JWTVerifyOptions) => {
  try {
    return await jwtVerify(jwt, keys, options);
  } catch (err) {
    if (!(err instanceof errors.JWKSMultipleMatchingKeys)) throw err;
    for await (const key of err) {
      try {
        return await jwtVerify(jwt, key, options);
      } catch (inner) {
        if (!(inner instanceof errors.JWSSignatureVerificationFailed)) throw inner;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
};

export const createTokenVerifier = (options: TokenVerifierOptions): TokenVerifier => {
  const {
    issuer,
    audience,
    clients,
    log,
    fetch = globalThis.fetch,
    clock = systemClock,
    remembered = 10_000,
    groups_claim = 'groups',
  } = options;
  const nowMs = (): number => clock.now().getTime();
  const metadata = createIssuerMetadata({ issuer, fetch, nowMs, keysCooldownMs: options.keysCooldownMs ?? 30_000 });
  const known = new Map<string, Readonly<{ token: VerifiedToken; until_ms: number }>>();
  const pending = new Map<string, Promise<VerifiedToken>>();

  const remember = (key: string, token: VerifiedToken, untilMs: number): void => {
    if (known.size >= remembered) {
      const oldest = known.keys().next();
      if (!oldest.done) known.delete(oldest.value);
    }
    known.set(key, { token, until_ms: untilMs });
  };

  const recall = (key: string): VerifiedToken | undefined => {
    const entry = known.get(key);
    if (entry === undefined) return undefined;
    known.delete(key);
    if (entry.until_ms <= nowMs()) return undefined;
    // Moved to the end: the least recently used is dropped first.
    known.set(key, entry);
    return entry.token;
  };

  const check = async (jwt: string, key: string): Promise<VerifiedToken> => {
    precheck(jwt, issuer);
    const { issuer: named, keys, userinfo_endpoint: userinfo } = await metadata();
    const { payload, protectedHeader } = await verifySignature(jwt, keys, {
      issuer: named,
      audience,
      algorithms: ALGORITHMS,
      clockTolerance: TOLERANCE_S,
      currentDate: clock.now(),
      requiredClaims: ['sub', 'exp'],
    });
    const { exp = 0, iat } = payload;
    if (exp > EXPIRY_MAX_S) throw refuse('The token has no valid exp claim.');
    if (iat !== undefined && iat > nowMs() / 1000 + TOLERANCE_S) throw refuse(WRONG_CLAIM['iat'] ?? '');
    if (!isAccessToken(protectedHeader.typ, payload)) throw refuse('The token is not an access token.');
    if (payload['cnf'] !== undefined) throw refuse('The token is bound to a key and cannot be used as a bearer token.');
    if (clientsOf(payload).some((client) => !clients.some((one) => one === client)))
      throw refuse('The token was issued to another client.');
    const subject = subjectOf(payload);
    if (subject === null) throw refuse('The token has no valid sub claim.');
    const scopes = scopesOf(payload);
    if (scopes === null) throw refuse(`The token has more than ${SCOPES_MAX} scopes.`);

    let person = personOf(payload, subject);
    let groups = groupsOf(payload, groups_claim);
    let untilMs = exp * 1000;
    if (person.email === null && userinfo !== null) {
      const claims = await fetchUserinfo({ endpoint: userinfo, jwt, subject, groups_claim, fetch, log });
      if (claims !== null) {
        person = personOf({ ...payload, ...claims }, subject);
        groups = groupsOf({ ...payload, ...claims }, groups_claim);
      } else {
        untilMs = Math.min(untilMs, nowMs() + WITHOUT_EMAIL_KEPT_MS);
        // Nobody knows what the response would have said, and no groups would end memberships.
        if (groups === 'absent') groups = 'unreadable';
      }
    }
    const expires_at = new Date(exp * 1000).toISOString();
    const token: VerifiedToken = {
      issuer: named,
      subject,
      ...person,
      expires_at,
      auth_time: authTimeOf(payload),
      scopes,
      groups,
      issued_at: issuedAtOf(payload),
    };
    remember(key, token, untilMs);
    return token;
  };

  return {
    verify: async (jwt) => {
      const key = createHash('sha256').update(jwt).digest('base64');
      const before = recall(key);
      if (before !== undefined) return before;
      // Requests that arrive together with one fresh token share one check.
      let checking = pending.get(key);
      if (checking === undefined) {
        checking = check(jwt, key).finally(() => pending.delete(key));
        pending.set(key, checking);
      }
      try {
        return await checking;
      } catch (err) {
        const refusal = asRefusal(err);
        if (refusal.code === 'unavailable') log.warn({ err }, 'token could not be checked');
        throw refusal;
      }
    },
  };
};
