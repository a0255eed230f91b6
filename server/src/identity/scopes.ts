/** A credential passes on at most its own scopes, for at most its own lifetime. */
import { FRESH_SIGN_IN_SCOPE, PERMISSIONS, scopeAllows, scopeReach } from '@gpuaas/contract';
import type { Principal, WriteCtx } from '../context.ts';
import { freshSignInScopeRefusal } from '../domain/fresh-sign-in.ts';
import { AppError } from '../errors.ts';
import { isSignIn, principalOf } from '../pipeline/caller.ts';

const isKnown = (scope: string): boolean =>
  scope === 'all' ||
  scope === 'read' ||
  scope === FRESH_SIGN_IN_SCOPE ||
  PERMISSIONS.some((permission) => scopeAllows([scope], permission));

/** Scopes of OpenID Connect: a client's access to the identity of a user, without any permission. */
const IDENTITY = new Set(['openid', 'profile', 'email', 'address', 'phone', 'offline_access']);

/**
 * The permissions of an issuer token's scopes. A token with identity scopes alone, or without scopes, is a sign-in of
 * one of our clients and has all permissions of its user's roles. Any other scope restricts it: a known scope as it
 * restricts an API token, an unknown scope to nothing, because it was meant to permit something else.
 */
export const scopesOfSignIn = (scopes: readonly string[]): readonly string[] =>
  scopes.every((scope) => IDENTITY.has(scope)) ? ['all'] : scopes.filter(isKnown);

export const assertScopesWithin = (
  principal: Principal,
  scopes: readonly string[],
  owner: 'user' | 'service_account',
  lifetime_s = 0,
): void => {
  const unknown = scopes.find((scope) => !isKnown(scope));
  if (unknown !== undefined)
    throw new AppError('invalid_request', `The scope "${unknown}" names no permission.`, {
      errors: [{ pointer: '/body/scopes', code: 'unknown_scope', message: `"${unknown}" names no permission` }],
    });
  const held = scopeReach(principal.credential.scopes);
  const beyond = [...scopeReach(scopes)].find((permission) => !held.has(permission));
  if (beyond !== undefined)
    throw new AppError('permission_denied', `Your credential does not include ${beyond} and cannot grant it.`);
  const refusal = freshSignInScopeRefusal(scopes, principal, owner, lifetime_s);
  if (refusal !== null) throw new AppError('permission_denied', refusal);
};

/** A token created with a token expires with it at the latest, or a leaked one could extend itself forever. */
export const lifetimeWithin = (ctx: WriteCtx, wantedS: number): number => {
  const principal = principalOf(ctx);
  const { expires_at } = principal.credential;
  if (isSignIn(principal) || expires_at === null) return wantedS;
  return Math.min(wantedS, (Date.parse(expires_at) - ctx.deps.clock.now().getTime()) / 1000);
};
