/** Tokens of service accounts, written together with their account. */
import type { Tx } from '../client.ts';
import { ACCOUNT, type ServiceAccountRow } from '../service-account.ts';

export const touchToken = (tx: Tx, tokenId: string, serviceAccountId: string | null) =>
  tx.query(
    `with used as (update api_tokens set last_used_at = now() where id = $1 returning 1)
     update service_accounts set last_used_at = now() where id = $2 and exists (select from used)`,
    [tokenId, serviceAccountId],
  );

/** The account is deleted and its tokens end in one statement. */
export const deleteServiceAccount = async (
  tx: Tx,
  projectId: string,
  id: string,
): Promise<ServiceAccountRow | undefined> =>
  (
    await tx.query<ServiceAccountRow>(
      `with ended as (update api_tokens set revoked_at = now() where service_account_id = $2 and revoked_at is null)
       update service_accounts set deleted_at = now(), state = 'disabled', version = version + 1
       where project_id = $1 and id = $2 and deleted_at is null returning ${ACCOUNT}`,
      [projectId, id],
    )
  ).rows[0];
