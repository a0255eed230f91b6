/** Members by a group who were removed by a person: the group does not bring them back. */
import type { BlockedPlace } from '../domain/group-access.ts';
import type { Reader, Tx } from './client.ts';

type Member = Readonly<{ organization_id: string; user_id: string }>;

/** `project_id` is null for the organization with all its projects. */
export const putGroupAccessBlock = (
  tx: Tx,
  { organization_id, project_id, user_id }: Member & Readonly<{ project_id: string | null }>,
) =>
  tx.query(
    `insert into group_access_blocks (organization_id, project_id, user_id) values ($1, $2, $3) on conflict do nothing`,
    [organization_id, project_id ?? '', user_id],
  );

export const listGroupAccessBlocks = async (reader: Reader, userId: string): Promise<BlockedPlace[]> =>
  (
    await reader.query<BlockedPlace>(
      'select organization_id, project_key as project_id from group_access_blocks where user_id = $1',
      [userId],
    )
  ).rows;

/** A person let the member in again: into the organization, or into one of its projects. */
export const deleteGroupAccessBlock = (
  tx: Tx,
  { organization_id, project_id, user_id }: Member & Readonly<{ project_id: string | null }>,
) =>
  tx.query('delete from group_access_blocks where organization_id = $1 and project_id = $2 and user_id = $3', [
    organization_id,
    project_id ?? '',
    user_id,
  ]);
