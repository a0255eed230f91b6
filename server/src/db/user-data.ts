/**
 * A tenant's script for the first start of its guests. It may hold secrets, so it is sealed, bound to the allocation.
 */
import type { Reader, Tx } from './client.ts';

export const findUserData = async (reader: Reader, allocationId: string): Promise<Buffer | null> =>
  (
    await reader.query<{ sealed_user_data: Buffer }>(
      'select sealed_user_data from allocation_user_data where allocation_id = $1',
      [allocationId],
    )
  ).rows[0]?.sealed_user_data ?? null;

export const putUserData = async (
  tx: Tx,
  given: Readonly<{ allocation_id: string; organization_id: string; project_id: string; sealed_user_data: Buffer }>,
): Promise<void> => {
  await tx.query(
    `insert into allocation_user_data (allocation_id, organization_id, project_id, sealed_user_data) values ($1, $2, $3, $4)
     on conflict (allocation_id) do update set sealed_user_data = excluded.sealed_user_data, updated_at = clock_timestamp()`,
    [given.allocation_id, given.organization_id, given.project_id, given.sealed_user_data],
  );
};
