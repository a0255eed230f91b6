/** What a tenant has its guests run at their first start. */
import type { Reader, Tx } from './client.ts';

export const findUserData = async (reader: Reader, allocationId: string): Promise<string | null> =>
  (
    await reader.query<{ user_data: string }>('select user_data from allocation_user_data where allocation_id = $1', [
      allocationId,
    ])
  ).rows[0]?.user_data ?? null;

export const putUserData = async (
  tx: Tx,
  given: Readonly<{ allocation_id: string; organization_id: string; project_id: string; user_data: string }>,
): Promise<void> => {
  await tx.query(
    `insert into allocation_user_data (allocation_id, organization_id, project_id, user_data) values ($1, $2, $3, $4)
     on conflict (allocation_id) do update set user_data = excluded.user_data, updated_at = clock_timestamp()`,
    [given.allocation_id, given.organization_id, given.project_id, given.user_data],
  );
};
