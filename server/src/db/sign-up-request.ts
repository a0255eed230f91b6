/** People who wait for an operator. A user has at most one request, and is `pending` until it is approved. */
import type { Reader, Tx } from './client.ts';
import type { SignUpRequests, Users } from './types.gen.ts';

export type SignUpRequestRow = Readonly<SignUpRequests & Pick<Users, 'name' | 'email' | 'email_verified'>>;

const REQUEST = `r.id, r.user_id, u.name, u.email, u.email_verified, r.state, r.reason, r.decided_by, r.decided_at, r.created_at`;
const FROM = 'sign_up_requests r join users u on u.id = r.user_id';

export const insertSignUpRequest = (tx: Tx, row: Readonly<{ id: string; user_id: string }>) =>
  tx.query('insert into sign_up_requests (id, user_id) values ($1, $2)', [row.id, row.user_id]);

export const listSignUpRequests = async (
  reader: Reader,
  page: Readonly<{ after: string | null; limit: number; state: string | null }>,
): Promise<SignUpRequestRow[]> =>
  (
    await reader.query<SignUpRequestRow>(
      `select ${REQUEST} from ${FROM}
       where ($1::text is null or r.id < $1) and ($2::text is null or r.state = $2) order by r.id desc limit $3`,
      [page.after, page.state, page.limit],
    )
  ).rows;

export const findSignUpRequestOf = async (
  reader: Reader,
  userId: string,
): Promise<Pick<SignUpRequestRow, 'id' | 'state' | 'reason' | 'created_at'> | undefined> =>
  (
    await reader.query<SignUpRequestRow>(
      'select id, state, reason, created_at from sign_up_requests where user_id = $1',
      [userId],
    )
  ).rows[0];

/** Locks the request: it is decided once. */
export const lockSignUpRequest = async (tx: Tx, id: string): Promise<SignUpRequestRow | undefined> =>
  (await tx.query<SignUpRequestRow>(`select ${REQUEST} from ${FROM} where r.id = $1 for update of r`, [id])).rows[0];

export const decideSignUpRequest = (
  tx: Tx,
  id: string,
  decision: Readonly<{ state: 'approved' | 'rejected'; reason: string | null; decided_by: string | null }>,
) =>
  tx.query('update sign_up_requests set state = $2, reason = $3, decided_by = $4, decided_at = now() where id = $1', [
    id,
    decision.state,
    decision.reason,
    decision.decided_by,
  ]);
