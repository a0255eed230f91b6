/** A credential passes on at most its own scopes, for at most its own lifetime. */
import { PERMISSIONS, scopeAllows, scopeReach } from '@gpuaas/contract';
import type { Principal, WriteCtx } from '../context.ts';
import { AppError } from '../errors.ts';
import { isSignIn, principalOf } from '../pipeline/caller.ts';

const isKnown = (scope: string): boolean =>
  scope === 'all' || scope === 'read' || PERMISSIONS.some((permission) => scopeAllows([scope], permission));

/**
 * What the scopes of an issuer's token reach. Words of ours restrict it as they restrict an API token. A token without any
 * (`openid profile email`) is a sign-in of one of our clients and reaches everything that the roles of its user hold.
 */
export const scopesOfSignIn = (scopes: readonly string[]): readonly string[] => {
  const known = scopes.filter(isKnown);
  return known.length === 0 ? ['all'] : known;
};

export const assertScopesWithin = (principal: Principal, scopes: readonly string[]): void => {
  const unknown = scopes.find((scope) => !isKnown(scope));
  if (unknown !== undefined)
    throw new AppError('invalid_request', `The scope "${unknown}" names no permission.`, {
      errors: [{ pointer: '/body/scopes', code: 'unknown_scope', message: `"${unknown}" names no permission` }],
    });
  const held = scopeReach(principal.credential.scopes);
  const beyond = [...scopeReach(scopes)].find((permission) => !held.has(permission));
  if (beyond !== undefined)
    throw new AppError('permission_denied', `Your credential does not include ${beyond} and cannot grant it.`);
};

/** A token made with a token ends with it at the latest, or a leaked one could prolong itself for ever. */
export const lifetimeWithin = (ctx: WriteCtx, wantedS: number): number => {
  const principal = principalOf(ctx);
  const { expires_at } = principal.credential;
  if (isSignIn(principal) || expires_at === null) return wantedS;
  return Math.min(wantedS, (Date.parse(expires_at) - ctx.deps.clock.now().getTime()) / 1000);
};
