/** GPU limits: what a project may still launch, and the limits set by operators. Claims themselves count the use. */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import { invariant } from '@gpuaas/kit';
import type { ReadCtx, WriteCtx } from '../context.ts';
import { findOrganization } from '../db/organization.ts';
import { findProjectOrganization } from '../db/principal.ts';
import * as db from '../db/quota.ts';
import { notFound } from '../errors.ts';
import { organizationOf, projectOf, resourceChanged } from '../pipeline/caller.ts';
import { decodeCursor, PAGE_LIMIT_DEFAULT, pageOf } from '../pipeline/page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const quotaView = ({ project_id, ...quota }: db.QuotaRow) => ({
  organization_id: quota.organization_id,
  project_id: project_id === '' ? null : project_id,
  gpu_limit: quota.gpu_limit,
  gpu_used: quota.gpu_used,
  version: quota.version,
});

const namedView = (row: db.NamedQuotaRow) => ({
  ...quotaView(row),
  organization_name: row.organization_name,
  project_name: row.project_name,
});

/** The tighter limit decides; a limit lowered below the use leaves nothing. */
const remaining = (quotas: readonly db.QuotaRow[]): number | null => {
  const left = quotas.flatMap(({ gpu_limit, gpu_used }) => (gpu_limit === null ? [] : [gpu_limit - gpu_used]));
  return left.length === 0 ? null : Math.max(0, Math.min(...left));
};

export const get = (ctx: ReadCtx) =>
  ctx.read(async (reader) => {
    const quotas = await db.findQuotas(reader, organizationOf(ctx), projectOf(ctx));
    const [organization, project] = quotas;
    invariant(organization !== undefined && project !== undefined, 'both levels are always answered');
    return {
      organization: quotaView(organization),
      project: quotaView(project),
      gpus_remaining: remaining(quotas),
    };
  });

export const list = async (ctx: ReadCtx, { query }: Req<'adminQuotaList'>) => {
  const limit = query.limit ?? PAGE_LIMIT_DEFAULT;
  const key = decodeCursor(ctx, query.cursor, 2);
  const rows = await ctx.read((reader) =>
    db.listQuotas(reader, {
      after: key === undefined ? null : [String(key[0]), String(key[1])],
      limit: limit + 1,
      organization_id: query.organization_id ?? null,
      project_id: query.project_id ?? null,
    }),
  );
  return pageOf(ctx, limit, rows, (row) => [row.organization_id, row.project_id], namedView);
};

export const put = async (ctx: WriteCtx, { body, if_match }: Req<'adminQuotaPut'>) => {
  const { organization_id, gpu_limit } = body;
  const project_id = body.project_id ?? '';
  if ((await findOrganization(ctx.tx, organization_id)) === undefined) throw notFound('organization');
  if (project_id !== '' && (await findProjectOrganization(ctx.tx, project_id)) !== organization_id)
    throw notFound('project');
  const row = await db.putQuota(ctx.tx, { organization_id, project_id, gpu_limit, version: if_match });
  if (row === undefined) {
    const levels = await db.findQuotas(ctx.tx, organization_id, project_id);
    throw resourceChanged(levels.find((level) => level.project_id === project_id)?.version ?? 1);
  }
  // The operator's change is in the tenant's own audit log.
  ctx.setTarget(organization_id, body.project_id);
  ctx.target('quota', body.project_id ?? organization_id);
  ctx.note({ gpu_limit, gpu_used: row.gpu_used });
  return quotaView(row);
};
