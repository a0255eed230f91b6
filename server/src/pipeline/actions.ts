/**
 * The caller's available actions on a resource, or why not: first whether the caller's role allows the operation, then
 * the rule by which the operation itself would refuse. Operations throw these refusals, so both agree.
 */
import { api, type OperationId, type Permission, roleHolds, roleRefusal, scopeAllows } from '@gpuaas/contract';
import type { Ctx } from '../context.ts';
import type { Refusal } from '../domain/refusal.ts';
import { type Action, action } from '../domain/refusal.ts';
import { AppError, conflict, type FieldError } from '../errors.ts';
import { principalOf } from './caller.ts';

/** Why the caller may not use an operation of the control plane. */
const platformRefusal = (ctx: Ctx, permission: Permission): string | null => {
  const { platform_role, credential } = principalOf(ctx);
  if (platform_role === null || credential.project_id !== null || !roleHolds(`platform:${platform_role}`, permission))
    return roleRefusal(permission);
  return scopeAllows(credential.scopes, permission) ? null : `The scopes of your token do not include ${permission}.`;
};

export const platformActions = <Name extends string>(
  ctx: Ctx,
  operations: Readonly<Record<Name, OperationId>>,
  refusalOf: (name: Name) => Refusal | null,
): Action[] =>
  (Object.keys(operations) as Name[]).map((name) => {
    const { permission } = api[operations[name]];
    const denied = permission === null ? null : platformRefusal(ctx, permission);
    return action(name, denied ?? refusalOf(name)?.reason ?? null);
  });

/** Throws the refusal. True when it is already done and nothing has to change. */
export const refuse = (refusal: Refusal | null): boolean => {
  if (refusal === null || refusal.is_done) return refusal !== null;
  throw conflict(refusal.reason);
};

/** Throws all problems together, each with its field. */
export const refuseIfAny = (problems: readonly FieldError[]): void => {
  if (problems.length === 0) return;
  throw new AppError('conflict', problems.map(({ message }) => message).join(' '), { errors: problems });
};
