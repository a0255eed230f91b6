/**
 * The end of a membership in an organization. Project memberships, tokens and sessions follow from the row: roles are
 * checked against it. Invitations of and by the user end here; the caller then revokes the keys of the user
 * (`lost-access.ts`).
 */
import type { WriteCtx } from '../context.ts';
import type { Tx } from '../db/client.ts';
import { revokeInvitationsAround } from '../db/invitation.ts';
import { deleteMember, lockMember } from '../db/organization.ts';

export const endMembership = async (
  tx: Tx,
  { organization_id, user_id }: Readonly<{ organization_id: string; user_id: string }>,
  emit: WriteCtx['emit'],
): Promise<void> => {
  await lockMember(tx, organization_id, user_id);
  // While the user is still a member: afterwards row-level security hides the address.
  await revokeInvitationsAround(tx, organization_id, user_id);
  await deleteMember(tx, organization_id, user_id);
  emit('organization.member.removed', { subject: user_id, organization_id, data: { organization_id, user_id } });
};
