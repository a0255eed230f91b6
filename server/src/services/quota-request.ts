/** Requests for larger GPU limits: tenants ask, operators decide, and an approval sets the limit in its transaction. */
import type { PublicApi, RequestOf } from '@gpuaas/contract';
import { mintId } from '@gpuaas/kit';
import type { ReadCtx, WriteCtx } from '../context.ts';
import type { Tx } from '../db/client.ts';
import { findProjectOrganization } from '../db/principal.ts';
import { findQuotas, putQuota, type QuotaRow } from '../db/quota.ts';
import * as db from '../db/quota-request.ts';
import { approvalRefusal } from '../domain/quota-request.ts';
import { REFUSALS } from '../domain/sentences.ts';
import { AppError, conflict, invalidField, notFound } from '../errors.ts';
import { organizationOf, principalOf, resourceChanged } from '../pipeline/caller.ts';
import { assertBelowLimit } from '../pipeline/limit.ts';
import { listPage } from '../pipeline/page.ts';

type Req<K extends keyof PublicApi> = RequestOf<PublicApi[K]>;

const view = ({ decided_by: _, project_id, ...row }: db.QuotaRequestRow) => ({
  ...row,
  project_id: project_id === '' ? null : project_id,
});

const limitAt = async (tx: Tx, organizationId: string, projectId: string): Promise<QuotaRow | undefined> =>
  (await findQuotas(tx, organizationId, projectId)).find((level) => level.project_id === projectId);

export const list = (ctx: ReadCtx, { query }: Req<'quotaRequestList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) =>
      db.listQuotaRequests(reader, { ...page, organization_id: organizationOf(ctx), state: query.state ?? null }),
    (row) => row.id,
    view,
  );

export const adminList = (ctx: ReadCtx, { query }: Req<'adminQuotaRequestList'>) =>
  listPage(
    ctx,
    query,
    (reader, page) =>
      db.listQuotaRequests(reader, {
        ...page,
        organization_id: query.organization_id ?? null,
        state: query.state ?? null,
      }),
    (row) => row.id,
    view,
  );

export const create = async (ctx: WriteCtx, { body }: Req<'quotaRequestCreate'>) => {
  const organization_id = organizationOf(ctx);
  const project_id = body.project_id ?? '';
  const { gpu_limit, reason } = body;
  if (project_id !== '' && (await findProjectOrganization(ctx.tx, project_id)) !== organization_id)
    throw notFound('project');
  const current = (await limitAt(ctx.tx, organization_id, project_id))?.gpu_limit ?? null;
  if (current === null || current >= gpu_limit) throw conflict(REFUSALS.quota_request_needless(current));
  await assertBelowLimit(ctx, 'quota_requests', organization_id);
  const id = mintId('qrq');
  const row = await db.insertQuotaRequest(ctx.tx, {
    ...{ id, organization_id, project_id, gpu_limit, reason },
    requested_by: principalOf(ctx).id,
  });
  if (row === undefined) throw new AppError('already_exists', REFUSALS.quota_request_open);
  ctx.target('quota_request', id);
  ctx.note({ gpu_limit, project_id: body.project_id ?? null });
  ctx.emit('quota.requested', {
    subject: id,
    ...(project_id === '' ? {} : { project_id }),
    data: { quota_request_id: id, organization_id, project_id: body.project_id ?? null, gpu_limit },
  });
  return view(row);
};

type End = Readonly<{
  state: 'approved' | 'rejected' | 'withdrawn';
  granted_gpu_limit: number | null;
  decision_reason: string | null;
}>;

const end = async (ctx: WriteCtx, row: db.QuotaRequestRow, { state, granted_gpu_limit, decision_reason }: End) => {
  const { id, organization_id, project_id } = row;
  const decided_by = state === 'withdrawn' ? null : principalOf(ctx).id;
  const ended = await db.endQuotaRequest(ctx.tx, { id, state, granted_gpu_limit, decision_reason, decided_by });
  if (ended === undefined) throw conflict(REFUSALS.quota_request_decided(row.state));
  const named = project_id === '' ? null : project_id;
  // The operator's decision is in the tenant's own audit log.
  if (named === null) ctx.setTarget(organization_id);
  else ctx.setTarget(organization_id, named);
  ctx.target('quota_request', id);
  ctx.note({ requested_gpu_limit: row.gpu_limit, granted_gpu_limit });
  ctx.emit('quota.decided', {
    subject: id,
    organization_id,
    ...(named === null ? {} : { project_id: named }),
    data: { quota_request_id: id, organization_id, project_id: named, state, granted_gpu_limit },
  });
  return view(ended);
};

const lockOpen = async (ctx: WriteCtx, id: string, organizationId: string | null): Promise<db.QuotaRequestRow> => {
  const row = await db.lockQuotaRequest(ctx.tx, id, organizationId);
  if (row === undefined) throw notFound('quota request');
  if (row.state !== 'open') throw conflict(REFUSALS.quota_request_decided(row.state));
  return row;
};

export const withdraw = async (ctx: WriteCtx, { params }: Req<'quotaRequestWithdraw'>): Promise<undefined> => {
  const row = await lockOpen(ctx, params.quota_request_id, organizationOf(ctx));
  await end(ctx, row, { state: 'withdrawn', granted_gpu_limit: null, decision_reason: null });
};

export const approve = async (ctx: WriteCtx, { params, body }: Req<'adminQuotaRequestApprove'>) => {
  const row = await lockOpen(ctx, params.quota_request_id, null);
  const { organization_id, project_id } = row;
  const gpu_limit = body.gpu_limit ?? row.gpu_limit;
  if (gpu_limit !== row.gpu_limit && body.reason === undefined)
    throw invalidField('reason', 'is required where the limit differs from the requested one');
  // The limit may have changed since the tenant asked.
  const current = await limitAt(ctx.tx, organization_id, project_id);
  const refusal = approvalRefusal(current?.gpu_limit ?? null, gpu_limit);
  if (refusal !== null) throw conflict(refusal);
  const version = current?.version ?? 1;
  const set = await putQuota(ctx.tx, { organization_id, project_id, gpu_limit, version });
  if (set === undefined) throw resourceChanged(version);
  return end(ctx, row, {
    state: 'approved',
    granted_gpu_limit: gpu_limit,
    decision_reason: body.reason ?? null,
  });
};

export const reject = async (ctx: WriteCtx, { params, body }: Req<'adminQuotaRequestReject'>) => {
  const row = await lockOpen(ctx, params.quota_request_id, null);
  return end(ctx, row, { state: 'rejected', granted_gpu_limit: null, decision_reason: body.reason });
};
