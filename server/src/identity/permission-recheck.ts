/**
 * Roles are cached for a few seconds, which is how long a removed member keeps access. Operations that pass authority
 * on (memberships, invitations, service accounts and their secrets) would outlive those seconds, so the permission is
 * checked again in the transaction itself.
 */
import { type Permission, type RoleName, roleHolds } from '@gpuaas/contract';
import type { WriteCtx } from '../context.ts';
import { holdRolesAt } from '../db/principal.ts';
import { AppError } from '../errors.ts';
import { organizationOf, principalOf } from '../pipeline/caller.ts';

export const assertStillAllowed = async (ctx: WriteCtx, permission: Permission): Promise<RoleName[]> => {
  const found = await holdRolesAt(ctx.tx, principalOf(ctx).id, organizationOf(ctx), ctx.project_id);
  const roles: RoleName[] = [];
  if (found !== undefined) roles.push(`tenant:${found.tenant}`);
  if (found !== undefined && found.project !== null) roles.push(`project:${found.project}`);
  if (!roles.some((role) => roleHolds(role, permission)))
    throw new AppError('permission_denied', `You no longer hold ${permission}.`);
  return roles;
};
