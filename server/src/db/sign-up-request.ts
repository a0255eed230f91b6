/** People who wait for an operator. A user has at most one request, and is `pending` until it is approved. */
import { invariant } from '@gpuaas/kit';
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

type OwnRequest = Pick<SignUpRequestRow, 'id' | 'state' | 'reason' | 'created_at'>;
const OF_USER = 'select id, state, reason, created_at from sign_up_requests where user_id = $1';

export const findSignUpRequestOf = async (reader: Reader, userId: string): Promise<OwnRequest | undefined> =>
  (await reader.query<OwnRequest>(OF_USER, [userId])).rows[0];

/** Waits for an operator who decides at this moment. */
export const lockSignUpRequestOf = async (tx: Tx, userId: string): Promise<OwnRequest | undefined> =>
  (await tx.query<OwnRequest>(`${OF_USER} for update`, [userId])).rows[0];

/** Locks the request: it is decided once. */
export const lockSignUpRequest = async (tx: Tx, id: string): Promise<SignUpRequestRow | undefined> =>
  (await tx.query<SignUpRequestRow>(`select ${REQUEST} from ${FROM} where r.id = $1 for update of r`, [id])).rows[0];

/** `from` is the state that the caller decided on, with the row locked. */
export const decideSignUpRequest = async (
  tx: Tx,
  { id, from }: Readonly<{ id: string; from: string }>,
  decision: Readonly<{ state: 'approved' | 'rejected'; reason: string | null; decided_by: string | null }>,
): Promise<void> => {
  const { rowCount } = await tx.query(
    `update sign_up_requests set state = $2, reason = $3, decided_by = $4, decided_at = now()
     where id = $1 and state = $5 and state <> 'approved'`,
    [id, decision.state, decision.reason, decision.decided_by, from],
  );
  invariant(rowCount === 1, `sign-up request ${id} is ${from} and locked`);
};
