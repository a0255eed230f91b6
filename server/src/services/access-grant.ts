/**
 * SSH keys granted after launch. A grant passes authority on and outlives the role cache, so the permission is checked
 * again in the transaction that creates it.
 */
import { type PublicApi, type RequestOf, type RoleName, roleHolds } from '@gpuaas/contract';
import { invariant, mintId } from '@gpuaas/kit';
import type { ReadCtx, WriteCtx } from '../context.ts';
import * as db from '../db/access-grant.ts';
import { type AllocationRow, lockAllocation } from '../db/allocation.ts';
import { grantRefusal } from '../domain/allocation-actions.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, conflict, notFound } from '../errors.ts';
import { assertStillAllowed } from '../identity/permission-recheck.ts';
import { organizationOf, principalOf, projectOf } from '../pipeline/caller.ts';
import { pageOfAllocation } from '../views/allocation-page.ts';
import { sendKeys } from '../workflows/access-grant.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

/** The maximum number of keys of one VM. */
const KEYS_MAX = 100;
/** Project admins also decide about the access of others. */
const isManager = (roles: readonly RoleName[]): boolean =>
  roles.some((role) => roleHolds(role, 'project.member.update'));

export const list = (ctx: ReadCtx, req: Req<'accessGrantList'>) => pageOfAllocation(ctx, req, db.listGrants);

const lockOwnGrant = async (ctx: WriteCtx, allocationId: string): Promise<AllocationRow> => {
  const row = await lockAllocation(ctx.tx, allocationId);
  // Of this project: an allocation of another counts as missing.
  if (row === undefined || row.project_id !== projectOf(ctx)) throw notFound('allocation');
  return row;
};

type Found = Readonly<{ key: db.KeyOfMember; keys: db.KeysOfAllocation }>;

/** Only their owners see keys, so these are read in the platform scope; the code below decides what is returned. */
const findKey = async (ctx: WriteCtx, row: AllocationRow, ssh_key_id: string): Promise<Found | undefined> => {
  const { organization_id, project_id, id: allocation_id, ssh_key_ids } = row;
  ctx.tx.enter({ tenant_id: '*', principal_id: principalOf(ctx).id });
  const key = await db.findKeyOfMember(ctx.tx, { ssh_key_id, organization_id, project_id });
  const fingerprint = key?.fingerprint ?? '';
  const keys = await db.findKeysOfAllocation(ctx.tx, { allocation_id, ssh_key_ids, fingerprint });
  ctx.tx.enter({ tenant_id: organizationOf(ctx), principal_id: principalOf(ctx).id });
  return key === undefined || keys === undefined ? undefined : { key, keys };
};

/** A user's key is visible to the user, and to project admins if the user belongs to the project. */
const mayGrant = (key: db.KeyOfMember, callerId: string, roles: readonly RoleName[]): boolean => {
  if (key.user_id === callerId) return true;
  if (!isManager(roles) || key.user_state !== 'active' || key.tenant_role === null) return false;
  return roleHolds(`tenant:${key.tenant_role}`, 'project.read') || key.project_role !== null;
};

export const create = async (ctx: WriteCtx, { params, body }: Req<'accessGrantCreate'>) => {
  const row = await lockOwnGrant(ctx, params.allocation_id);
  const roles = await assertStillAllowed(ctx, 'allocation.grant.create');
  const caller = principalOf(ctx);
  const found = await findKey(ctx, row, body.ssh_key_id);
  if (found === undefined || !mayGrant(found.key, caller.id, roles)) throw notFound('SSH key');
  const refusal = grantRefusal(row.state);
  if (refusal !== null) throw conflict(refusal.reason);
  const { key, keys } = found;
  if (keys.is_of_launch) throw new AppError('already_exists', REFUSALS.key_installed_at_launch);
  if (keys.grant_id !== null && keys.grant_state !== 'failed')
    throw new AppError('already_exists', REFUSALS.key_already_granted);
  if (keys.grant_id === null && keys.live_grants + keys.launch_keys >= KEYS_MAX)
    throw conflict(`An allocation accepts at most ${KEYS_MAX} keys. Revoke one first.`);
  const grant =
    keys.grant_id === null
      ? await db.insertGrant(ctx.tx, {
          ...{ id: mintId('grt'), organization_id: row.organization_id, project_id: row.project_id },
          ...{ allocation_id: row.id, user_id: key.user_id, user_name: key.user_name, ssh_key_id: key.id },
          ...{ public_key: key.public_key, fingerprint: key.fingerprint, granted_by: caller.id },
          correlation_id: ctx.correlation_id,
        })
      : await db.retryGrant(ctx.tx, keys.grant_id, ctx.correlation_id);
  invariant(grant !== undefined, 'the grant was just written');
  await follow(ctx, row, grant);
  return grant;
};

const follow = async (ctx: WriteCtx, row: AllocationRow, grant: db.GrantRow): Promise<void> => {
  const { id, allocation_id, user_id, fingerprint, state } = grant;
  ctx.target('access_grant', id);
  ctx.note({ allocation_id, user_id, fingerprint });
  ctx.emit('allocation.access_grant.changed', {
    subject: id,
    data: { access_grant_id: id, allocation_id, user_id, state },
  });
  ctx.note({ workflow_run_id: await sendKeys(ctx.tx, row, ctx.correlation_id) });
};

/** A revoked grant stays revoked; a pending removal is installed again. */
export const revoke = async (ctx: WriteCtx, { params }: Req<'accessGrantRevoke'>) => {
  const row = await lockOwnGrant(ctx, params.allocation_id);
  const before = await db.findGrant(ctx.tx, row.id, params.access_grant_id);
  if (before === undefined) throw notFound('access grant');
  const caller = principalOf(ctx);
  const roles = await assertStillAllowed(ctx, 'allocation.grant.create');
  if (before.user_id !== caller.id && before.granted_by !== caller.id && !isManager(roles))
    throw new AppError('permission_denied', REFUSALS.grant_of_others);
  const grant =
    (await db.revokeGrant(ctx.tx, before.id, { reason: null, correlation_id: ctx.correlation_id })) ?? before;
  if (grant.state === 'revoking') await follow(ctx, row, grant);
  return grant;
};
