/**
 * Browser sign-in. The issuer identifies the user; after that a web session counts, a random token in a cookie of which
 * only the hash is stored. A pending sign-in is bound to the browser that started it by a sealed cookie: a code from
 * another browser is useless. Every sign-in creates a new token, so a planted one is useless too.
 */
import { type Clock, type Log, mintId } from '@gpuaas/kit';
import type { Principal } from '../context.ts';
import { type AuditRow, insertAuditLog } from '../db/audit.ts';
import { type Database, PLATFORM } from '../db/client.ts';
import {
  deleteOldestWebSessions,
  deleteWebSession,
  findWebSession,
  type HeldWebSession,
  putWebSession,
} from '../db/web-session.ts';
import { SEALED_TO } from '../domain/sealed.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError } from '../errors.ts';
import type { RelyingParty, SignInSecrets, SignInTokens, SignInWish } from '../ports/identity/relying-party.ts';
import { CLOCK_REFUSALS } from '../ports/identity/verifier.ts';
import type { Secrets } from '../ports/secrets/secrets.ts';
import type { Authenticator } from './authenticate.ts';
import { hashToken, mintToken } from './token.ts';

type Request = Parameters<Authenticator>[1];
type PendingSignIn = SignInSecrets & Readonly<{ return_to: string; until_ms: number }>;

export type SignIn = Readonly<{
  begin(
    wanted: Readonly<{ return_to: string }> & SignInWish,
  ): Promise<Readonly<{ url: string; state: string; sealed: string }>>;
  /** The target page of a sign-in, also of a failed one; undefined where it is unknown. */
  returnTo(sealed: string | undefined): string | undefined;
  finish(
    given: Readonly<{ query: string; sealed: string | undefined; presented: string | undefined }>,
    request: Request,
  ): Promise<Readonly<{ token: string; max_age_s: number; return_to: string }>>;
  /** Ends the session; returns the issuer's sign-out address, if there is one. */
  end(presented: string | undefined, request: Request): Promise<string | null>;
}>;

type Options = Readonly<{
  database: Database;
  secrets: Secrets;
  clock: Clock;
  log: Log;
  authenticate: Authenticator;
  relyingParty: RelyingParty;
  idle_s: number;
  max_s: number;
  /** How long a user may take at the issuer. */
  sign_in_s: number;
}>;

/** More sessions than any user needs; above it the least recently used end. */
const SESSIONS_MAX = 100;
/** It is part of an address at sign-out. */
const ID_TOKEN_MAX_CHARS = 4096;

export const createSignIn = (options: Options): SignIn => {
  const { database, secrets, clock, log, relyingParty } = options;

  const open = (sealed: string | undefined): PendingSignIn | undefined => {
    if (sealed === undefined) return undefined;
    try {
      return JSON.parse(secrets.open(Buffer.from(sealed, 'base64url'), SEALED_TO.pending_sign_in)) as PendingSignIn;
    } catch {
      return undefined;
    }
  };

  const auditOf = (
    person: Readonly<{ id: string; organization_id: string | null }>,
    sessionId: string,
    request: Request,
    what: Pick<AuditRow, 'action' | 'policy' | 'metadata'>,
  ): AuditRow => ({
    ...request,
    ...what,
    organization_id: person.organization_id,
    project_id: null,
    actor_kind: 'user',
    actor_id: person.id,
    actor_role: null,
    target_kind: 'web_session',
    target_id: sessionId,
    result: 'success',
    error_code: null,
  });

  const endedBySystem = (
    person: Readonly<{ id: string; organization_id: string | null }>,
    sessionId: string,
    request: Request,
    policy: string,
  ): AuditRow => ({
    ...auditOf(person, sessionId, request, { action: 'web_session.revoke', policy, metadata: {} }),
    actor_kind: 'system',
    actor_id: null,
  });

  /**
   * A user accepted by the issuer and refused here. Attempts without a valid sign-in are only logged: they would fill
   * the audit log.
   */
  const auditRefusal = (err: AppError, request: Request) =>
    database.write(PLATFORM, (tx) => {
      const { about } = err.details;
      return insertAuditLog(tx, {
        ...request,
        organization_id: null,
        project_id: null,
        actor_kind: about === undefined ? 'anonymous' : 'user',
        actor_id: about?.id ?? null,
        actor_role: null,
        action: 'web_session.create',
        target_kind: about?.kind ?? null,
        target_id: about?.id ?? null,
        result: 'denied',
        error_code: err.code,
        policy: err.message,
        metadata: {},
      });
    });

  const findPerson = async (accessToken: string, request: Request): Promise<Principal> => {
    try {
      // As for a bearer token: a new user is signed up, a changed address is updated, a disabled user is refused.
      return await options.authenticate({ authorization: `Bearer ${accessToken}` }, request, { fresh: true });
    } catch (err) {
      if (!(err instanceof AppError) || err.code !== 'unauthenticated') throw err;
      await auditRefusal(err, request);
      // A token of this moment: its time cannot be the fault of the person, who would sign in again in vain.
      throw CLOCK_REFUSALS.includes(err.message)
        ? new AppError('unauthenticated', REFUSALS.sign_in_clock(err.message), { cause: err })
        : err;
    }
  };

  /** The same user in the same browser keeps open streams; another user's session ends. */
  const keep = (
    principal: Principal,
    { id_token: idToken, auth_time }: SignInTokens,
    presented: string | undefined,
    request: Request,
  ) =>
    database.write(PLATFORM, async (tx) => {
      const before = presented === undefined ? undefined : await findWebSession(tx, hashToken(presented));
      const isRenewed = before?.user_id === principal.id;
      if (before !== undefined && !isRenewed) {
        await deleteWebSession(tx, before.user_id, before.id);
        const person = { id: before.user_id, organization_id: before.personal_organization_id };
        await insertAuditLog(tx, endedBySystem(person, before.id, request, 'another user signed in with the browser'));
      }
      const id = isRenewed && before !== undefined ? before.id : mintId('wse');
      const { token, hash } = mintToken('web_session');
      const isKept = idToken !== null && idToken.length <= ID_TOKEN_MAX_CHARS;
      await putWebSession(tx, {
        id,
        user_id: principal.id,
        token_hash: hash,
        id_token_sealed: isKept ? secrets.seal(idToken, SEALED_TO.id_token(id)) : null,
        auth_time,
        user_agent: request.user_agent,
        source_ip: request.source_ip,
        idle_s: options.idle_s,
        max_s: options.max_s,
      });
      const person = { id: principal.id, organization_id: principal.audit_organization_id };
      await insertAuditLog(
        tx,
        auditOf(person, id, request, {
          action: 'web_session.create',
          policy: 'a user signed in by the issuer gets a session',
          metadata: { is_renewed: isRenewed },
        }),
      );
      for (const old of await deleteOldestWebSessions(tx, principal.id, SESSIONS_MAX))
        await insertAuditLog(tx, endedBySystem(person, old, request, `a user has at most ${SESSIONS_MAX} sessions`));
      return token;
    });

  const idTokenIn = ({ id, id_token_sealed }: HeldWebSession): string | null => {
    if (id_token_sealed === null) return null;
    try {
      return secrets.open(id_token_sealed, SEALED_TO.id_token(id));
    } catch (err) {
      log.warn({ err, web_session_id: id }, 'failed to decrypt the ID token of a session');
      return null;
    }
  };

  return {
    begin: async ({ return_to, ...wish }) => {
      const { url, secrets: own } = await relyingParty.begin(wish);
      const until_ms = clock.now().getTime() + options.sign_in_s * 1000;
      const pending: PendingSignIn = { ...own, return_to, until_ms };
      return {
        url,
        state: own.state,
        sealed: secrets.seal(JSON.stringify(pending), SEALED_TO.pending_sign_in).toString('base64url'),
      };
    },
    returnTo: (sealed) => open(sealed)?.return_to,
    finish: async ({ query, sealed, presented }, request) => {
      const pending = open(sealed);
      if (pending === undefined)
        throw new AppError(
          'invalid_request',
          'This sign-in was already used, timed out, or started in another browser.',
        );
      if (pending.until_ms <= clock.now().getTime()) throw new AppError('invalid_request', 'This sign-in timed out.');
      const tokens = await relyingParty.finish(query, pending);
      const principal = await findPerson(tokens.access_token, request);
      const token = await keep(principal, tokens, presented, request);
      log.info({ correlation_id: request.correlation_id, principal_id: principal.id }, 'signed in with a browser');
      return { token, max_age_s: options.max_s, return_to: pending.return_to };
    },
    end: async (presented, request) => {
      const held = await database.write(PLATFORM, async (tx) => {
        const session = presented === undefined ? undefined : await findWebSession(tx, hashToken(presented));
        if (session === undefined) return undefined;
        await deleteWebSession(tx, session.user_id, session.id);
        const organization_id = session.personal_organization_id;
        await insertAuditLog(
          tx,
          auditOf({ id: session.user_id, organization_id }, session.id, request, {
            action: 'web_session.revoke',
            policy: 'sign-out ends the session',
            metadata: {},
          }),
        );
        return session;
      });
      return held === undefined ? null : relyingParty.signOutUrl(idTokenIn(held));
    },
  };
};
