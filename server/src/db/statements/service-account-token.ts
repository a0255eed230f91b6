/** Tokens of service accounts, written together with their account. */
import type { Tx } from '../client.ts';
import { ACCOUNT, type ServiceAccountRow } from '../service-account.ts';
import { statement } from '../statement.ts';

const TOUCH = statement(
  { token_id: 'text', service_account_id: 'text | null' },
  `with used as (update api_tokens set last_used_at = now() where id = :token_id returning 1)
   update service_accounts set last_used_at = now() where id = :service_account_id and exists (select from used)`,
);

export const touchToken = (tx: Tx, token_id: string, service_account_id: string | null) =>
  TOUCH.query(tx, { token_id, service_account_id });

const DELETE = statement(
  { project_id: 'text', id: 'text' },
  `with ended as (update api_tokens set revoked_at = now() where service_account_id = :id and revoked_at is null)
   update service_accounts set deleted_at = now(), state = 'disabled', version = version + 1
   where project_id = :project_id and id = :id and deleted_at is null returning ${ACCOUNT}`,
);

/** The account is deleted and its tokens end in one statement. */
export const deleteServiceAccount = async (
  tx: Tx,
  project_id: string,
  id: string,
): Promise<ServiceAccountRow | undefined> => (await DELETE.query<ServiceAccountRow>(tx, { project_id, id })).rows[0];
