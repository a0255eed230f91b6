/**
 * Makes the memberships of a user follow the groups of the issuer: at sign-in with the groups of the token, and when an
 * operator synchronizes with the stored ones. `planGroupAccess` decides; here it is carried out in one transaction.
 */
import type { WriteCtx } from '../context.ts';
import { type AuditRow, insertAuditLog } from '../db/audit.ts';
import type { Tx } from '../db/client.ts';
import { listGroupAccessBlocks } from '../db/group-access-block.ts';
import { listMappedRoles } from '../db/group-mapping.ts';
import { insertMembership, moveGroupRole } from '../db/organization.ts';
import { deleteProjectMember, putGroupProjectMember } from '../db/project.ts';
import { listHeldRoles, lockActiveUser, updateGroups } from '../db/user.ts';
import { type AccessChange, planGroupAccess } from '../domain/group-access.ts';
import { revokeLostKeys } from './lost-access.ts';
import { endMembership } from './member-end.ts';

/** Who changes it: the control plane at a sign-in, or an operator. */
export type GroupActor = Readonly<
  Pick<AuditRow, 'actor_kind' | 'actor_id' | 'actor_role' | 'source_ip' | 'user_agent' | 'correlation_id'>
>;

type Emit = WriteCtx['emit'];

const carryOut = async (tx: Tx, user_id: string, change: AccessChange, emit: Emit): Promise<void> => {
  const { organization_id, project_id } = change;
  if (change.kind === 'remove') {
    if (project_id === null) return endMembership(tx, { organization_id, user_id }, emit);
    await deleteProjectMember(tx, project_id, user_id);
    return emit('project.member.removed', {
      subject: user_id,
      organization_id,
      project_id,
      data: { project_id, user_id },
    });
  }
  const { role } = change;
  if (project_id !== null) {
    await putGroupProjectMember(tx, { project_id, organization_id, user_id, role });
    const data = { project_id, user_id, role };
    return emit('project.member.changed', { subject: user_id, organization_id, project_id, data });
  }
  if (change.kind === 'grant') await insertMembership(tx, { organization_id, user_id, role, source: 'group' });
  else await moveGroupRole(tx, organization_id, user_id, role);
  emit('organization.member.changed', { subject: user_id, organization_id, data: { organization_id, user_id, role } });
};

const auditOf = (
  user_id: string,
  { kind, organization_id, project_id, role }: AccessChange,
  policy: string,
): Omit<AuditRow, keyof GroupActor> => ({
  organization_id,
  project_id,
  action: `${project_id === null ? 'organization' : 'project'}.member.${kind === 'remove' ? 'remove' : 'update'}`,
  target_kind: project_id === null ? 'organization.member' : 'project.member',
  target_id: user_id,
  result: 'success',
  error_code: null,
  policy,
  metadata: { role, source: 'group' },
});

/** In the platform scope. Does nothing for users who are not active, nor for a token older than the last one. */
export const followGroups = async (
  tx: Tx,
  user: Readonly<{
    id: string;
    groups: readonly string[] | null;
    /** Of the token that states them; without it they are the stored ones. */
    issued_at?: string;
    policy?: string;
  }>,
  actor: GroupActor,
  emit: Emit,
): Promise<readonly AccessChange[]> => {
  const { id, groups, issued_at, policy = 'memberships follow the groups of the identity provider' } = user;
  if (!(await lockActiveUser(tx, id))) return [];
  if (issued_at !== undefined && !(await updateGroups(tx, id, { groups, issued_at }))) return [];
  const mapped = groups === null ? [] : await listMappedRoles(tx, groups);
  const changes = planGroupAccess(mapped, await listHeldRoles(tx, id), await listGroupAccessBlocks(tx, id));
  for (const change of changes) {
    await carryOut(tx, id, change, emit);
    await insertAuditLog(tx, { ...actor, ...auditOf(id, change, policy) });
  }
  if (changes.some(({ kind }) => kind !== 'grant'))
    await revokeLostKeys(tx, { user_id: id, correlation_id: actor.correlation_id });
  return changes;
};
