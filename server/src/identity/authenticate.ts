/**
 * Identifies the caller of a credential. A bearer credential is one of our tokens by its hash, or else a JWT of the
 * configured issuer; without one, the web session counts. The result, roles included, is cached for a few seconds,
 * which bounds how long a removed membership, a revoked token or a disabled account still works (promised: 60 s).
 */

import type { Clock, Log } from '@gpuaas/kit';
import type { Principal } from '../context.ts';
import { insertAuditLog } from '../db/audit.ts';
import { type Database, PLATFORM, type Tx } from '../db/client.ts';
import {
  findTokenPrincipal,
  findUserBySubject,
  findWebSessionPrincipal,
  hasSuperadmin,
  type TokenPrincipalRow,
  type UserPrincipalRow,
} from '../db/principal.ts';
import { touchToken } from '../db/statements/service-account-token.ts';
import { makeSuperadmin, touchUser, updateAddress } from '../db/user.ts';
import { touchWebSession } from '../db/web-session.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError } from '../errors.ts';
import type { TokenVerifier, VerifiedToken } from '../ports/identity/verifier.ts';
import { ExpiringCache } from './expiring-cache.ts';
import { followGroups } from './group-access.ts';
import { emitInto } from './new-organization.ts';
import { scopesOfSignIn } from './scopes.ts';
import { signUp, signUpAgain } from './sign-up.ts';
import { hashToken, isPlatformToken } from './token.ts';

const PRINCIPAL_TTL_MS = 5_000;
const PRINCIPALS_MAX = 20_000;
const RECENTLY_VALID_MS = 600_000;
const TOUCH_AFTER_MS = 60_000;
const TOKEN_LENGTH_MAX = 8_192;

/** The credentials of a request: the Authorization header, which wins, and the session cookie of a browser. */
export type Credential = Readonly<{ authorization: string | undefined; session?: string | undefined }>;

export type Authenticator = (
  presented: Credential,
  request: Readonly<{ correlation_id: string; source_ip: string; user_agent: string }>,
  options?: Readonly<{
    /** Bypasses the cache: used before a refusal, because a role may have been granted a moment ago. */
    fresh?: true;
    /** Called before the lookup of a credential that was not recently valid; may refuse by throwing. */
    beforeLookUp?: () => void;
    /** An automatic request: an open page must not extend its session. */
    isWaiting?: true;
  }>,
) => Promise<Principal>;

type Options = Readonly<{
  database: Database;
  verifier: TokenVerifier;
  clock: Clock;
  log: Log;
  /** Verified addresses whose owners become superadmin at first sign-in, and later while there is no superadmin. */
  superadmin_emails: readonly string[];
  /** How long a web session lives after its last use. */
  web_session_idle_s: number;
}>;

const refuse = (sentence: string) => new AppError('unauthenticated', sentence);

const bearerOf = (authorization: string | undefined): string => {
  if (authorization === undefined) throw refuse('No credential was sent.');
  const match = /^Bearer ([A-Za-z0-9._~+/=-]+)$/i.exec(authorization);
  if (match?.[1] === undefined || match[1].length > TOKEN_LENGTH_MAX)
    throw refuse('The Authorization header is not a bearer token.');
  return match[1];
};

const userPrincipal = (row: UserPrincipalRow, credential: Principal['credential']): Principal => {
  if (row.state === 'disabled')
    throw new AppError('unauthenticated', 'This account is disabled.', { about: { kind: 'user', id: row.id } });
  return {
    kind: 'user',
    id: row.id,
    name: row.name,
    email: row.email,
    email_verified: row.email_verified,
    platform_role: row.platform_role,
    is_pending: row.state === 'pending',
    tenants: new Map(Object.entries(row.tenants)),
    projects: new Map(Object.entries(row.projects)),
    audit_organization_id: row.personal_organization_id,
    home: null,
    credential,
  };
};

const tokenPrincipal = (row: TokenPrincipalRow): Principal => {
  const { token_id: id, scopes, expires_at } = row;
  const credential = { id, scopes, expires_at, auth_time: null } as const;
  if (row.kind === 'personal') {
    return userPrincipal(row as UserPrincipalRow, {
      ...credential,
      kind: 'api_token',
      project_id: row.token_project_id,
    });
  }
  const account = row.service_account;
  if (account === null || account.state !== 'enabled') throw refuse('This service account is disabled or deleted.');
  return {
    kind: 'service_account',
    id: account.id,
    name: account.name,
    email: null,
    email_verified: false,
    platform_role: null,
    is_pending: false,
    tenants: new Map(),
    projects: new Map(),
    audit_organization_id: account.organization_id,
    home: { organization_id: account.organization_id, project_id: account.project_id },
    credential: { ...credential, kind: 'service_account_token', project_id: account.project_id },
  };
};

const isStale = (at: string | null, nowMs: number): boolean => at === null || nowMs - Date.parse(at) > TOUCH_AFTER_MS;

export const createAuthenticator = (options: Options): Authenticator => {
  const { database, verifier, clock, log, superadmin_emails, web_session_idle_s } = options;
  const cache = new ExpiringCache<Principal>(PRINCIPALS_MAX);
  // Only decides that a lookup is worth its cost, so that a guessing neighbor does not lock out valid users.
  const recentlyValid = new ExpiringCache<true>(PRINCIPALS_MAX);
  /** Lookups in progress: requests that arrive together with one credential share one. */
  const pending = new Map<string, Promise<Principal>>();
  /** People whose sign-up was refused within minutes, by their token's subject. */
  const refusedSignUps = new ExpiringCache<true>(PRINCIPALS_MAX);
  /** Sessions whose use was stored within the minute. */
  const used = new ExpiringCache<true>(PRINCIPALS_MAX);

  /** Last-used times are worth a write, never a failed or slower request. */
  const touch = (write: Promise<unknown>) =>
    write.catch((err: unknown) => log.warn({ err }, 'failed to record last use'));

  const byToken = async (token: string, nowMs: number): Promise<Principal> => {
    const row = await database.read(PLATFORM, (reader) => findTokenPrincipal(reader, hashToken(token)));
    if (row === undefined) throw refuse('The token is unknown, expired or revoked.');
    const principal = tokenPrincipal(row);
    if (isStale(row.token_last_used_at, nowMs))
      void touch(database.write(PLATFORM, (tx) => touchToken(tx, row.token_id, row.service_account?.id ?? null)));
    return principal;
  };

  const bySession = async (token: string): Promise<Principal> => {
    const row = await database.read(PLATFORM, (reader) => findWebSessionPrincipal(reader, hashToken(token)));
    if (row === undefined) throw refuse(REFUSALS.web_session_ended);
    const { web_session_id: id, expires_at, auth_time } = row;
    return userPrincipal(row, { kind: 'web_session', id, scopes: ['all'], project_id: null, expires_at, auth_time });
  };

  /** Known callers count too: automatic requests must not hide real use. */
  const noteUse = ({ id, credential }: Principal, key: string, nowMs: number): void => {
    const sessionId = credential.id;
    if (sessionId === null || used.get(key, nowMs) !== undefined) return;
    used.set(key, true, nowMs + TOUCH_AFTER_MS);
    void touch(
      database.write(PLATFORM, async (tx) => {
        tx.defer(touchWebSession(tx, sessionId, web_session_idle_s));
        tx.defer(touchUser(tx, id));
      }),
    );
  };

  const auditChange = (
    tx: Tx,
    user: UserPrincipalRow,
    request: Parameters<Authenticator>[1],
    why: Readonly<{ policy: string; organization_id: string | null; metadata: Readonly<Record<string, unknown>> }>,
  ) =>
    insertAuditLog(tx, {
      ...request,
      ...why,
      project_id: null,
      actor_kind: 'system',
      actor_id: null,
      actor_role: null,
      action: 'user.update',
      target_kind: 'user',
      target_id: user.id,
      result: 'success',
      error_code: null,
    });

  /** Invitations go to an address, so an address changed or verified at the issuer is used from the next request. */
  const followAddress = async (user: UserPrincipalRow, token: VerifiedToken, request: Parameters<Authenticator>[1]) => {
    const { email, email_verified } = token;
    if (email === null || (email === user.email && email_verified === user.email_verified)) return user;
    await database.write(PLATFORM, async (tx) => {
      if (!(await updateAddress(tx, user.id, { email, email_verified }))) return;
      await auditChange(tx, user, request, {
        policy: 'the issuer decides which user has an email address',
        organization_id: user.personal_organization_id,
        metadata: { email_before: user.email, email_after: email, email_verified },
      });
    });
    return { ...user, email, email_verified };
  };

  const becomeSuperadmin = (user: UserPrincipalRow, request: Parameters<Authenticator>[1]) =>
    database.write(PLATFORM, async (tx) => {
      if (await hasSuperadmin(tx)) return;
      await makeSuperadmin(tx, user.id);
      await auditChange(tx, user, request, {
        policy: 'a configured email address becomes superadmin while none exists',
        organization_id: null,
        metadata: { role_before: user.platform_role, role_after: 'superadmin' },
      });
    });

  /**
   * A token without groups ends the memberships by groups of a user who had some; for others nothing changes. True when
   * the user's roles must be read again: this token or another one at the same time may have changed them.
   */
  const followTokenGroups = async (
    user: UserPrincipalRow,
    { groups: given, issued_at }: VerifiedToken,
    request: Parameters<Authenticator>[1],
  ): Promise<boolean> => {
    const isNone = given === 'absent' || given.length === 0;
    if (user.state !== 'active' || (isNone && user.groups === null)) return false;
    if (given === 'unreadable' || issued_at === null) {
      log.warn({ user_id: user.id }, 'the groups of a token, or their time, cannot be read; nothing changed');
      return false;
    }
    const groups = given === 'absent' || given.length === 0 ? null : given;
    const actor = { ...request, actor_kind: 'system', actor_id: null, actor_role: null } as const;
    await database.write(PLATFORM, async (tx) => {
      const { emit, sent } = emitInto(tx, request.correlation_id);
      await followGroups(tx, { id: user.id, groups, issued_at }, actor, emit);
      await sent();
    });
    return true;
  };

  const signUpOnce = async (token: VerifiedToken, request: Parameters<Authenticator>[1], nowMs: number) => {
    const key = JSON.stringify([token.issuer, token.subject]);
    const isNews = refusedSignUps.get(key, nowMs) === undefined;
    try {
      await signUp(database, token, { ...request, superadmin: mayBootstrap(token) }, isNews);
    } catch (err) {
      if (isNews && err instanceof AppError && err.code === 'policy_denied')
        refusedSignUps.set(key, true, nowMs + RECENTLY_VALID_MS);
      throw err;
    }
  };

  const mayBootstrap = (token: VerifiedToken) =>
    token.email_verified && token.email !== null && superadmin_emails.includes(token.email.toLowerCase());

  /** `isKnown`: the token was valid a moment ago, so its groups were followed then. */
  const byJwt = async (
    jwt: string,
    nowMs: number,
    request: Parameters<Authenticator>[1],
    isKnown: boolean,
  ): Promise<Principal> => {
    const verified = await verifier.verify(jwt);
    const find = () =>
      database.read(PLATFORM, (reader) => findUserBySubject(reader, verified.issuer, verified.subject));
    let row = await find();
    if (row === undefined) {
      await signUpOnce(verified, request, nowMs);
      row = await find();
    } else if (row.state === 'active' && row.platform_role === null && mayBootstrap(verified)) {
      await becomeSuperadmin(row, request);
      row = await find();
    }
    if (row === undefined) throw refuse('The account could not be created.');
    if (!isKnown && row.state === 'pending') {
      const again = { ...request, superadmin: mayBootstrap(verified) };
      if (await signUpAgain(database, row, verified, again)) row = (await find()) ?? row;
    }
    if (!isKnown && (await followTokenGroups(row, verified, request))) row = (await find()) ?? row;
    row = await followAddress(row, verified, request);
    const { id } = row;
    if (isStale(row.last_seen_at, nowMs)) void touch(database.write(PLATFORM, (tx) => touchUser(tx, id)));
    return userPrincipal(row, {
      kind: 'oidc',
      id: null,
      scopes: scopesOfSignIn(verified.scopes),
      project_id: null,
      expires_at: verified.expires_at,
      auth_time: verified.auth_time,
    });
  };

  return async ({ authorization, session }, request, { fresh, beforeLookUp, isWaiting } = {}) => {
    const isSession = authorization === undefined && session !== undefined;
    const token = isSession ? session : bearerOf(authorization);
    const nowMs = clock.now().getTime();
    // A cookie's value in the header is not a bearer token, and a bearer token in the cookie is not a session.
    const key = `${isSession ? 'session' : 'bearer'} ${hashToken(token).toString('base64')}`;
    const lookUp = async (): Promise<Principal> => {
      const find = isSession
        ? bySession(token)
        : isPlatformToken(token)
          ? byToken(token, nowMs)
          : byJwt(token, nowMs, request, fresh !== true && recentlyValid.get(key, nowMs) !== undefined);
      const principal = await find;
      const { expires_at } = principal.credential;
      const expiry = expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at);
      cache.set(key, principal, Math.min(nowMs + PRINCIPAL_TTL_MS, expiry));
      recentlyValid.set(key, true, nowMs + RECENTLY_VALID_MS);
      return principal;
    };
    /** A lookup that began earlier may not know what a fresh one must see, so a fresh one is never joined. */
    const shared = (): Promise<Principal> => {
      const running = pending.get(key);
      if (running !== undefined) return running;
      if (recentlyValid.get(key, nowMs) === undefined) beforeLookUp?.();
      const started = lookUp().finally(() => pending.delete(key));
      pending.set(key, started);
      return started;
    };
    if (fresh && recentlyValid.get(key, nowMs) === undefined) beforeLookUp?.();
    const principal = fresh ? await lookUp() : (cache.get(key, nowMs) ?? (await shared()));
    if (isSession && !isWaiting) noteUse(principal, key, nowMs);
    return principal;
  };
};
