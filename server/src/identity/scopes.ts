/** A credential passes on at most its own scopes, for at most its own lifetime. */
import { PERMISSIONS, scopeAllows, scopeReach } from '@gpuaas/contract';
import type { Principal, WriteCtx } from '../context.ts';
import { AppError } from '../errors.ts';
import { isSignIn, principalOf } from '../pipeline/caller.ts';

export const assertScopesWithin = (principal: Principal, scopes: readonly string[]): void => {
  const known = (scope: string) =>
    scope === 'all' || scope === 'read' || PERMISSIONS.some((permission) => scopeAllows([scope], permission));
  const unknown = scopes.find((scope) => !known(scope));
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
