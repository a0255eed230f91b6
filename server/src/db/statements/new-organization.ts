/** An organization and its GPU limit: one without a limit row could launch without a limit. */
import type { Tx } from '../client.ts';
import { ORGANIZATION, type OrganizationRow } from '../organization.ts';
import { statement } from '../statement.ts';
import type { Organizations } from '../types.gen.ts';

const INSERT_ORGANIZATION = statement(
  {
    id: 'text',
    name: 'text',
    display_name: 'text',
    kind: 'text',
    created_by: 'text | null',
    gpu_limit: 'integer | null',
  },
  `with made as (
     insert into organizations as o (id, name, display_name, kind, created_by)
     values (:id, :name, :display_name, :kind, :created_by) returning ${ORGANIZATION}),
   quota as (insert into quotas (organization_id, gpu_limit) select id, :gpu_limit from made)
   select * from made`,
);

export const insertOrganization = async (
  tx: Tx,
  row: Pick<Organizations, 'id' | 'name' | 'display_name' | 'kind' | 'created_by'> &
    Readonly<{ gpu_limit: number | null }>,
): Promise<OrganizationRow | undefined> => (await INSERT_ORGANIZATION.query<OrganizationRow>(tx, row)).rows[0];
