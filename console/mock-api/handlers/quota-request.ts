import { approvalRefusal } from '../../../server/src/domain/quota-request.ts';
import { REFUSALS } from '../../../server/src/domain/sentences.ts';
import { type MockCtx, must, organizationOf, type Req } from '../core/context.ts';
import { conflict, invalidField, Refusal } from '../core/errors.ts';
import { idOf, newestFirst, pageOf } from '../core/page.ts';
import type { QuotaRequest, StoredQuotaRequest } from '../core/rows.ts';
import { namesOf } from '../views/names.ts';

const viewOf =
  ({ world }: MockCtx) =>
  (row: StoredQuotaRequest): QuotaRequest => ({
    ...row,
    ...namesOf(world, row),
    current_gpu_limit: world.quotas.get(row.project_id ?? row.organization_id)?.limit ?? null,
  });

const lockOpen = (ctx: MockCtx, id: string, organizationId: string | null): StoredQuotaRequest => {
  const row = must(
    ctx.world.quotaRequests.find(
      (one) => one.id === id && (organizationId === null || one.organization_id === organizationId),
    ),
    'quota request',
  );
  if (row.state !== 'open') throw conflict(REFUSALS.quota_request_decided(row.state));
  return row;
};

type End = Pick<StoredQuotaRequest, 'state' | 'granted_gpu_limit' | 'decision_reason'>;

const end = (ctx: MockCtx, row: StoredQuotaRequest, decision: End): QuotaRequest => {
  Object.assign(row, decision, { decided_at: ctx.world.ago() });
  const { id, organization_id, project_id, state, granted_gpu_limit } = row;
  ctx.setTarget(organization_id, project_id);
  ctx.target('quota_request', id);
  ctx.emit('quota.decided', {
    subject: id,
    ...{ organization_id, project_id },
    data: { quota_request_id: id, organization_id, project_id, state, granted_gpu_limit },
  });
  return viewOf(ctx)(row);
};

export const quotaRequest = {
  quotaRequestList: async (ctx: MockCtx, { query }: Req<'quotaRequestList'>) => {
    const rows = ctx.world.quotaRequests
      .filter((one) => one.organization_id === organizationOf(ctx))
      .filter((one) => query.state === undefined || one.state === query.state);
    return pageOf(ctx, query, newestFirst(rows), idOf, viewOf(ctx));
  },
  quotaRequestCreate: async (ctx: MockCtx, { body }: Req<'quotaRequestCreate'>) => {
    const { world } = ctx;
    const organization_id = organizationOf(ctx);
    const { project_id = null, gpu_limit, reason } = body;
    if (project_id !== null && world.projects.get(project_id)?.organization_id !== organization_id)
      must(undefined, 'project');
    const current = world.quotas.get(project_id ?? organization_id)?.limit ?? null;
    if (current === null || current >= gpu_limit) throw conflict(REFUSALS.quota_request_needless(current));
    const isSame = (one: StoredQuotaRequest) =>
      one.state === 'open' && one.organization_id === organization_id && one.project_id === project_id;
    if (world.quotaRequests.some(isSame)) throw new Refusal('already_exists', REFUSALS.quota_request_open);
    const row: StoredQuotaRequest = {
      id: world.mint('quota_request'),
      ...{ organization_id, project_id, gpu_limit, reason },
      state: 'open',
      granted_gpu_limit: null,
      decision_reason: null,
      requested_by: ctx.principal.id,
      decided_at: null,
      created_at: world.ago(),
    };
    world.quotaRequests.push(row);
    ctx.target('quota_request', row.id);
    ctx.emit('quota.requested', {
      subject: row.id,
      project_id,
      data: { quota_request_id: row.id, organization_id, project_id, gpu_limit },
    });
    return viewOf(ctx)(row);
  },
  quotaRequestWithdraw: async (ctx: MockCtx, { params }: Req<'quotaRequestWithdraw'>) => {
    const row = lockOpen(ctx, params.quota_request_id, organizationOf(ctx));
    end(ctx, row, { state: 'withdrawn', granted_gpu_limit: null, decision_reason: null });
    return undefined;
  },
  adminQuotaRequestList: async (ctx: MockCtx, { query }: Req<'adminQuotaRequestList'>) => {
    const rows = ctx.world.quotaRequests
      .filter((one) => query.organization_id === undefined || one.organization_id === query.organization_id)
      .filter((one) => query.state === undefined || one.state === query.state);
    return pageOf(ctx, query, newestFirst(rows), idOf, viewOf(ctx));
  },
  adminQuotaRequestApprove: async (ctx: MockCtx, { params, body }: Req<'adminQuotaRequestApprove'>) => {
    const { world } = ctx;
    const row = lockOpen(ctx, params.quota_request_id, null);
    const granted = body.gpu_limit ?? row.gpu_limit;
    if (granted !== row.gpu_limit && body.reason === undefined)
      throw invalidField('reason', 'is required where the limit differs from the requested one');
    const { organization_id, project_id } = row;
    const key = project_id ?? organization_id;
    const refusal = approvalRefusal(world.quotas.get(key)?.limit ?? null, granted);
    if (refusal !== null) throw conflict(refusal);
    const version = (world.quotas.get(key)?.version ?? 1) + 1;
    world.quotas.set(key, { organization_id, project_id, limit: granted, version });
    return end(ctx, row, { state: 'approved', granted_gpu_limit: granted, decision_reason: body.reason ?? null });
  },
  adminQuotaRequestReject: async (ctx: MockCtx, { params, body }: Req<'adminQuotaRequestReject'>) => {
    const row = lockOpen(ctx, params.quota_request_id, null);
    return end(ctx, row, { state: 'rejected', granted_gpu_limit: null, decision_reason: body.reason });
  },
};
