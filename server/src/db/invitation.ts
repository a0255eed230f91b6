import type { Reader, Tx } from './client.ts';
import { queryByIndex } from './plan.ts';
import { statement } from './statement.ts';
import type { Invitations } from './types.gen.ts';

export type InvitationRow = Readonly<
  Pick<
    Invitations,
    'id' | 'organization_id' | 'email' | 'role' | 'invited_by' | 'expires_at' | 'accepted_at' | 'created_at'
  > & {
    state: Invitations['state'] | 'expired';
  }
>;

/** Expiry follows from time and is not a stored state. */
const INVITATION = `id, organization_id, email, role, case when state = 'pending' and expires_at <= now() then 'expired' else state end as state,
  invited_by, expires_at, accepted_at, created_at`;

type NewInvitation = Readonly<
  Pick<Invitations, 'id' | 'organization_id' | 'email' | 'role' | 'token_hash' | 'invited_by'> & {
    expires_in_s: number;
  }
>;

const INSERT_INVITATION = statement(
  {
    id: 'text',
    organization_id: 'text',
    email: 'text',
    role: 'text',
    token_hash: 'bytea',
    invited_by: 'text',
    expires_in_s: 'float8',
  },
  `insert into invitations (id, organization_id, email, role, token_hash, invited_by, expires_at)
   values (:id, :organization_id, :email, :role, :token_hash, :invited_by, now() + make_interval(secs => :expires_in_s))
   returning ${INVITATION}`,
);

export const insertInvitation = async (tx: Tx, row: NewInvitation): Promise<InvitationRow | undefined> =>
  (await INSERT_INVITATION.query<InvitationRow>(tx, row)).rows[0];

export const listInvitations = async (
  reader: Reader,
  organizationId: string,
  page: Readonly<{ after: string | null; limit: number }>,
): Promise<InvitationRow[]> =>
  (
    await reader.query<InvitationRow>(
      `select ${INVITATION} from invitations where organization_id = $1 and ($2::text is null or id > $2) order by id limit $3`,
      [organizationId, page.after, page.limit],
    )
  ).rows;

export const findInvitation = async (
  reader: Reader,
  organizationId: string,
  id: string,
): Promise<InvitationRow | undefined> =>
  (
    await reader.query<InvitationRow>(`select ${INVITATION} from invitations where organization_id = $1 and id = $2`, [
      organizationId,
      id,
    ])
  ).rows[0];

/** Whether anyone invited the owner of this verified address. Only for the platform scope. */
export const isInvited = async (reader: Reader, email: string): Promise<boolean> =>
  (
    await reader.query(
      "select 1 as one from invitations where lower(email) = lower($1) and state = 'pending' and expires_at > now() limit 1",
      [email],
    )
  ).rowCount > 0;

/** Locks the invitation: a token is used once. */
export const lockInvitationByToken = async (tx: Tx, tokenHash: Buffer): Promise<InvitationRow | undefined> =>
  (await tx.query<InvitationRow>(`select ${INVITATION} from invitations where token_hash = $1 for update`, [tokenHash]))
    .rows[0];

export const revokeInvitation = async (tx: Tx, organizationId: string, id: string): Promise<boolean> =>
  (
    await tx.query(
      "update invitations set state = 'revoked' where organization_id = $1 and id = $2 and state = 'pending'",
      [organizationId, id],
    )
  ).rowCount === 1;

/** A removed member cannot return by an open invitation, and leaves none behind. */
export const revokeInvitationsAround = (tx: Tx, organizationId: string, userId: string) =>
  tx.query(
    `update invitations set state = 'revoked' where organization_id = $1 and state = 'pending'
       and (invited_by = $2 or lower(email) = (select lower(email) from users where id = $2))`,
    [organizationId, userId],
  );

export const markInvitationAccepted = (tx: Tx, id: string, userId: string) =>
  tx.query(
    "update invitations set state = 'accepted', accepted_at = now(), accepted_by = $2 where id = $1 and state = 'pending'",
    [id, userId],
  );

/** Accepted or not: the audit log has them. */
export const deleteOldInvitations = async (tx: Tx, limit: number, days: number): Promise<number> =>
  (
    await queryByIndex(
      tx,
      `with old as materialized (
         select id from invitations where expires_at < now() - make_interval(days => $2)
         order by expires_at limit $1 for update skip locked)
       delete from invitations i using old where i.id = old.id`,
      [limit, days],
    )
  ).rowCount;
