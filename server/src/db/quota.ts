/** GPU limits per organization and project, and their use. '' stands for the whole organization. */
import type { Reader, Tx } from './client.ts';
import { claimCounts } from './predicates.ts';
import type { Quotas } from './types.gen.ts';

export type QuotaRow = Readonly<Pick<Quotas, 'organization_id' | 'project_id' | 'gpu_limit' | 'gpu_used' | 'version'>>;

/** An operator set the limit. One that follows from the sign-up policy, and a row that only counts use, have version 1. */
export const quotaIsSet = (q: string): string => `${q}.version > 1`;

/** Both levels of a project; one without a row has no limit and uses nothing. */
export const findQuotas = async (reader: Reader, organizationId: string, projectId: string): Promise<QuotaRow[]> =>
  (
    await reader.query<QuotaRow>(
      `select $1 as organization_id, level.project_id, q.gpu_limit, coalesce(q.gpu_used, 0) as gpu_used, coalesce(q.version, 1) as version
       from (values (1, ''), (2, $2)) level (rank, project_id)
       left join quotas q on q.organization_id = $1 and q.project_id = level.project_id order by level.rank`,
      [organizationId, projectId],
    )
  ).rows;

export type NamedQuotaRow = QuotaRow & Readonly<{ organization_name: string; project_name: string | null }>;

export const listQuotas = async (
  reader: Reader,
  page: Readonly<{
    after: readonly [string, string] | null;
    limit: number;
    organization_id: string | null;
    project_id: string | null;
  }>,
): Promise<NamedQuotaRow[]> =>
  (
    await reader.query<NamedQuotaRow>(
      `select quotas.*, (select o.name from organizations o where o.id = quotas.organization_id) as organization_name,
         (select p.name from projects p where p.id = quotas.project_key) as project_name
       from quotas where ($1::text is null or (organization_id, project_id) > ($1, $2)) and ($3::text is null or organization_id = $3)
         and ($4::text is null or project_id = $4) order by organization_id, project_id limit $5`,
      [page.after?.[0] ?? null, page.after?.[1] ?? null, page.organization_id, page.project_id, page.limit],
    )
  ).rows;

/**
 * Sets the limit; undefined when the version has changed. No row is version 1 too: no limit was set. A new row starts with
 * the use of live claims.
 */
export const putQuota = async (
  tx: Tx,
  quota: Pick<QuotaRow, 'organization_id' | 'project_id' | 'gpu_limit' | 'version'>,
): Promise<QuotaRow | undefined> =>
  (
    await tx.query<QuotaRow>(
      `with changed as (
         update quotas set gpu_limit = $3, version = version + 1 where organization_id = $1 and project_id = $2 and version = $4 returning *),
       made as (
         insert into quotas (organization_id, project_id, gpu_limit, gpu_used, version)
         select $1, $2, $3, (select coalesce(sum(c.gpu_count), 0) from allocation_resource_claims c
           where c.organization_id = $1 and $2 in ('', c.project_id) and ${claimCounts('c')}), 2
         where $4 = 1 and not exists (select from quotas where organization_id = $1 and project_id = $2)
         on conflict (organization_id, project_id) do nothing returning *)
       select * from changed union all select * from made`,
      [quota.organization_id, quota.project_id, quota.gpu_limit, quota.version],
    )
  ).rows[0];

/** Sets another limit where an operator set `before`. False when that is not the limit. */
export const changeQuota = async (
  tx: Tx,
  quota: Pick<QuotaRow, 'organization_id' | 'project_id' | 'gpu_limit'> & Readonly<{ before: number | null }>,
): Promise<boolean> =>
  (
    await tx.query(
      `update quotas q set gpu_limit = $3, version = version + 1
       where organization_id = $1 and project_id = $2 and gpu_limit is not distinct from $4::integer and ${quotaIsSet('q')}`,
      [quota.organization_id, quota.project_id, quota.gpu_limit, quota.before],
    )
  ).rowCount === 1;

/** Ends the setting of a limit: it is `gpu_limit` again as if none was ever set. False when it is not set to `before`. */
export const unsetQuota = async (
  tx: Tx,
  quota: Pick<QuotaRow, 'organization_id' | 'project_id' | 'gpu_limit'> & Readonly<{ before: number | null }>,
): Promise<boolean> =>
  (
    await tx.query(
      `update quotas q set gpu_limit = $3, version = 1
       where organization_id = $1 and project_id = $2 and gpu_limit is not distinct from $4::integer and ${quotaIsSet('q')}`,
      [quota.organization_id, quota.project_id, quota.gpu_limit, quota.before],
    )
  ).rowCount === 1;
