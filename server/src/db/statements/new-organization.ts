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
    quota_version: 'integer',
  },
  `with made as (
     insert into organizations as o (id, name, display_name, kind, created_by)
     values (:id, :name, :display_name, :kind, :created_by) returning ${ORGANIZATION}),
   quota as (insert into quotas (organization_id, gpu_limit, version) select id, :gpu_limit, :quota_version from made)
   select * from made`,
);

type NewRow = Pick<Organizations, 'id' | 'name' | 'display_name' | 'kind' | 'created_by'> &
  Readonly<{
    gpu_limit: number | null;
    /** By an operator; otherwise the limit follows from the sign-up policy. */
    is_limit_set?: true;
  }>;

export const insertOrganization = async (
  tx: Tx,
  { is_limit_set, ...row }: NewRow,
): Promise<OrganizationRow | undefined> => {
  const values = { ...row, quota_version: is_limit_set === true ? 2 : 1 };
  return (await INSERT_ORGANIZATION.query<OrganizationRow>(tx, values)).rows[0];
};
