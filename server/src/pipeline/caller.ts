/** Small facts about the request that most services need. */
import { type Permission, roleHolds } from '@gpuaas/contract';
import { invariant } from '@gpuaas/kit';
import type { Ctx, Principal } from '../context.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError } from '../errors.ts';
import { rolesAt } from '../identity/authorize.ts';

export const principalOf = (ctx: Ctx): Principal => {
  invariant(ctx.principal !== null, 'only public operations have no principal');
  return ctx.principal;
};

export const organizationOf = (ctx: Ctx): string => {
  invariant(ctx.organization_id !== null, 'the operation is bound to an organization');
  return ctx.organization_id;
};

export const projectOf = (ctx: Ctx): string => {
  invariant(ctx.project_id !== null, 'the operation is bound to a project');
  return ctx.project_id;
};

/** A user who signed in, in the CLI or a browser; a token is not one. */
export const isSignIn = ({ credential }: Principal): boolean =>
  credential.kind === 'oidc' || credential.kind === 'web_session';

/** Whether the caller's roles hold a permission at an organization, and at a project in it when one is named. */
export const callerHolds = (
  ctx: Ctx,
  permission: Permission,
  organizationId: string,
  projectId: string | null,
): boolean => rolesAt(principalOf(ctx), organizationId, projectId).some((role) => roleHolds(role, permission));

/** For updates guarded by If-Match: the row exists, so the version must have changed. */
export const resourceChanged = (current: number): AppError =>
  new AppError('precondition_failed', REFUSALS.changed(current));

export const onlyText = (value: string | number | undefined): string | null =>
  value === undefined ? null : String(value);

/** The calling user or service account, for rows that name the actor. */
export const callerId = (ctx: Ctx): string => principalOf(ctx).id;
