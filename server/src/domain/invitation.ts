/**
 * Who may accept an invitation. It makes a membership that a person gave, which no longer ends with a group of the
 * identity provider. So no one gives it to themselves, and only an owner makes a membership by a group permanent: an
 * admin by a group would otherwise stay after leaving the group. Who invited must still be allowed to: an admin who was
 * made a viewer would otherwise return with an invitation to another address of theirs.
 */
import { roleHolds, type TenantRole } from '@gpuaas/contract';
import { REFUSALS } from './sentences.ts';

export type Acceptance = Readonly<{
  user_id: string;
  invited_by: string;
  role: TenantRole;
  /** Of the one who invited, now; null without a membership. */
  inviter_role: TenantRole | null;
  /** The author has a role of the platform: operators invite the first owner. */
  inviter_is_operator: boolean;
  /** Where the membership of the user is from; null without one. */
  source: 'manual' | 'group' | null;
}>;

/** Only owners and operators invite owners. Who left the organization revoked their invitations with that. */
const mayInvite = (inviterRole: TenantRole, role: TenantRole): boolean =>
  role === 'owner' ? inviterRole === 'owner' : roleHolds(`tenant:${inviterRole}`, 'invitation.create');

export const acceptRefusal = ({
  user_id,
  invited_by,
  role,
  inviter_role,
  inviter_is_operator,
  source,
}: Acceptance): string | null => {
  if (source === 'manual') return REFUSALS.already_member;
  if (user_id === invited_by) return REFUSALS.invited_by_self;
  if (inviter_role === null ? !inviter_is_operator : !mayInvite(inviter_role, role)) return REFUSALS.inviter_demoted;
  if (source === 'group' && role !== 'owner' && inviter_role !== 'owner') return REFUSALS.kept_by_owner;
  return null;
};
